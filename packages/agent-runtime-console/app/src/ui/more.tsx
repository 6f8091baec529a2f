import type { ReactNode } from 'react'
import type { LivePages } from '../server/live-pages.ts'

/** The button that asks for the next part of a list, where there is one. */
export function More({
  pages: { hasNextPage, isFetchingNextPage, fetchNextPage },
  what,
  children,
}: {
  readonly pages: Pick<LivePages<unknown>, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>
  /** The rows, for a screen reader: `leases`. */
  readonly what: string
  /** Stands beside it: how much is shown of how much. */
  readonly children?: ReactNode
}) {
  if (!hasNextPage) return null
  return (
    <p className="row pad">
      <button
        type="button"
        aria-disabled={isFetchingNextPage}
        onClick={() => {
          // A button that is disabled would lose the focus.
          if (!isFetchingNextPage) void fetchNextPage()
        }}
      >
        Show more<span className="hidden"> {what}</span>
      </button>
      <span className="faint">{children}</span>
    </p>
  )
}

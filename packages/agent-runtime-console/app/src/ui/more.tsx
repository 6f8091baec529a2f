import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { LivePages } from '../server/live-pages.ts'

/** The button that asks for the next part of a list, where there is one. What comes of it is announced. */
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
  const [isUsed, setUsed] = useState(false)
  const status = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    // The button that had the focus is gone.
    if (isUsed && !hasNextPage && document.activeElement === document.body) status.current?.focus()
  }, [isUsed, hasNextPage])
  if (!hasNextPage && !isUsed) return null
  return (
    <p className="row pad">
      {hasNextPage ? (
        <button
          type="button"
          aria-disabled={isFetchingNextPage}
          onClick={() => {
            setUsed(true)
            // A button that is disabled would lose the focus.
            if (!isFetchingNextPage) void fetchNextPage()
          }}
        >
          Show more<span className="hidden"> {what}</span>
        </button>
      ) : null}
      <span className="faint" role="status" tabIndex={-1} ref={status}>
        {isFetchingNextPage ? `Loading more ${what}…` : hasNextPage ? children : `These are all ${what}.`}
      </span>
    </p>
  )
}

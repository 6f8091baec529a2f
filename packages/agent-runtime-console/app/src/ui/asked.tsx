import { type ReactNode, useRef } from 'react'
import { Problem } from './problem.tsx'

/** The error of a query. It stays while the page asks again by itself, until there is an answer: otherwise it would come and go. */
export function useShownError({ data, error }: { readonly data: unknown; readonly error: unknown }): unknown {
  const before = useRef<unknown>(null)
  if (error !== null || data !== undefined) before.current = error
  return before.current
}

/** What a query has found; while it has nothing yet, why. An error beside an older answer stands above it. */
export function Asked<T>({
  query,
  what,
  children,
}: {
  readonly query: {
    readonly data: T | undefined
    readonly error: unknown
    readonly refetch: () => unknown
  }
  readonly what: string
  readonly children: (data: T) => ReactNode
}) {
  const { data, refetch } = query
  const error = useShownError(query)
  return (
    <>
      {error === null ? null : <Problem error={error} what={what} onRetry={refetch} />}
      {data === undefined ? (
        error === null ? (
          <p className="faint pad">Loading {what}…</p>
        ) : null
      ) : (
        children(data)
      )}
    </>
  )
}

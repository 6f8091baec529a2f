import type { ReactNode } from 'react'
import { Problem } from './problem.tsx'

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
  const { data, error, refetch } = query
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

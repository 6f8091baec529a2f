import { type ReactNode, useRef } from 'react'
import { Problem } from './problem.tsx'

/**
 * The error of a query. It stays while the page asks again by itself, until there is an answer: otherwise it would come and go. It goes with its
 * question, which `key` names.
 */
export function useShownError(
  { data, error }: { readonly data: unknown; readonly error: unknown },
  key: string,
): unknown {
  const before = useRef<{ readonly key: string; readonly error: unknown }>({ key, error: null })
  if (error !== null || data !== undefined || before.current.key !== key) before.current = { key, error }
  return before.current.error
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
  /** It names the question, too: words that change ask for something else. */
  readonly what: string
  readonly children: (data: T) => ReactNode
}) {
  const { data, refetch } = query
  const error = useShownError(query, what)
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

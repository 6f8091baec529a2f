import { useQuery, type UseQueryResult, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, use, useEffect, useMemo, useState } from 'react'
import { credentials, useSession } from './session.ts'

/** Whether pages follow what happens, and how. */
export interface Live {
  readonly isPaused: boolean
  /** The server streams its events to this page; otherwise the page asks every two seconds. */
  readonly isStreaming: boolean
  readonly toggle: () => void
}

const LiveContext = createContext<Live>({ isPaused: false, isStreaming: false, toggle: () => {} })

export function useLive(): Live {
  return use(LiveContext)
}

const POLL_MS = 2_000
/** Behind a stream, for what no event tells: workers that fall silent, times that pass. */
const SLOW_POLL_MS = 10_000

/** A query that follows the server while pages are live. `slow`: only ever by the slow poll. */
export function useLiveQuery<T>(
  key: readonly unknown[],
  read: (signal: AbortSignal) => Promise<T>,
  { isEnabled = true, isSlow = false }: { isEnabled?: boolean; isSlow?: boolean } = {},
): UseQueryResult<T> {
  const live = useLive()
  return useQuery({
    queryKey: [isSlow ? 'slow' : 'live', ...key],
    queryFn: ({ signal }) => read(signal),
    enabled: isEnabled,
    refetchInterval: pollMs(live, isSlow),
  })
}

/** How long a page waits before it asks again. */
export function pollMs({ isPaused, isStreaming }: Live, isSlow = false): number | false {
  return isPaused ? false : isStreaming || isSlow ? SLOW_POLL_MS : POLL_MS
}

/** Reads the stream of all events while the tab is seen, and has queries ask again, once a second at most. */
export function LiveProvider({ children }: { readonly children: ReactNode }) {
  const [isPaused, setPaused] = useState(false)
  const [isStreaming, setStreaming] = useState(false)
  const isSeen = useSeen()
  const session = useSession()
  const queries = useQueryClient()

  useEffect(() => {
    if (isPaused || !isSeen || session === 'refused') return undefined
    const leave = new AbortController()
    let isDirty = false
    const timer = setInterval(() => {
      if (!isDirty) return
      // What is on its way may be older than the event: it is not cut off, and asked for again in a second.
      const isOlder = ({ state }: { readonly state: { readonly data: unknown } }) => state.data !== undefined
      isDirty = queries.isFetching({ queryKey: ['live'], predicate: isOlder }) > 0
      void queries.invalidateQueries({ queryKey: ['live'] }, { cancelRefetch: false })
    }, 1_000)
    void follow(leave.signal, setStreaming, () => (isDirty = true))
    return () => {
      leave.abort()
      clearInterval(timer)
      setStreaming(false)
    }
  }, [isPaused, isSeen, session, queries])

  const live = useMemo(() => {
    const toggle = () => {
      // An answer that is on its way would change the page after it was paused. What a page has not shown yet still comes.
      if (!isPaused) void queries.cancelQueries({ predicate: ({ state }) => state.data !== undefined })
      setPaused(!isPaused)
    }
    return { isPaused, isStreaming, toggle }
  }, [isPaused, isStreaming, queries])
  return <LiveContext value={live}>{children}</LiveContext>
}

/** Comes back after a broken connection. A token that may not read the stream leaves the pages to their polls. */
async function follow(
  signal: AbortSignal,
  setStreaming: (is: boolean) => void,
  onEvent: () => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const headers = { accept: 'text/event-stream', ...credentials() }
      const answer = await fetch('/api/v1/events', { headers, signal })
      if (answer.status === 401 || answer.status === 403) return
      if (answer.ok && answer.body !== null) {
        setStreaming(true)
        const reader = answer.body.getReader()
        for (let part = await reader.read(); !part.done; part = await reader.read()) {
          // A comment keeps the connection open and says nothing.
          if (part.value[0] !== COLON) onEvent()
        }
      }
    } catch {
      // The connection broke: the polls go on meanwhile.
    }
    if (signal.aborted) return
    setStreaming(false)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

const COLON = 58

function useSeen(): boolean {
  const [isSeen, setSeen] = useState(document.visibilityState === 'visible')
  useEffect(() => {
    const look = () => setSeen(document.visibilityState === 'visible')
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [])
  return isSeen
}

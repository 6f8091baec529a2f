import type { OutputItem, RuntimeEvent } from '@ku0/agent-runtime-client'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useLive } from '../../server/live.tsx'
import { api } from '../../server/session.ts'

/** What came of a stream so far. */
export interface Followed<Item> {
  readonly items: readonly Item[]
  readonly error: unknown
  readonly isOver: boolean
  readonly again: () => void
}

/** The events of a task: history, then live. Each batch has the task's other queries ask again. */
export function useTaskEvents(taskId: string): Followed<RuntimeEvent> {
  const queries = useQueryClient()
  return useFollowed(
    taskId,
    (options) => api().events(taskId, options),
    async (page) => {
      const { events: items, cursor } = await api().history(taskId, page)
      return { items, cursor }
    },
    () => {
      void queries.invalidateQueries({ queryKey: ['task', taskId] })
    },
  )
}

/** What a task emits, in the same way. */
export function useTaskOutput(taskId: string): Followed<OutputItem> {
  return useFollowed(
    taskId,
    (options) => api().output(taskId, options),
    (page) => api().emitted(taskId, page),
    () => {},
  )
}

/** A page of what is stored. */
type Stored<Item> = (page: {
  readonly after: number
  readonly limit: number
  readonly signal: AbortSignal
}) => Promise<{ readonly items: readonly Item[]; readonly cursor?: number | undefined }>

/** All that is stored after a place, page by page; nothing without a place. */
export async function* allOf<Item>(
  stored: Stored<Item>,
  from: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<Item> {
  let after = from
  while (after !== undefined) {
    const { items, cursor }: Awaited<ReturnType<Stored<Item>>> = await stored({ after, limit: 1_000, signal })
    yield* items
    after = cursor
  }
}

function useFollowed<Item extends { readonly seq: number }>(
  key: string,
  open: (options: { after: number; signal: AbortSignal }) => AsyncIterable<Item>,
  stored: Stored<Item>,
  onBatch: () => void,
): Followed<Item> {
  const { isPaused } = useLive()
  const [run, setRun] = useState(0)
  const [followed, setFollowed] = useState<{
    key: string
    /** The try that the items, or the error after them, came with. */
    run: number
    items: readonly Item[]
    isOver: boolean
    error: unknown
  }>(() => ({ key, run, items: [], isOver: false, error: undefined }))
  useEffect(() => {
    let items: readonly Item[] = followed.key === key ? followed.items : []
    // What stands still asks for more only when somebody tries again.
    if (isPaused && items.length > 0 && followed.run === run) return undefined
    const leave = new AbortController()
    const { signal } = leave
    let fresh: Item[] = []
    // Hundreds of items arrive at once: the page is drawn for each batch.
    const flush = (isOver: boolean, error?: unknown) => {
      if (signal.aborted) return
      if (fresh.length > 0) {
        items = [...items, ...fresh]
        fresh = []
        onBatch()
      }
      setFollowed({ key, run, items, isOver, error })
    }
    const timer = setInterval(() => fresh.length > 0 && flush(false), 150)
    const read = async () => {
      try {
        const after = items.at(-1)?.seq ?? 0
        // A page that stands still shows what there was when it was opened.
        for await (const item of isPaused ? allOf(stored, after, signal) : open({ after, signal })) {
          // What is published only has the seq of the row that it belongs to.
          fresh.push(item)
        }
        flush(!isPaused)
      } catch (error) {
        flush(false, error)
      }
    }
    void read()
    return () => {
      leave.abort()
      clearInterval(timer)
    }
    // Only another task, a pause, or a new try opens another stream.
  }, [key, isPaused, run])
  const isCurrent = followed.key === key
  return {
    items: isCurrent ? followed.items : [],
    error: isCurrent ? followed.error : undefined,
    isOver: isCurrent && followed.isOver,
    again() {
      // A stream that is open again may have nothing to say for a long time.
      setFollowed((before) => ({ ...before, error: undefined }))
      setRun((it) => it + 1)
    },
  }
}

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
    () => {},
  )
}

function useFollowed<Item extends { readonly seq: number }>(
  key: string,
  open: (options: { after: number; signal: AbortSignal }) => AsyncIterable<Item>,
  onBatch: () => void,
): Followed<Item> {
  const { isPaused } = useLive()
  const [run, setRun] = useState(0)
  const [followed, setFollowed] = useState<{
    key: string
    items: readonly Item[]
    isOver: boolean
    error: unknown
  }>(() => ({ key, items: [], isOver: false, error: undefined }))
  useEffect(() => {
    if (isPaused && run === 0) return undefined
    const leave = new AbortController()
    let items: readonly Item[] = followed.key === key ? followed.items : []
    let fresh: Item[] = []
    // Hundreds of items arrive at once: the page is drawn for each batch.
    const flush = (isOver: boolean, error?: unknown) => {
      if (leave.signal.aborted) return
      if (fresh.length > 0) {
        items = [...items, ...fresh]
        fresh = []
        onBatch()
      }
      setFollowed({ key, items, isOver, error })
    }
    const timer = setInterval(() => fresh.length > 0 && flush(false), 150)
    const read = async () => {
      try {
        for await (const item of open({ after: items.at(-1)?.seq ?? 0, signal: leave.signal })) {
          // What is published only has the seq of the row that it belongs to.
          fresh.push(item)
        }
        flush(true)
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
    again: () => setRun((it) => it + 1),
  }
}

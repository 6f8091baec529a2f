import { createHash } from 'node:crypto'
import {
  assertOptions,
  canonical,
  delayRule,
  type ExecutionStore,
  historyEdited,
  invalid,
  isRecord,
  show,
} from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { type PastEvent, pastOf } from '../replay/past.ts'
import { DEFAULT_TIMEOUT_MS, readEvents } from '../replay/replay-task.ts'
import type { ReplayReport } from '../api/replay.ts'
import { verify } from '../replay/verification.ts'
import type { TaskDefinition } from '../api/task-definition.ts'

/** A task's history as plain JSON, to be kept in a file: what was submitted, and every event since. */
export interface RecordedHistory {
  /** The layout of what follows; 1. */
  readonly format: 1
  readonly taskId: string
  /** In their order, `seq` from 1 without a gap. */
  readonly events: readonly {
    readonly seq: number
    readonly type: string
    readonly at: number
    /** As it is stored: values in the codec's form. */
    readonly data: Readonly<Record<string, unknown>>
  }[]
  /** SHA-256 of the rest, in hex: whether it is as it was recorded. A history that was kept by an earlier version has none. */
  readonly hash?: string
}

/** A task's history so far, for {@link replayHistory}. Throws `not_found`, `store_corrupt` for one that is not as it was written. */
export async function recordHistory(store: ExecutionStore, taskId: string): Promise<RecordedHistory> {
  const fault = await store.read({ kind: 'integrity', taskId })
  if (fault !== undefined) throw historyEdited(taskId, fault, 'record it again')
  const events = await readEvents(store, taskId)
  const history: RecordedHistory = {
    format: 1,
    taskId,
    events: events.map(({ seq, type, at, data }) => ({
      seq,
      type,
      at,
      data: JSON.parse(data) as Readonly<Record<string, unknown>>,
    })),
  }
  return { ...history, hash: hashOf(history) }
}

/** What {@link RecordedHistory.hash} has to be. */
export function hashOf({ taskId, events }: Pick<RecordedHistory, 'taskId' | 'events'>): string {
  return createHash('sha256')
    .update(canonical([taskId, events]))
    .digest('hex')
}

/**
 * Goes through a handler with a history that was kept, as `runtime.replay` does with one in a store: nothing is executed, nothing is
 * needed but the two. A history of another type gives the verdict `unknown_type`. `timeoutMs`: how long the handler may wait for
 * something of its own, 5 000 by default. Rejects with `invalid_argument` for what is no history, naming the first event that is wrong.
 * Source: `docs/semantics.md 6.3`, `docs/testing.md`.
 */
export async function replayHistory(
  definition: TaskDefinition,
  history: RecordedHistory,
  options: { readonly timeoutMs?: number } = {},
): Promise<ReplayReport> {
  assertOptions('replayHistory', options, { timeoutMs: delayRule })
  const past = pastOf(eventsOf(history))
  if (history.hash !== undefined && history.hash !== hashOf(history)) {
    const message = `replayHistory: the history of task ${show(history.taskId)} is not as it was recorded: its hash is another; record it again, or leave hash out to replay it all the same`
    throw invalid(message)
  }
  return verify({
    taskId: history.taskId,
    past,
    definition: definition.type === past.type ? definition : undefined,
    config: parseExecutionConfig().config,
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
  })
}

function eventsOf(history: unknown): PastEvent[] {
  const expected = 'replayHistory: a history as test.record gives it'
  if (!isRecord(history) || history['format'] !== 1 || !Array.isArray(history['events']))
    throw invalid(`${expected}, of format 1; given ${show(history)}`)
  const events = history['events'] as readonly unknown[]
  const read = events.map((event, index) => {
    if (!isRecord(event) || !isRecord(event['data']) || typeof event['type'] !== 'string')
      throw invalid(`${expected}: event ${index + 1} is ${show(event)}`)
    const { seq, type, at, data } = event
    if (!Number.isSafeInteger(at))
      throw invalid(`${expected}: event ${index + 1} has at ${show(at)}, which is no time`)
    if (seq !== index + 1)
      throw invalid(`${expected}: event ${index + 1} has seq ${show(seq)}; one was taken out, added or moved`)
    return { seq, type, at, data: JSON.stringify(data) } as PastEvent
  })
  if (read[0]?.type !== 'task.queued')
    throw invalid(`${expected}: it begins with task.queued, not ${read[0]?.type ?? 'nothing'}`)
  return read
}

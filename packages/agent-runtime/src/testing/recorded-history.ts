import { createHash } from 'node:crypto'
import {
  assertOptions,
  canonical,
  ConfigError,
  delayRule,
  type ExecutionStore,
  historyEdited,
  invalid,
  isRecord,
  type Rule,
  show,
} from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { type PastEvent, pastOf } from '../replay/past.ts'
import { DEFAULT_TIMEOUT_MS, readEvents } from '../replay/replay-task.ts'
import type { ReplayReport } from '../api/replay.ts'
import { verify } from '../replay/verification.ts'
import { type ValueOptions, valueProblems, valuesOf } from '../terms/value-codec.ts'
import type { TaskDefinition } from '../api/task-definition.ts'

/** A task's history as plain JSON, to keep in a file: its submission and every event since. */
export interface RecordedHistory {
  /** The version of this format; 1. */
  readonly format: 1
  readonly taskId: string
  /** In order, with `seq` from 1 without a gap. */
  readonly events: readonly {
    readonly seq: number
    readonly type: string
    readonly at: number
    /** The stored data: values in the codec's form. */
    readonly data: Readonly<Record<string, unknown>>
  }[]
  /** SHA-256 of the rest, in hex, to detect changes. A history that an earlier version recorded has none. */
  readonly hash?: string
}

/**
 * A task's history so far, for {@link replayHistory}. Throws `not_found`, and `store_corrupt` for a history
 * that was changed.
 */
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

/** The expected {@link RecordedHistory.hash}. */
export function hashOf({ taskId, events }: Pick<RecordedHistory, 'taskId' | 'events'>): string {
  return createHash('sha256')
    .update(canonical([taskId, events]))
    .digest('hex')
}

/** Options of {@link replayHistory}; `timeoutMs`: how long the handler may wait for work of its own, 5 000 by default. */
export interface ReplayHistoryOptions extends ValueOptions {
  readonly timeoutMs?: number | undefined
}

const elsewhere: Rule = ['', () => true]

/**
 * Runs a handler against a recorded history, as `runtime.replay` does with one in a store. Nothing is
 * executed, and no store is needed. A history of another type gives the verdict `unknown_type`. `timeoutMs`:
 * how long the handler may wait for work of its own, 5 000 by default. Rejects with `invalid_argument` for an
 * invalid history, and names the first event that is wrong. Source: `docs/semantics.md 6.3`,
 * `docs/testing.md`.
 */
export async function replayHistory(
  definition: TaskDefinition,
  history: RecordedHistory,
  options: ReplayHistoryOptions = {},
): Promise<ReplayReport> {
  assertOptions('replayHistory', options, {
    timeoutMs: delayRule,
    codecs: elsewhere,
    payloadCodec: elsewhere,
  })
  const problems = valueProblems({ ...options })
  if (problems.length > 0) throw new ConfigError(problems)
  const past = pastOf(eventsOf(history))
  if (history.hash !== undefined && history.hash !== hashOf(history)) {
    const message = `replayHistory: the history of task ${show(history.taskId)} was changed after it was recorded: its hash differs; record it again, or remove hash to replay it anyway`
    throw invalid(message)
  }
  return verify({
    taskId: history.taskId,
    past,
    definition: definition.type === past.type ? definition : undefined,
    config: parseExecutionConfig().config,
    values: valuesOf(options),
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
  })
}

function eventsOf(history: unknown): PastEvent[] {
  const expected = 'replayHistory: a history that test.record returned'
  if (!isRecord(history) || history['format'] !== 1 || !Array.isArray(history['events']))
    throw invalid(`${expected}, of format 1; given ${show(history)}`)
  const events = history['events'] as readonly unknown[]
  const read = events.map((event, index) => {
    if (!isRecord(event) || !isRecord(event['data']) || typeof event['type'] !== 'string')
      throw invalid(`${expected}: event ${index + 1} is ${show(event)}`)
    const { seq, type, at, data } = event
    if (!Number.isSafeInteger(at))
      throw invalid(`${expected}: event ${index + 1} has at ${show(at)}, which is not a time`)
    if (seq !== index + 1)
      throw invalid(
        `${expected}: event ${index + 1} has seq ${show(seq)}; an event was removed, added or moved`,
      )
    return { seq, type, at, data: JSON.stringify(data) } as PastEvent
  })
  if (read[0]?.type !== 'task.queued')
    throw invalid(`${expected}: it begins with task.queued, not ${read[0]?.type ?? 'nothing'}`)
  return read
}

import {
  type ChildRecord,
  decode,
  type ErrorRecord,
  type ExecutionStore,
  type OpenWait,
  type PastFailures,
  type Rejection,
  type StepRecord,
  type WaitRecord,
} from '@ku0/agent-runtime-core'

/** What earlier passes recorded, for the next pass through the handler. */
export interface Memos extends PastFailures {
  readonly steps: ReadonlyMap<string, StepRecord>
  readonly waits: ReadonlyMap<string, WaitRecord>
  /** Waits that began and have not ended. The pass removes those that end. */
  readonly open: Map<string, OpenWait>
  /** Steps whose end is unknown: how often they were started, and when last. */
  readonly inDoubt: ReadonlyMap<
    string,
    { readonly starts: number; readonly startedAt: number; readonly seq: number }
  >
  /** The idempotency keys of steps that were started in the task that this one was forked from. */
  readonly effectKeys: ReadonlyMap<string, string>
  /** The rejections that sent the task back, in order. */
  readonly rejections: readonly Rejection[]
  /**
   * Calls that failed for good in a pass that then went on: they fail in the same way in every later pass.
   */
  readonly settled: ReadonlyMap<string, SettledFailure>
  /** The seq of the last event that records a step's final failure. */
  readonly lastFailure?: number | undefined
  /** The pass removes children that are dropped. */
  readonly children: Map<string, ChildRecord>
}

/** The records that a replay runs a handler with: the whole history, including failures. */
export interface History extends Memos {
  /** The final failures of steps and races without a memo, by key. */
  readonly failures: ReadonlyMap<string, ErrorRecord>
}

/** How a call failed, and the place of that in the history. */
interface SettledFailure {
  readonly seq: number
  readonly error: ErrorRecord
}

/** For a task that runs for the first time. */
export const noMemos: Memos = {
  steps: new Map(),
  waits: new Map(),
  open: new Map(),
  children: new Map(),
  inDoubt: new Map(),
  effectKeys: new Map(),
  rejections: [],
  settled: new Map(),
}

export async function readMemos(store: Pick<ExecutionStore, 'read'>, taskId: string): Promise<Memos> {
  const { steps, waits, open, children, inDoubt, effectKeys, rejections, failures, lastFailure, ...rest } =
    await store.read({ kind: 'memos', taskId })
  return {
    steps: byKey(steps),
    waits: byKey(waits),
    open: byKey(open),
    children: byKey(children),
    inDoubt: byKey(inDoubt),
    effectKeys: new Map(effectKeys.map(({ key, effectKey }) => [key, effectKey])),
    rejections,
    settled: new Map(
      failures.map(({ key, seq, error }) => [key, { seq, error: decode(error) as ErrorRecord }]),
    ),
    lastFailure,
    ...rest,
  }
}

function byKey<T extends { readonly key: string }>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [item.key, item]))
}

import type { Divergence, ErrorRecord, WaitKind } from '@ku0/agent-runtime-core'

/**
 * The result of a replay.
 *
 * | verdict         | the code …                                                                        |
 * | --------------- | --------------------------------------------------------------------------------- |
 * | `agreed`        | does what the history holds, as far as the replay came                              |
 * | `diverged`      | and the history differ: `diverged` says where                                       |
 * | `threw`         | throws where no pass of the task had thrown, or returns what its output schema refuses |
 * | `invalid_input` | has a schema that the stored input does not fit                                   |
 * | `unknown_type`  | does not define the task's type                                                   |
 * | `unsettled`     | waits for something of its own for longer than `timeoutMs`                          |
 * | `edited`        | was not replayed: the history in the database is not the one that was written; `error` names the event |
 *
 * Source: `docs/semantics.md 6.3, 6.4`.
 */
export interface ReplayReport {
  readonly taskId: string
  readonly type: string
  readonly verdict: ReplayVerdict
  /** The first place where code and history differ; undefined with every verdict but `diverged`. */
  readonly diverged: Divergence | undefined
  /**
   * Calls that the history answered: with a step's memo, with a wait's end, or by throwing the error that a
   * step finally failed with.
   */
  readonly answered: { readonly steps: number; readonly waits: number; readonly failures: number }
  /** Calls that the history holds and that the replay did not reach, including calls that it simulated. */
  readonly unused: number
  /**
   * How far the replay came: the handler returned or threw, or made a call that the history has no answer
   * for. Absent if the handler was not started.
   */
  readonly end?: HistoryEnd | { readonly call: 'return' | 'throw' }
  /** The error that the handler threw, or the fault of its input, its output or the history. */
  readonly error?: ErrorRecord
}

export type ReplayVerdict =
  | 'agreed'
  | 'diverged'
  | 'threw'
  | 'invalid_input'
  | 'unknown_type'
  | 'unsettled'
  | 'edited'

/** How a task is replayed. */
export interface ReplayOptions {
  /** Nothing is executed. To run a task again from one of its steps, use `runtime.fork`. */
  readonly mode: 'verify'
  /** How long the handler may wait for work of its own, in ms of real time; 5 000 by default. */
  readonly timeoutMs?: number | undefined
}

/** A call at which the history of a replay ends. */
export interface HistoryEnd {
  readonly call: 'step' | WaitKind | 'race' | 'all' | 'patched' | 'command'
  /** For a command its name, for a patch its id. */
  readonly key: string
  /** The place of the call in its pass; a command has none. */
  readonly position?: number
}

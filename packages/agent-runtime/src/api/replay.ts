import type { Divergence, ErrorRecord, WaitKind } from '@ku0/agent-runtime-core'

/**
 * What a replay has found.
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
  /** The first place at which code and history differ; undefined with every verdict but `diverged`. */
  readonly diverged: Divergence | undefined
  /** Calls that the history has answered: by a step's memo, a wait's, and by throwing what a step had failed with for good. */
  readonly answered: { readonly steps: number; readonly waits: number; readonly failures: number }
  /** Calls that the history holds and that the replay has not come to, those that were made up for included. */
  readonly unused: number
  /** How far it came: the handler returned or threw, or called what the history has no answer for; absent where it was not begun. */
  readonly end?: HistoryEnd | { readonly call: 'return' | 'throw' }
  /** What the handler threw, what its input or output lacks, or what is wrong with the history. */
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
  /** Nothing may execute. To run a task again from one of its steps on is `runtime.fork`. */
  readonly mode: 'verify'
  /** How long the handler may wait for something of its own, in ms of real time; 5 000 by default. */
  readonly timeoutMs?: number | undefined
}

/** A call at which the history of a replay ends. */
export interface HistoryEnd {
  readonly call: 'step' | WaitKind | 'race' | 'all' | 'patched' | 'command'
  /** Of a command its name, of a patch its id. */
  readonly key: string
  /** The place of the call in its pass; a command has none. */
  readonly position?: number
}

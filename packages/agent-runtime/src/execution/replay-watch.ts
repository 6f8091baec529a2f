import type { Divergence, ErrorRecord, HandlerEnd, WaitKind } from '@ku0/agent-runtime-core'

/** A call at which the history of a replay ends. */
export interface HistoryEnd {
  readonly call: 'step' | WaitKind | 'race' | 'all' | 'patched' | 'command'
  /** Of a command its name, of a patch its id. */
  readonly key: string
  /** The place of the call in its pass; a command has none. */
  readonly position?: number
}

/** Told of what happens in a replay. */
export interface ReplayWatch {
  /** How a step or race failed for good that has no memo. */
  failureOf(key: string): ErrorRecord | undefined
  /** The history has answered a call. */
  answered(as: 'step' | 'wait' | 'failure'): void
  /** The history has no answer for a call, which never settles; `signal` is the name of the one that it waits for. */
  reached(end: HistoryEnd, trail: ReplayTrail, signal?: string): void
  diverged(divergence: Divergence): void
  ended(end: HandlerEnd, trail: ReplayTrail | undefined): void
}

/** What a replay knows of its pass. */
export interface ReplayTrail {
  readonly unused: number
  /** Those of the unused calls that may still come. */
  readonly pending: number
  divergence(certainly: boolean): Divergence | undefined
}

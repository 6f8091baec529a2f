import type { TaskState } from '../task/states.ts'

/** The states in which a task can be deleted. */
export const prunableStates = ['completed', 'failed', 'canceled'] as const satisfies readonly TaskState[]
export type PrunableState = (typeof prunableStates)[number]

/** A number for each state in which a task can be deleted. */
export type PerState = Readonly<Record<PrunableState, number>>

/** The tasks that one rule is about: those of a state with this type; without a type, those that have none of the types in `except`. */
export interface RetentionGroup {
  readonly state: PrunableState
  readonly type?: string
  readonly except?: readonly string[]
}

/** So many tasks of a group ended, and have the number `from` or a higher one. Once true of a store, that stays true, whatever is deleted. */
export interface RetentionCutoff extends RetentionGroup {
  readonly count: number
  readonly from: number
}

/** A count of the newest under way: `left` are still to be found, and `from` is there once all were. */
export interface RetentionCount extends RetentionGroup {
  readonly count: number
  readonly left: number
  readonly from?: number
}

/** The tasks of a group that ended at a time or before, or have a lower number. */
export interface RetentionDue extends RetentionGroup {
  readonly until?: number
  readonly below?: number
}

/** A task that ended, with all that decides whether it may be deleted, and all that has to be known to delete it. */
export interface PrunableRow {
  readonly id: number
  readonly state: PrunableState
  readonly type: string
  readonly finishedAt: number
  /** Its parent, while that is there: `verify` needs its children. */
  readonly parent: number | null
  /** A child of it has not ended. */
  readonly hasOpenChildren: boolean
  /** It is the last run of a schedule. */
  readonly isLastRun: boolean
  /** The data of one of its events is no JSON: what it adds to the sums is not known, and `verify` has to report it. */
  readonly isDamaged: boolean
  /** The newest task, or the one with the newest lease: the numbers of the next ones follow from them. */
  readonly isNewest: boolean
  readonly key: string | null
  readonly leases: readonly number[]
  readonly blobs: readonly string[]
  /** The hashes of its events in order, one after the other: the journal names them for as long as it reaches back. */
  readonly hashes: Uint8Array
  /** The amounts that it adds to sums that only rise, by their names; and to those of a client or a schedule. */
  readonly sums: ReadonlyMap<string, number>
  readonly named: ReadonlyMap<string, number>
}

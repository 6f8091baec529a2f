import type { TaskState } from '../task/states.ts'

/** The states in which a task can be deleted. */
export const prunableStates = ['completed', 'failed', 'canceled'] as const satisfies readonly TaskState[]
export type PrunableState = (typeof prunableStates)[number]

/** A number for each state in which a task can be deleted. */
export type PerState = Readonly<Record<PrunableState, number>>

/** A task that ended, with all that decides whether it may be deleted, and all that has to be known to delete it. */
export interface PrunableRow {
  readonly id: number
  readonly state: PrunableState
  readonly type: string
  readonly finishedAt: number
  /** The number of its events. */
  readonly seq: number
  /** Its parent, while that is there: `verify` needs its children. */
  readonly parent: number | null
  /** A child of it has not ended. */
  readonly hasOpenChildren: boolean
  /** It is the last run of a schedule. */
  readonly isLastRun: boolean
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

/** A part of the tasks of a store, from one number on. */
export interface PrunablePart {
  readonly after: number
  readonly rows: readonly PrunableRow[]
  /** The last task that was looked at; undefined if there was none. */
  readonly last: { readonly id: number; readonly submittedAt: number } | undefined
  /** Tasks deleted so far. */
  readonly retired: PerState
}

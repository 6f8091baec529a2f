import type { LeaseRow } from '../lease/row.ts'
import type { OutcomeOf, Write, WriteKind } from '../store/port.ts'
import type { Needs } from './needs.ts'
import type { WorkingSet } from './working-set.ts'

/** How a store handles one kind of write. */
export interface Operation<K extends WriteKind> {
  /**
   * Its place in a flush, lowest first: what frees slots (1) comes before workers (2) and before what fills slots (3). A lease that is
   * granted (4) is not changed in the same flush. Operations of one rank keep the order in which they came: those on one lease, those on
   * one worker, and a submission and the cancel of its task. Source: `docs/ARCHITECTURE.md`, A flush.
   */
  readonly rank: 1 | 2 | 3 | 4
  /** Goes through the rows that it touches: those that are not known are loaded before it is applied. */
  readonly needs: (needs: Needs, it: Write<K>) => void
  /** Applies it to the working set and returns its outcome. `running`: this process's live leases. */
  readonly fold: (ws: WorkingSet, it: Write<K>, running: Iterable<LeaseRow>) => OutcomeOf<K>
}

/** The operations that a feature declares. */
export type Operations<W> = { readonly [K in keyof W & WriteKind]: Operation<K> }

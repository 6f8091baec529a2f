/** Sums of a store, one row. `running` and `waiting` are states, the others only rise. */
export interface TotalsRow {
  readonly submitted: number
  readonly rejected: number
  readonly rejectedPruned: number
  readonly completed: number
  readonly failed: number
  readonly canceled: number
  readonly requeued: number
  readonly expired: number
  readonly preempted: number
  readonly running: number
  readonly waiting: number
}

export const noTotals: TotalsRow = {
  submitted: 0,
  rejected: 0,
  rejectedPruned: 0,
  completed: 0,
  failed: 0,
  canceled: 0,
  requeued: 0,
  expired: 0,
  preempted: 0,
  running: 0,
  waiting: 0,
}

/** A seed and what was wrong with it. */
export interface BrokenOnce {
  readonly seed: number
  readonly why: string
  /** Found once there was measured work; the others are played without it, as they were. */
  readonly isMeasured?: true
  /** Found once there were supervisors, pipelines, ledgers and agreements. */
  readonly isStructured?: true
}

/** Seeds under which a rule was broken once, or seemed to be; they are played for ever, as they were played then. */
export const brokenOnce: readonly BrokenOnce[] = [
  { seed: 431, why: 'a write was being tried again when its process had stopped' },
  { seed: 1_387, why: 'a holder that was kept from hearing of a cancel began a step' },
  { seed: 1_415, why: 'a process that stopped gave a task back and was given it, for ever' },
  { seed: 1_750, why: 'a client lost what it had paid: two processes gave one number to two clients' },
  { seed: 10_028, why: 'a child was spawned anew after a rejection' },
  { seed: 12_494, why: 'who outlives the task of a budget ends by it: the audit did not know' },
  {
    seed: 12_908,
    why: 'a budget that was answered with stop left a child parked that was to outlive its task',
  },
  {
    seed: 13_821,
    why: 'a budget that was answered with stop left a child parked that was to outlive its task',
  },
  { seed: 14_862, why: 'the same as 13 821' },
  { seed: 14_866, why: 'the end of a child was taken for progress beyond a checkpoint' },
  { seed: 16_181, why: 'the same as 13 821' },
  { seed: 20_102, why: 'a wait was asked for twice, and fired twice, when its task yielded meanwhile' },
  { seed: 25_045, why: 'a clock that was set back after its process had decided: the audit did not know' },
  {
    seed: 40_190,
    why: 'a scar opened a circuit anew while a task was its probe: SQLite refused the commit',
    isMeasured: true,
  },
  {
    seed: 40_396,
    why: 'a lease that was asked for when its runtime stopped came after the stop',
    isMeasured: true,
  },
  {
    seed: 64_377,
    why: 'two swarms of one name and one time, since a clock was set back, were taken for one',
    isMeasured: true,
  },
  {
    seed: 65_108,
    why: 'a child was taken for spawned after tasks were given back that were given back after it',
    isMeasured: true,
  },
  {
    seed: 88_345,
    why: 'a clock that had jumped ahead kept a wait from its time for most of what is given to end all',
    isMeasured: true,
  },
  {
    seed: 30_148,
    why: 'a failure that a supervisor had mended was said twice: the audit did not know',
    isStructured: true,
  },
]

/** Seeds under which a rule was broken once, or seemed to be; they are played for ever. */
export const brokenOnce: readonly { readonly seed: number; readonly why: string }[] = [
  { seed: 431, why: 'a write was being tried again when its process had stopped' },
  { seed: 1_387, why: 'a holder that was kept from hearing of a cancel began a step' },
  { seed: 1_415, why: 'a process that stopped gave a task back and was given it, for ever' },
  { seed: 10_028, why: 'a child was spawned anew after a rejection' },
  { seed: 12_494, why: 'who outlives the task of a budget ends by it: the audit did not know' },
  {
    seed: 13_821,
    why: 'a budget that was answered with stop left a child parked that was to outlive its task',
  },
  { seed: 14_866, why: 'the end of a child was taken for progress beyond a checkpoint' },
  { seed: 20_102, why: 'a wait was asked for twice, and fired twice, when its task yielded meanwhile' },
  { seed: 25_045, why: 'a clock that was set back after its process had decided: the audit did not know' },
]

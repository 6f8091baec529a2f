/** Seeds under which a rule was broken once, or seemed to be; they are played for ever. */
export const brokenOnce: readonly { readonly seed: number; readonly why: string }[] = [
  { seed: 431, why: 'a write was being tried again when its process had stopped' },
  { seed: 1_387, why: 'a holder that was kept from hearing of a cancel began a step' },
  { seed: 1_415, why: 'a process that stopped gave a task back and was given it, for ever' },
  { seed: 10_028, why: 'a child was spawned anew after a rejection' },
]

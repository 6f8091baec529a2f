/** Seeds under which a rule was broken once, by a bug that has gone; they are played for ever. */
export const brokenOnce: readonly { readonly seed: number; readonly why: string }[] = [
  {
    seed: 20_027,
    why: 'a branch that emitted before its recorded step was taken for one that parts from its history',
  },
]

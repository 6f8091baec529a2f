/**
 * Whether a task has lost so many leases to crashes that it may be the one that ends its processes. A crash
 * ends everything in the process, and nobody knows which task caused it. So a process runs one suspect at a
 * time, and the next crash involves only one of them. Half of `maxCrashes`, rounded up, makes a suspect: with
 * 5, a power loss or two, which end the leases of all tasks, make none. Source: `docs/semantics.md 3.9`.
 */
export function isSuspect({ crashes }: { readonly crashes: number }, maxCrashes: number): boolean {
  return crashes >= suspectFrom(maxCrashes)
}

/** From so many crashes on a task is a suspect; it never lives to be one where the first crash fails it. */
export function suspectFrom(maxCrashes: number): number {
  return Math.ceil(maxCrashes / 2)
}

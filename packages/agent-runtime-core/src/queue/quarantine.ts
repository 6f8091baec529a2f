/**
 * Whether a task has lost so many leases to crashes that it may be what ends its processes. A crash takes along whatever runs in the
 * process, and nobody knows whose it was; so of suspects a process runs one at a time, and the next crash is that of one of them only.
 * Half of `maxCrashes`, rounded up, make a suspect: a power loss or two, which all lose a lease to, make
 * none where that is 5. Source: `docs/semantics.md 3.9`.
 */
export function isSuspect({ crashes }: { readonly crashes: number }, maxCrashes: number): boolean {
  return crashes >= suspectFrom(maxCrashes)
}

/** From so many crashes on a task is a suspect; it never lives to be one where the first crash fails it. */
export function suspectFrom(maxCrashes: number): number {
  return Math.ceil(maxCrashes / 2)
}

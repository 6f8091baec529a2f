/**
 * Whether a task has lost so many leases to crashes that it may be what ends its processes. A crash takes along whatever runs in the
 * process, and nobody knows whose it was; so of suspects a process runs one at a time, and the next crash is that of one of them only.
 * Half of `maxCrashes` make a suspect, and at least two where the task has more: one power loss, which all lose a lease to, makes
 * none. Source: `docs/semantics.md 3.9`.
 */
export function isSuspect({ crashes }: { readonly crashes: number }, maxCrashes: number): boolean {
  return crashes > 0 && crashes >= suspectFrom(maxCrashes)
}

/** From so many crashes on a task is a suspect; it never lives to be one where the first crash fails it. */
export function suspectFrom(maxCrashes: number): number {
  return Math.max(1, Math.floor(maxCrashes / 2), Math.min(2, maxCrashes - 1))
}

import type { FileCpu } from './show.ts'

/** Seconds of processor time that any file may take: 3, and a third for noise. */
const least = 4
/** The same as a part of the whole run, which takes some 150 s. On a machine that is slow or busy every file takes longer. */
const part = 3 / 100

/** Seconds of processor time that a file may take in a run of all quick tests. */
export function shareOf(all: readonly FileCpu[]): number {
  return Math.max(least, part * all.reduce((sum, { seconds }) => sum + seconds, 0))
}

import type { FileCpu } from './show.ts'

/** Seconds of processor time that any file may take. */
const least = 3
/** The same as a part of the whole run, which takes some 150 s, and a quarter for noise. On a machine that is slow or busy every file takes longer. */
const part = 2.5 / 100

/** Seconds of processor time that a file may take in a run of all quick tests. */
export function shareOf(all: readonly FileCpu[]): number {
  return Math.max(least, part * all.reduce((sum, { seconds }) => sum + seconds, 0))
}

import type { FileCpu } from './show.ts'

/** Seconds of processor time that any file may take: 3, and a third for noise. */
const least = 4
/** The same as a part of the whole run, which takes some 170 s. On a machine that is slow or busy every file takes longer. */
const part = 3 / 100

/**
 * Files that may take several times as much as others. Pages and actions of the console need a browser, whose start costs what a file may take; in
 * files of their own they would start two. It draws without a graphics card, so machines differ: it took 7 s of 200 on one, and 20 s of 245 on another.
 */
const timesAsMuch: ReadonlyMap<string, number> = new Map([
  ['packages/agent-runtime-console/app/test/console.test.ts', 4],
])

/** How many times the limit of other files a file may take. */
export function allowanceOf(file: string): number {
  return timesAsMuch.get(file) ?? 1
}

/** Seconds of processor time that a file may take in a run of all quick tests. */
export function shareOf(all: readonly FileCpu[]): number {
  return Math.max(least, part * all.reduce((sum, { seconds }) => sum + seconds, 0))
}

/**
 * Seconds of processor time that all quick tests may take together. They took 168 s on a machine of two cores that did little else, where 200 are the
 * bar. A slower machine and other work take the rest.
 */
const mostOfAll = 230

/** What a run of all quick tests is told when it took too much; undefined when it did not. */
export function problemOfAll(all: readonly FileCpu[]): string | undefined {
  const sum = all.reduce((total, { seconds }) => total + seconds, 0)
  if (sum <= mostOfAll) return undefined
  return `the quick tests took ${sum.toFixed(0)} s of the processors together, ${mostOfAll} s are allowed: draw less in them (tools/draws.ts), or move the heaviest to *.proof.test.ts`
}

import { writeFileSync } from 'node:fs'
import { z } from 'zod'
import { machineNow, table, today, versionsNow } from '../report/evidence.ts'
import { counted } from './findings.ts'
import { addCounts, noCounts } from './minimums.ts'
import type { SeedRange, SeedsRun } from './run-seeds.ts'

/** The result of a range of seeds as it is kept: what was played, on what, and what came of it. */
export const KeptRun = z.strictObject({
  first: z.number(),
  last: z.number(),
  /** Seeds that broke a rule. */
  broken: z.array(z.number()),
  liveness: z.number(),
  safety: z.number(),
  counts: z.strictObject(Object.fromEntries(counted.map((name) => [name, z.number().default(0)]))),
  virtualMs: z.number(),
  seconds: z.number(),
  threads: z.number(),
  commit: z.string(),
  date: z.string(),
  machine: z.string(),
  versions: z.string(),
})
export type KeptRun = z.infer<typeof KeptRun>

/** A range that was played just now, on this machine. */
export function keptRun(
  { first, last }: SeedRange,
  { counts, broken, modes, virtualMs }: SeedsRun,
  rest: Pick<KeptRun, 'seconds' | 'threads' | 'commit'>,
): KeptRun {
  return {
    first,
    last,
    broken: broken.map(({ seed }) => seed),
    ...modes,
    counts,
    virtualMs: Math.round(virtualMs),
    ...rest,
    seconds: Math.round(rest.seconds),
    date: today(),
    machine: machineNow(),
    versions: versionsNow(),
  }
}

/** Adds a run to others, in the order of their seeds. */
export function keep(path: string, before: readonly KeptRun[], run: KeptRun): readonly KeptRun[] {
  const runs = [...before, run].toSorted((a, b) => a.first - b.first)
  writeFileSync(path, `${JSON.stringify(runs, undefined, 2)}\n`)
  return runs
}

/** Runs of ranges as a page. */
export function evidenceOf(runs: readonly KeptRun[]): string {
  const seeds = runs.reduce((sum, { first, last }) => sum + last - first + 1, 0)
  const counts = runs.reduce((sum, run) => addCounts(sum, { ...noCounts, ...run.counts }), noCounts)
  const unique = (values: readonly string[]) => [...new Set(values)].join('; ')
  const sum = (of: (run: KeptRun) => number) => runs.reduce((total, run) => total + of(run), 0)
  const broken = runs.flatMap((run) => run.broken)
  const summary = [
    ['seeds', String(seeds)],
    ['broken', broken.length === 0 ? 'none' : broken.join(', ')],
    [
      'lives',
      `${sum(({ liveness }) => liveness)} healed and played to the end, ${sum(({ safety }) => safety)} under faults throughout`,
    ],
    ['machine', unique(runs.map(({ machine }) => machine))],
    ['versions', unique(runs.map(({ versions }) => versions))],
    ['virtual time', `${Math.round(sum(({ virtualMs }) => virtualMs) / 1_000)} s`],
  ]
  return [
    '# Evidence: the simulation',
    '',
    'The last long runs of `pnpm sim --seeds A..B --evidence`; what it does: [the simulation](../simulation.md).',
    '',
    ...table(['', ''], summary),
    '',
    '## Runs',
    '',
    ...table(
      ['seeds', 'broken', 'commit', 'date', 'took'],
      runs.map((run) => [
        `${run.first} to ${run.last}`,
        run.broken.length === 0 ? 'none' : run.broken.join(', '),
        run.commit,
        run.date,
        `${run.seconds} s on ${run.threads} threads`,
      ]),
    ),
    '',
    '## What happened',
    '',
    ...table(
      ['what', 'times', 'a seed'],
      counted.map((name) => [name, String(counts[name]), (counts[name] / seeds).toFixed(2)]),
    ),
    '',
  ].join('\n')
}

import { type Counted, counted, type Counts } from './findings.ts'

/**
 * What has to happen in so many seeds on the average, to a third of what was measured: a range of seeds in which less happens proves
 * nothing, and fails.
 */
export const minimumPer100: Readonly<Partial<Record<Counted, number>>> = {
  submissions: 700,
  writes: 3_000,
  claims: 1_200,
  renewals: 1_000,
  suspects: 13,
  expiries: 30,
  'owners dead': 70,
  zombies: 40,
  cancels: 150,
  waits: 500,
  steps: 1_000,
  signals: 200,
  verdicts: 80,
  children: 50,
  completions: 250,
  retries: 60,
  crashes: 80,
  pauses: 50,
  restarts: 80,
  faults: 500,
  'budgets asked': 10,
  'budgets exceeded': 8,
  'scheduled runs': 20,
  'held leases': 80,
  agents: 55,
  reports: 190,
  'circuits opened': 30,
  judgements: 60,
  forks: 50,
  'inherited memos': 60,
  'supervised restarts': 20,
  escalations: 6,
  streams: 8,
  'agreed submissions': 20,
  entries: 300,
  'folded entries': 60,
  recoveries: 20,
  'asked after failures': 8,
  'hand-overs': 12,
  // Few lives have them: fewer than a third, so that fifty seeds may lack some.
  'children from outside': 2,
  'children in turn': 1,
}

/** Fewer seeds than that differ too much among themselves to be held to the minimums. */
export const leastSeeds = 50

/** The sums of several lives. */
export function addCounts(a: Counts, b: Counts): Counts {
  return Object.fromEntries(counted.map((name) => [name, a[name] + b[name]])) as Counts
}

export const noCounts = Object.fromEntries(counted.map((name) => [name, 0])) as Counts

/** Of what there was too little in so many seeds, one line each. */
export function missing(seeds: number, counts: Counts): readonly string[] {
  if (seeds < leastSeeds) return []
  return counted.flatMap((name) => {
    const least = Math.floor(((minimumPer100[name] ?? 0) * seeds) / 100)
    return counts[name] < least
      ? [`${name}: ${counts[name]} in ${seeds} seeds, at least ${least} are needed`]
      : []
  })
}

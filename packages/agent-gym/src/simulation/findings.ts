import { createHash } from 'node:crypto'

/** What of a run is counted, so that a run in which nothing happens is no proof. */
export const counted = [
  'submissions',
  'refusals',
  'writes',
  'claims',
  'renewals',
  'suspects',
  'expiries',
  'owners dead',
  'zombies',
  'cancels',
  'waits',
  'steps',
  'signals',
  'verdicts',
  'children',
  'completions',
  'failures',
  'retries',
  'crashes',
  'pauses',
  'restarts',
  'faults',
  'budgets asked',
  'budgets exceeded',
  'scheduled runs',
  'held leases',
  'agents',
  'reports',
  'circuits opened',
  'judgements',
  'forks',
  'inherited memos',
  'supervised restarts',
  'escalations',
  'started anew',
  'streams',
  'parted streams',
  'agreed submissions',
  'refused for credits',
  'asked for credits',
  'entries',
  'folded entries',
  'recoveries',
  'asked after failures',
  'hand-overs',
  'children from outside',
  'children in turn',
] as const
export type Counted = (typeof counted)[number]
export type Counts = Readonly<Record<Counted, number>>

/** A rule of `docs/reliability.md` 3.1 that a simulated life broke. */
export interface Violation {
  readonly rule: string
  readonly text: string
  /** Virtual ms since the beginning. */
  readonly atMs: number
}

/** What a simulated life leaves behind: its trace, what happened in it, and what must not have. */
export class Findings {
  readonly violations: Violation[] = []
  readonly counts: Record<Counted, number> = Object.fromEntries(counted.map((name) => [name, 0])) as Record<
    Counted,
    number
  >
  readonly lines: string[] = []
  readonly #hash = createHash('sha256')
  readonly #now: () => number
  readonly #keeps: boolean

  /** `keeps`: the lines of the trace are kept, and not only hashed. */
  constructor(now: () => number, keeps: boolean) {
    this.#now = now
    this.#keeps = keeps
  }

  count(what: Counted, by = 1): void {
    this.counts[what] += by
  }

  note(who: string, what: string): void {
    const line = `${this.#now().toFixed(3).padStart(10)}  ${who.padEnd(9)} ${what}`
    this.#hash.update(line)
    if (this.#keeps) this.lines.push(line)
  }

  violated(rule: string, text: string): void {
    this.note('AUDIT', `${rule} ${text}`)
    this.violations.push({ rule, text, atMs: this.#now() })
  }

  hash(): string {
    return this.#hash.digest('hex')
  }
}

/** A rule that is broken, and how. */
export type Broken = readonly [rule: string, text: string]

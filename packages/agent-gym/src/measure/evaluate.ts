import type { Expectation } from '../scenario/expectation.ts'
import { type About, measure, type Measured } from './measures.ts'
import type { Measurements } from './measurements.ts'

/** What became of one expectation. */
export interface Finding {
  /** The measure, with what it looks at: `queueWaitMs.p95 (lane batch)`. */
  readonly measure: string
  /** The bound: `below 1000 ms`. */
  readonly expected: string
  /** What was measured; null when there was nothing to measure it on, or it never happened. */
  readonly measured: number | string | boolean | null
  readonly unit: string
  readonly samples: number
  readonly pass: boolean
  /** Why it failed, when the figures alone do not say. */
  readonly reason?: string
  readonly rounds?: readonly number[]
  /** What plain SQLite did beside each run, tasks a second, where the bound is a share of it. */
  readonly sqliteRates?: readonly number[]
  readonly cases?: readonly string[]
}

/** Holds what was measured against what was expected. Pure: the same data give the same findings. */
export function evaluate(
  expectations: readonly Expectation[],
  measurements: Measurements,
): readonly Finding[] {
  return expectations.map((expectation) => evaluateOne(expectation, measurements))
}

function evaluateOne(expectation: Expectation, measurements: Measurements): Finding {
  const { value, unit, samples, rounds, cases } = measure(
    expectation.measure,
    measurements,
    aboutOf(expectation),
  )
  const reason = reasonAgainst(expectation, { value, unit, samples })
  const beside = besideSqlite(expectation, measurements, rounds)
  const pass = reason === undefined && (isMet(expectation, value) || beside?.isMet === true)
  return {
    measure: nameOf(expectation),
    expected: boundOf(expectation, unit),
    measured: typeof value === 'number' && !Number.isFinite(value) ? null : value,
    unit,
    samples,
    pass,
    ...(reason !== undefined && { reason }),
    ...(rounds !== undefined && { rounds }),
    ...(beside !== undefined && { sqliteRates: beside.rates }),
    ...(!pass && cases !== undefined && cases.length > 0 && { cases }),
  }
}

/** Why the value cannot be judged at all. */
function reasonAgainst(
  { samples: fewest = 1 }: Expectation,
  { value, samples }: Measured,
): string | undefined {
  if (value === null || samples === 0) return 'nothing to measure it on'
  if (typeof value === 'number' && !Number.isFinite(value)) return 'it never happened'
  if (samples < fewest) return `rests on ${samples} samples; ${fewest} are needed`
  return undefined
}

function isMet(expectation: Expectation, value: Measured['value']): boolean {
  const { equals, atMost, atLeast, below, above } = expectation
  if (equals !== undefined) return value === equals
  if (typeof value !== 'number') return false
  if (atMost !== undefined) return value <= atMost
  if (atLeast !== undefined) return value >= atLeast
  if (below !== undefined) return value < below
  return above !== undefined && value > above
}

/**
 * Whether what was measured holds at the speed that plain SQLite had beside each run: a rate in one run, since noise only slows; a time
 * in most of the runs, as the median of them would.
 */
function besideSqlite(
  { atLeast, below, atSqliteRate }: Expectation,
  { runs }: Measurements,
  rounds: readonly number[] | undefined,
): { readonly rates: readonly number[]; readonly isMet: boolean } | undefined {
  const rates = runs.flatMap(({ sqliteRate }) => sqliteRate ?? [])
  if (atSqliteRate === undefined || rates.length !== rounds?.length) return undefined
  const shares = rates.map((rate) => Math.min(1, rate / atSqliteRate))
  if (atLeast !== undefined)
    return { rates, isMet: rounds.some((round, run) => round >= atLeast * (shares[run] ?? 1)) }
  if (below === undefined) return undefined
  const met = rounds.filter((round, run) => round < below / (shares[run] ?? 1))
  return { rates, isMet: met.length * 2 > rounds.length }
}

function boundOf({ equals, atMost, atLeast, below, above, atSqliteRate }: Expectation, unit: string): string {
  const bounds = [
    [String(equals), equals],
    [`at most ${atMost}`, atMost],
    [`at least ${atLeast}`, atLeast],
    [`below ${below}`, below],
    [`above ${above}`, above],
  ] as const
  const text = bounds.find(([, bound]) => bound !== undefined)?.[0] ?? ''
  const bound = unit === '' ? text : `${text} ${unit}`
  return atSqliteRate === undefined ? bound : `${bound} where plain SQLite does ${atSqliteRate}`
}

function nameOf(expectation: Expectation): string {
  const about = Object.entries(aboutOf(expectation)).map(([key, value]) => `${key} ${value}`)
  return about.length === 0 ? expectation.measure : `${expectation.measure} (${about.join(', ')})`
}

function aboutOf({ lane, group, process, depth, reason, model, client, of, call }: Expectation): About {
  return {
    ...(lane !== undefined && { lane }),
    ...(group !== undefined && { group }),
    ...(process !== undefined && { process }),
    ...(depth !== undefined && { depth }),
    ...(reason !== undefined && { reason }),
    ...(model !== undefined && { model }),
    ...(client !== undefined && { client }),
    ...(of !== undefined && { of }),
    ...(call !== undefined && { call }),
  }
}

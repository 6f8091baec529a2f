import { max, mean, median, quantileSorted, sum } from 'd3-array'

/** How a set of measured values is spread. Quantiles interpolate between neighbours. */
export interface Spread {
  readonly count: number
  readonly min: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
  readonly mean: number
}

/** The spread of the values; null of none, so that nothing measured never looks like zero. */
export function spreadOf(values: readonly number[]): Spread | null {
  if (values.length === 0) return null
  const sorted = [...values].toSorted((a, b) => a - b)
  // Between two infinite values there is no number to interpolate.
  const at = (share: number) => {
    const value = quantileSorted(sorted, share) ?? Number.NaN
    return Number.isNaN(value) ? Infinity : round(value)
  }
  return {
    count: sorted.length,
    min: at(0),
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    max: at(1),
    mean: round(mean(sorted) ?? Number.NaN),
  }
}

/** The middle value; null of none. */
export function medianOf(values: readonly number[]): number | null {
  return median(values) ?? null
}

/** The median distance from the median: how far the values of repeated runs usually lie apart. */
export function medianDeviation(values: readonly number[]): number {
  const middle = median(values)
  if (middle === undefined) return 0
  return median(values.map((value) => Math.abs(value - middle))) ?? 0
}

/** Jain's index of how evenly shares are spread: 1 is perfectly even, 1/n is one taking all. Null of none. */
export function jainIndex(shares: readonly number[]): number | null {
  const total = sum(shares)
  if (shares.length === 0 || total === 0) return null
  return round(total ** 2 / (shares.length * sum(shares, (share) => share ** 2)))
}

/** The largest; 0 of none. */
export function highest(values: readonly number[]): number {
  return max(values) ?? 0
}

/** Three decimals: a microsecond of a value in ms. */
export function round(value: number): number {
  return Math.round(value * 1000) / 1000
}

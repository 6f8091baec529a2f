/** The value that so large a part of the others is not above, between the two nearest; NaN of nothing. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = (sorted.length - 1) * part
  const [low, high] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]]
  if (low === undefined || high === undefined) return Number.NaN
  return low + (high - low) * (place - Math.floor(place))
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

/** Several measurements of one thing. */
export interface Summary {
  readonly median: number
  readonly least: number
  readonly most: number
  readonly runs: number
}

export function summarize(values: readonly number[]): Summary {
  return {
    median: median(values),
    least: Math.min(...values),
    most: Math.max(...values),
    runs: values.length,
  }
}

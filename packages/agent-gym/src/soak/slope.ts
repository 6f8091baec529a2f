/** A straight line through points, by least squares. */
export interface Slope {
  /** By how much y rises with each x. */
  readonly perUnit: number
  /** The standard error of that; infinite for fewer than three points. */
  readonly error: number
}

/** The line that comes nearest to the points, which are at two different x at least. */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): Slope {
  const count = points.length
  const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / count
  const meanX = meanOf(points.map(([x]) => x))
  const meanY = meanOf(points.map(([, y]) => y))
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  if (spread === 0) throw new RangeError('a slope needs points at two places at least')
  const perUnit = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread
  const rest = points.reduce((sum, [x, y]) => sum + (y - meanY - perUnit * (x - meanX)) ** 2, 0)
  return { perUnit, error: count < 3 ? Number.POSITIVE_INFINITY : Math.sqrt(rest / (count - 2) / spread) }
}

/** A slope as it was measured, and by how much what it is of rose in all. */
export interface Rise extends Slope {
  readonly rise: number
}

/**
 * Whether a slope is below a bar. What rose by less than `noise` in all is not told from what is still being compiled. A run that is long
 * enough to know the slope, twice its standard error being less than the bar, has to be below by as much; of a shorter one only what is
 * surely above is not.
 */
export function isBelow({ perUnit, error, rise }: Rise, bar: number, noise: number): boolean {
  if (rise < noise) return true
  return 2 * error < bar ? perUnit + 2 * error < bar : perUnit - 2 * error < bar
}

/** A duration in ms as people write it, without a loss: `500 ms`, `60 s`, `1.5 s`, `5 min`, `2 h`, `30 d`. */
export function durationText(ms: number): string {
  for (const [unit, size] of units) if (ms >= 2 * size && ms % size === 0) return `${ms / size} ${unit}`
  // Not more than three places: the thousandth of a second is the smallest unit.
  return ms >= 1_000 ? `${ms / 1_000} s` : `${ms} ms`
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
] as const

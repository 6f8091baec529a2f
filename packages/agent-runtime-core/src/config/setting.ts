/** The longest duration that can be set: a year, in ms. Sums with a time stay whole numbers. */
export const MAX_DURATION_MS = 31_536_000_000

/** The largest count that can be set. */
export const MAX_COUNT = 1_000_000_000

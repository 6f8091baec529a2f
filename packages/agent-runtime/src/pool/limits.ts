import { type ConfigProblem, isRecord, type Rule, show, wholeNumber } from '@ku0/agent-runtime-core'
import type { PoolLimits, PoolSettings } from '../api/pool.ts'

/** The workers of one process: each is a row of the store, and what one of them can do, its capacity can. */
export const MAX_WORKERS = 1_000

/** Source: `docs/semantics.md 8.1`. */
const defaults: PoolLimits = { min: 1, max: 4, growAt: 5, idleMs: 300_000, everyMs: 10_000 }

const limitNames = Object.keys(defaults) as readonly (keyof PoolLimits)[]

/** Whether options of workers ask for a pool that changes its size. */
export function asksForPool(given: unknown): given is PoolSettings {
  return isRecord(given) && limitNames.some((name) => given[name] !== undefined)
}

/** The limits that are meant: what is not given is the default, and `max` is never below a `min` that is given alone. */
export function limitsOf(given: PoolSettings): PoolLimits {
  const { min = defaults.min, max = Math.max(defaults.max, min) } = given
  const { growAt = defaults.growAt, idleMs = defaults.idleMs, everyMs = defaults.everyMs } = given
  return { min, max, growAt, idleMs, everyMs }
}

/** The limits of workers whose number is fixed. */
export function fixedLimits(count: number): PoolLimits {
  return { ...defaults, min: count, max: count }
}

/** Whether each limit may have its value; how they fit together is `limitProblems`. */
export const limitRules: Readonly<Record<keyof PoolLimits, Rule>> = {
  min: wholeNumber(0, MAX_WORKERS, 'MAX_WORKERS'),
  max: wholeNumber(1, MAX_WORKERS, 'MAX_WORKERS'),
  growAt: wholeNumber(1, Number.MAX_SAFE_INTEGER),
  idleMs: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  everyMs: wholeNumber(1, Number.MAX_SAFE_INTEGER),
}

/** What is wrong with limits that are to be in force together. */
export function limitProblems({ min, max }: PoolLimits, path: string): ConfigProblem[] {
  if (!(min > max)) return []
  return [{ path: `${path}min`, allowed: `at most max, which is ${show(max)}`, given: min }]
}

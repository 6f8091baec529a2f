/** The limits of a pool of workers. Source: worker pool and lease durability, PoolConfig; `docs/semantics.md 8.1`. */
export interface PoolLimits {
  /** The number of workers that the pool keeps, whatever the load; a worker that died is replaced up to it. */
  readonly min: number
  /** The number of workers that the pool never exceeds. */
  readonly max: number
  /** The number of queued tasks from which on the pool grows by one worker a pass. */
  readonly growAt: number
  /** A worker that has been idle for longer than this leaves, if nothing is queued. */
  readonly idleMs: number
}

/** A worker as the pool sees it in a pass. */
export interface PoolMember {
  readonly workerId: string
  /** Tasks that it runs. */
  readonly inFlight: number
  /** How long it has run nothing; 0 while it runs something. */
  readonly idleMs: number
  /** It finishes what it has and then leaves. */
  readonly draining: boolean
}

/** The state that a pass sees. */
export interface PoolView {
  /** Queued tasks that are due and that the pool's workers run. */
  readonly depth: number
  readonly members: readonly PoolMember[]
  readonly limits: PoolLimits
}

/** The action of a pass, and its reason. */
export type Scaling =
  | { readonly do: 'grow'; readonly count: number; readonly why: 'below_min' | 'queued' }
  | { readonly do: 'shrink'; readonly workerId: string; readonly why: 'above_max' | 'idle' }
  | { readonly do: 'keep' }

/**
 * Decides what one pass of a pool does: fill up to `min` at once, grow by one when enough is queued, and let one worker go when nothing is queued
 * and it was idle for long enough, or when there are more than `max`. The worker that was idle for the longest time goes first; if all work,
 * the one with the fewest tasks is drained, and its tasks end. Draining workers count as gone. Pure. Source: `docs/semantics.md 8.1, 8.2`.
 */
export function decideScaling({ depth, members, limits }: PoolView): Scaling {
  const active = members.filter(({ draining }) => !draining)
  if (active.length < limits.min) return { do: 'grow', count: limits.min - active.length, why: 'below_min' }
  const [first] = active.toSorted((a, b) => b.idleMs - a.idleMs || a.inFlight - b.inFlight)
  if (first !== undefined && active.length > limits.max)
    return { do: 'shrink', workerId: first.workerId, why: 'above_max' }
  if (depth >= limits.growAt && active.length < limits.max) return { do: 'grow', count: 1, why: 'queued' }
  const isIdle = first !== undefined && first.inFlight === 0 && first.idleMs > limits.idleMs
  if (isIdle && depth === 0 && active.length > limits.min)
    return { do: 'shrink', workerId: first.workerId, why: 'idle' }
  return { do: 'keep' }
}

/** When a worker is replaced that died, or that the pool gives up. */
export type Replacement = { readonly afterMs: number } | 'give_up'

/**
 * When the next worker starts after so many workers in a row died quickly ({@link isQuickDeath}): at once after another death, then after 100 ms, 200 ms and so on up to 30 s; after {@link MAX_QUICK_DEATHS} the pool gives up. Pure. Source:
 * `docs/semantics.md 8.2`.
 */
export function decideReplacement(quickDeaths: number): Replacement {
  if (quickDeaths >= MAX_QUICK_DEATHS) return 'give_up'
  return { afterMs: quickDeaths === 0 ? 0 : Math.min(30_000, 100 * 2 ** (quickDeaths - 1)) }
}

/** A worker that lives for less than this, and has done nothing, died of what it is. */
const QUICK_DEATH_MS = 10_000

/**
 * Whether a worker died of what it is: it ended no task in its life, and that was shorter than 10 s. A worker that is killed while it works
 * says nothing about the next one. Pure. Source: `docs/semantics.md 8.2`.
 */
export function isQuickDeath({
  livedMs,
  ended,
}: {
  readonly livedMs: number
  readonly ended: number
}): boolean {
  return livedMs < QUICK_DEATH_MS && ended === 0
}

/** Workers in a row that may die quickly before a pool gives up. */
export const MAX_QUICK_DEATHS = 10

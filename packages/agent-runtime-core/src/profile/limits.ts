import { limitedAmounts, type LimitedAmount } from './profile.ts'
import type { ResourceLimit, ResourceLimits } from './schema.ts'

/** The usage of a lease so far. */
export type AmountsUsed = Readonly<Record<LimitedAmount, number>>

/** A limit that usage is above. */
export interface Excess {
  readonly amount: LimitedAmount
  readonly used: number
  readonly limit: number
}

/**
 * The result of comparing usage with the limits: if both are exceeded, only the hard one counts. Source:
 * `docs/semantics.md 10.5`.
 */
export type LimitVerdict =
  | { readonly as: 'within' }
  | ({ readonly as: 'soft' } & Excess)
  | ({ readonly as: 'hard' } & Excess)

export function decideLimits(used: AmountsUsed, { soft = {}, hard = {} }: ResourceLimits): LimitVerdict {
  const broken = excessOf(used, hard)
  if (broken !== undefined) return { as: 'hard', ...broken }
  const warned = excessOf(used, soft)
  return warned === undefined ? { as: 'within' } : { as: 'soft', ...warned }
}

function excessOf(used: AmountsUsed, limits: ResourceLimit): Excess | undefined {
  const amount = limitedAmounts.find((name) => used[name] > (limits[name] ?? Number.POSITIVE_INFINITY))
  return amount === undefined ? undefined : { amount, used: used[amount], limit: limits[amount] ?? 0 }
}

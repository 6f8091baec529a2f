import { MICRO } from '../budget/usage.ts'
import { defaultCredits, type ClientTier } from './client.ts'
import { tierWeights } from './fairness.ts'

/** Amounts of resources by name: whole tokens, tasks, and millionths of cost. One that is left out is 0. */
export type Amounts = Readonly<Record<string, number>>

/** The resource whose amount is the cost of tasks. */
export const COMPUTE = 'compute'

/** The facts about a task, or the sums over several of one stream, that its amounts result from. Cost in millionths. */
export interface Use {
  readonly tasks: number
  readonly tokens: number
  readonly cost: number
}

/** The amounts that tasks with these quota keys hold while they run, of the resources that are named. Source: `docs/semantics.md 11.10`. */
export function amountsOf(
  quotaKeys: readonly string[],
  { tasks, tokens, cost }: Use,
  capacities: Amounts,
): Amounts {
  const amounts: Record<string, number> = {}
  if (Object.hasOwn(capacities, COMPUTE)) amounts[COMPUTE] = cost
  for (const key of quotaKeys)
    if (Object.hasOwn(capacities, key)) amounts[key] = key.startsWith('model:') ? tokens : tasks
  return amounts
}

/** The sum of amounts, or their difference; none of 0 is left. */
export function addAmounts(held: Amounts, more: Amounts, by: 1 | -1 = 1): Amounts {
  const sum: Record<string, number> = { ...held }
  for (const [name, amount] of Object.entries(more)) {
    const left = (sum[name] ?? 0) + by * amount
    if (left === 0) delete sum[name]
    else sum[name] = left
  }
  return sum
}

/**
 * The dominant share of who holds these amounts: of each resource the part of its capacity, and of those the largest; by a weight, which entitles
 * to more. Capacities in the units of people, so that a cost of 1 is a million of its amount. Source: Ghodsi et al. 2011, Algorithm 1;
 * `docs/semantics.md 11.10`.
 */
export function dominantShare(held: Amounts, capacities: Amounts, weight = 1): number {
  let most = 0
  for (const [name, amount] of Object.entries(held)) {
    const unit = name === COMPUTE ? MICRO : 1
    most = Math.max(most, amount / ((capacities[name] ?? Number.POSITIVE_INFINITY) * unit))
  }
  return most / weight
}

/** The part that a client is entitled to beside others: its credits, and its tier. Credits in millionths. Source: `docs/semantics.md 11.1`. */
export function entitlement({
  credits,
  tier,
}: {
  readonly credits: number
  readonly tier: ClientTier
}): number {
  return (Math.max(credits / MICRO, 1) / defaultCredits) * tierWeights[tier]
}

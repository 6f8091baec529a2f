import { instead } from '../check/rules.ts'
import { isReadable } from '../check/readable.ts'
import { RuntimeError } from '../error/errors.ts'
import { MAX_COUNT } from '../config/setting.ts'
import { show } from '../check/show.ts'

/** The usage of work; an amount that is left out is 0. Source: `docs/semantics.md 11.5`, C4. */
export interface Usage {
  /** Whole tokens, 0 to 1e9. */
  readonly tokens?: number | undefined
  /** In the currency that all of a store's budgets are in, 0 to 1e9, to the millionth. */
  readonly money?: number | undefined
  /**
   * The cost that fair shares count, 0 to 1e9, to the millionth. A task that charges none costs its estimate.
   */
  readonly cost?: number | undefined
}

/** The usage of work, with every amount. */
export type UsedAmounts = { readonly [K in keyof Usage]-?: number }

/** The sums that the store keeps: whole tokens, millionths of money and cost. */
export interface UsageSum {
  readonly tokens: number
  readonly money: number
  readonly cost: number
}

/** Millionths in one unit of money or cost. */
export const MICRO = 1_000_000

const fields = ['tokens', 'money', 'cost'] as const

/** A usage in whole numbers. Throws `invalid_argument` that names what is wrong. */
export function usageSum(call: string, usage: unknown): UsageSum {
  if (!isReadable(usage))
    throw new RuntimeError('invalid_argument', `${call} takes { tokens, money, cost }, not ${show(usage)}`)
  for (const name of Object.keys(usage)) {
    if ((fields as readonly string[]).includes(name)) continue
    throw new RuntimeError('invalid_argument', `${call}: there is no ${name}${instead(name, fields)}`)
  }
  const { tokens = 0, money = 0, cost = 0 } = usage as Usage
  if (!Number.isInteger(tokens) || tokens < 0 || tokens > MAX_COUNT)
    throw new RuntimeError(
      'invalid_argument',
      `${call}: tokens is a whole number from 0 to ${MAX_COUNT}, not ${show(tokens)}`,
    )
  return { tokens, money: micro(call, 'money', money), cost: micro(call, 'cost', cost) }
}

/** A number from 0 to 1e9 in millionths. Throws `invalid_argument`. */
export function micro(call: string, name: string, value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= MAX_COUNT) return Math.round(value * MICRO)
  throw new RuntimeError(
    'invalid_argument',
    `${call}: ${name} is a number from 0 to ${MAX_COUNT}, not ${show(value)}`,
  )
}

/** Both together. */
export function addUsage(a: UsageSum | undefined, b: UsageSum): UsageSum {
  if (a === undefined) return b
  return { tokens: a.tokens + b.tokens, money: a.money + b.money, cost: a.cost + b.cost }
}

/** Canonical JSON, as in events. */
export function usageText({ tokens, money, cost }: UsageSum): string {
  return `{"cost":${cost},"money":${money},"tokens":${tokens}}`
}

/** As a person reads it. */
export function usageOf({ tokens, money, cost }: UsageSum): UsedAmounts {
  return { tokens, money: money / MICRO, cost: cost / MICRO }
}

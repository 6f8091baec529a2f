import type { StepHandle, Usage } from '@ku0/agent-runtime'

/** The tokens that one call of a model used. */
export interface TokenUsage {
  /** All tokens of the prompt, those from and for the cache included. */
  readonly input: number
  /** The part of `input` that was read from the provider's cache. */
  readonly cachedInput: number
  /** The part of `input` that was written to the provider's cache. */
  readonly cacheWrite: number
  /** All tokens of the answer, reasoning included. */
  readonly output: number
  /** The part of `output` that was reasoning. */
  readonly reasoning: number
}

/** The price of a million tokens, in the currency of the store's budgets. A kind that is left out costs as much as `input`. */
export interface TokenPrice {
  readonly input: number
  readonly output: number
  readonly cachedInput?: number | undefined
  readonly cacheWrite?: number | undefined
}

/** How a call is charged to the task's budget and quotas. */
export interface ChargeOptions {
  /** Charges `money` as well. */
  readonly price?: TokenPrice | undefined
  /** The charge for a call, in place of its tokens and their price. */
  readonly charge?: ((usage: TokenUsage) => Usage) | undefined
}

/** Charges a call to the step that made it. */
export function chargeTokens(step: StepHandle, usage: TokenUsage, { price, charge }: ChargeOptions): void {
  step.charge(charge?.(usage) ?? chargeOf(usage, price))
}

/** Whole tokens of what a provider says, which may say nothing. */
export function tokens(count: unknown): number {
  return typeof count === 'number' && count > 0 && Number.isFinite(count) ? Math.round(count) : 0
}

function chargeOf({ input, cachedInput, cacheWrite, output }: TokenUsage, price?: TokenPrice): Usage {
  const all = { tokens: input + output }
  if (price === undefined) return all
  const fresh = Math.max(0, input - cachedInput - cacheWrite)
  const money =
    fresh * price.input +
    cachedInput * (price.cachedInput ?? price.input) +
    cacheWrite * (price.cacheWrite ?? price.input) +
    output * price.output
  return { ...all, money: money / 1_000_000 }
}

import { addUsage, type BackOff, type RateLimited, type UsageSum } from '@ku0/agent-runtime-core'

/** The part of a write that records usage. */
export interface Charged {
  readonly charged?: UsageSum
}

/**
 * What one attempt has used and the store does not know yet. Each charge is stored once: with the end of the
 * step run that made it, or with the write that ends the pass. Source: `docs/semantics.md 11.5`.
 */
export class UsageTab {
  /** Usage outside of steps. */
  #outside: UsageSum | undefined
  /** Usage by runs of steps that have not ended. */
  #runs: Map<object, UsageSum> | undefined
  /** Usage by runs without a result, and by writes that came too late. */
  #owed: UsageSum | undefined
  #reported: RateLimited | undefined
  readonly #onCharge: ((usage: UsageSum) => void) | undefined

  /** `onCharge` hears of each charge when it is made. */
  constructor(onCharge?: (usage: UsageSum) => void) {
    this.#onCharge = onCharge
  }

  /** Adds usage outside of steps; the settlement records it. */
  charge(usage: UsageSum): void {
    this.#outside = addUsage(this.#outside, usage)
    this.#onCharge?.(usage)
  }

  /** Adds usage of a step's run. */
  chargeRun(run: object, usage: UsageSum): void {
    this.#runs ??= new Map()
    this.#runs.set(run, addUsage(this.#runs.get(run), usage))
    this.#onCharge?.(usage)
  }

  /** What a run has used since the last call, for the write that records its end. */
  takeRun(run: object): Charged {
    const charged = this.#runs?.get(run)
    if (charged === undefined) return {}
    this.#runs?.delete(run)
    return { charged }
  }

  /** A run ended without a result: the next write that takes owed usage records what it used. */
  endRun(run: object): void {
    this.owe(this.takeRun(run).charged)
  }

  /** A write with this usage was not accepted, or there is none. */
  owe(charged: UsageSum | undefined): void {
    if (charged !== undefined) this.#owed = addUsage(this.#owed, charged)
  }

  /** What is owed, for a write that records it for certain. */
  takeOwed(): Charged {
    const { owed } = this
    this.#owed = undefined
    return owed
  }

  /** What is owed, for a write that may not be the one that records it. */
  get owed(): Charged {
    return this.#owed === undefined ? {} : { charged: this.#owed }
  }

  /** Whatever steps used up: the pass is over, and so is what runs in it. */
  takeAll(): Charged {
    for (const run of this.#runs?.keys() ?? []) this.endRun(run)
    return this.takeOwed()
  }

  /** The same with what was used up outside of steps: this is the pass that ends the task. */
  takeAllAround(): Charged {
    this.oweOutside()
    return this.takeAll()
  }

  /** The pass was settled elsewhere: what was used outside of steps is recorded with what is owed. */
  oweOutside(): void {
    this.owe(this.#outside)
    this.#outside = undefined
  }

  get owesMore(): boolean {
    return this.#owed !== undefined || (this.#runs?.size ?? 0) > 0
  }

  /** What a provider said, for the store: once, by the step that met it or with the settlement. */
  backOff(rateLimit: RateLimited | undefined): { readonly backOff?: BackOff } {
    if (rateLimit === undefined || rateLimit === this.#reported || rateLimit.quotaKeys.length === 0) return {}
    this.#reported = rateLimit
    return { backOff: { keys: rateLimit.quotaKeys, retryAfterMs: rateLimit.retryAfterMs } }
  }
}

import { addUsage, type UsageSum } from '@ku0/agent-runtime-core'
import type { Charged } from '../durable/usage-tab.ts'

/**
 * What a handler in a runner has used and no write has recorded: the runner says each charge when it is made, and its writes record them
 * later. If it ends before that, its worker records them, because they were spent.
 */
export class Dues {
  #due: UsageSum | undefined

  charged(usage: UsageSum): void {
    this.#due = addUsage(this.#due, usage)
  }

  /** The store has answered a write of the runner: what it took of it is no longer due. */
  recorded(
    { kind, charged }: { readonly kind: string; readonly charged?: UsageSum },
    outcome: unknown,
  ): void {
    // A wait stores no charges.
    if (charged === undefined || kind === 'suspend' || !isTaken(outcome)) return
    const { tokens, money, cost } = charged
    this.#due = addUsage(this.#due, { tokens: -tokens, money: -money, cost: -cost })
  }

  /** What is due when the runner is no more. As long as there is one, it records its charges itself. */
  afterEnd(runner: { readonly isOver: boolean } | undefined): Charged {
    if (this.#due === undefined || runner?.isOver !== true) return {}
    const charged = this.#due
    this.#due = undefined
    return isNothing(charged) ? {} : { charged }
  }
}

function isNothing({ tokens, money, cost }: UsageSum): boolean {
  return tokens === 0 && money === 0 && cost === 0
}

function isTaken(outcome: unknown): boolean {
  if (outcome === 'stale' || outcome === false) return false
  return (
    typeof outcome !== 'object' || outcome === null || !('fenced' in outcome) || outcome.fenced !== 'stale'
  )
}

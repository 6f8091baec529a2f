import type { OutcomeOf, Write } from '@ku0/agent-runtime-core'
import type { HolderWrite, Lease, Taken } from '../durable/host.ts'
import type { UsageTab } from '../durable/usage-tab.ts'
import type { Stop } from '../lease/cancellation.ts'
import type { Deadlines } from '../lease/deadlines.ts'
import { insist } from '../lease/insist.ts'
import type { HeldStore } from './parts.ts'

/** The attempt that holds the lease. */
export interface Holder {
  readonly claim: { readonly leaseId: string }
  readonly stopped: Stop | undefined
  lose(): void
}

/**
 * Writes under one lease. A write to a store that is busy, full or unavailable for a while is repeated as
 * long as the lease is not known to be lost, so that trouble of the store fails no task. Source:
 * `docs/reliability.md` D01, D03.
 */
export class LeaseWriter implements Lease {
  readonly #parts: { readonly store: HeldStore; readonly deadlines: Deadlines }
  readonly #holder: Holder
  readonly #usage: UsageTab
  /** How often the process had slept when the last accepted write was sent: the lease was live after that. */
  #knownSince: number | undefined

  constructor(
    parts: { readonly store: HeldStore; readonly deadlines: Deadlines },
    holder: Holder,
    usage: UsageTab,
  ) {
    this.#parts = parts
    this.#holder = holder
    this.#usage = usage
  }

  write<K extends HolderWrite>(operation: Write<K>): Promise<Taken<K> | undefined> {
    return this.#ask(operation, (outcome) => this.heard<K>(outcome))
  }

  /**
   * Sends a write that may come after the end of the lease: an answer that reports the end changes nothing.
   */
  send<K extends HolderWrite>(operation: Write<K>): Promise<OutcomeOf<K>> {
    return this.#ask(operation, (outcome) => outcome)
  }

  /** The one place where the store's `stale` becomes a lost lease. */
  heard<K extends HolderWrite>(outcome: OutcomeOf<K>): Taken<K> | undefined {
    if (!isStale(outcome)) return outcome as Taken<K>
    this.#holder.lose()
    return undefined
  }

  get mayHaveSlept(): boolean {
    const { store } = this.#parts
    return store.mayHaveSlept() && store.timesSlept() !== this.#knownSince
  }

  get timesSlept(): number {
    return this.#parts.store.timesSlept()
  }

  async confirm(): Promise<void> {
    let asked: number
    do {
      asked = this.timesSlept
      await this.write({ kind: 'appendOutput', leaseId: this.#holder.claim.leaseId, chunks: [] })
    } while (this.#holder.stopped === undefined && this.timesSlept !== asked)
  }

  #ask<K extends HolderWrite, T>(operation: Write<K>, answer: (outcome: OutcomeOf<K>) => T): Promise<T> {
    const asked = this.timesSlept
    const answered = (outcome: OutcomeOf<K>) => {
      // A wait stores no charges: what is owed stays on the tab until a write ends the pass.
      if (operation.kind !== 'suspend' && 'charged' in operation && isStale(outcome))
        this.#usage.owe(operation.charged)
      if (fenceOf(outcome) === 'ok') this.#knownSince = asked
      return answer(outcome)
    }
    return this.#parts.store
      .write(operation)
      .then(answered, (error: unknown) => this.#insist(operation, error).then(answered))
  }

  #insist<K extends HolderWrite>(operation: Write<K>, first: unknown): Promise<OutcomeOf<K>> {
    return insist(this.#parts, operation, first, () => this.#holder.stopped?.kind !== 'lost')
  }
}

function isStale(outcome: OutcomeOf<HolderWrite>): boolean {
  return fenceOf(outcome) === 'stale'
}

/** The fence's answer to a write; undefined for a write that it lets pass. */
function fenceOf(outcome: OutcomeOf<HolderWrite>): unknown {
  return typeof outcome === 'object' && 'fenced' in outcome ? outcome.fenced : outcome
}

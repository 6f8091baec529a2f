import { decode, describeError, type OutcomeOf, type Settlement } from '@ku0/agent-runtime-core'
import type { Heartbeat } from '../api/profiles.ts'
import type { LeaseWriter } from '../execution/lease-writer.ts'
import type { Parts } from '../execution/parts.ts'
import type { ProfileWatch } from '../lease/watch.ts'
import { readHeartbeat } from '../terms/heartbeat.ts'
import type { Dues } from './dues.ts'
import type { Ask, ToRunner } from './words.ts'

/** Answers what a runner asks on behalf of its task: the store's port, heartbeats, and what children are submitted with. */
export class Answers {
  /** The store has the end of the pass from the runner. */
  isSettled = false
  readonly #attempt: Asked
  readonly #dues: Dues
  readonly #onSettling: (settlement: Settlement) => void
  readonly #open = new Set<Promise<void>>()

  constructor(attempt: Asked, dues: Dues, onSettling: (settlement: Settlement) => void) {
    this.#attempt = attempt
    this.#dues = dues
    this.#onSettling = onSettling
  }

  take(runner: { say(word: ToRunner): void }, id: number, ask: Ask): void {
    const answered = this.#answer(ask).then(
      (outcome) => runner.say({ kind: 'answer', id, outcome }),
      (error: unknown) => runner.say({ kind: 'answer', id, error: describeError(error) }),
    )
    this.#open.add(answered)
    void answered.then(() => this.#open.delete(answered))
  }

  /** Resolves when everything that was asked has its answer. */
  async quiet(): Promise<void> {
    await Promise.all(this.#open)
  }

  async #answer(ask: Ask): Promise<unknown> {
    const { values, prepareChild } = this.#attempt.parts
    switch (ask.call) {
      case 'write':
        return this.#write(ask.it as unknown as Parameters<Parts['store']['write']>[0])
      case 'read':
        return this.#attempt.parts.store.read(ask.it as unknown as Parameters<Parts['store']['read']>[0])
      case 'heartbeat':
        return this.#heartbeat(decode(ask.report) as Heartbeat)
      case 'prepare': {
        const { input, options } = values.decode(ask.rest) as { input?: unknown; options?: never }
        return prepareChild({ task: ask.task as never, input, options }, ask.place, ask.parentType)
      }
    }
  }

  async #write(operation: Parameters<Parts['store']['write']>[0]): Promise<unknown> {
    if (operation.kind === 'settle') this.#onSettling(operation.settlement)
    const outcome: unknown = await this.#attempt.parts.store.write(operation)
    this.#dues.recorded(operation, outcome)
    if (operation.kind === 'settle') this.isSettled = true
    return outcome
  }

  async #heartbeat(report: Heartbeat): Promise<OutcomeOf<'progress'>> {
    const { watch, parts, claim, lease } = this.#attempt
    if (watch !== undefined) return watch.heartbeat(report)
    const { progress } = readHeartbeat(report, parts.config.maxInlineBytes)
    if (progress === undefined) return 'ok'
    return lease.send({ kind: 'progress', leaseId: claim.leaseId, progress })
  }
}

interface Asked {
  readonly claim: { readonly leaseId: string; readonly taskId: string }
  readonly parts: Parts
  readonly lease: Pick<LeaseWriter, 'send'>
  readonly watch: ProfileWatch | undefined
}

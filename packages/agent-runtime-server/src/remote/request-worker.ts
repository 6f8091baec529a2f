import {
  type Claim,
  type Interest,
  type LeaseNotice,
  type OutcomeOf,
  RuntimeError,
  type Timer,
  type Write,
} from '@ku0/agent-runtime-core'
import { refusal } from '../problem/problem.ts'
import type { Caller } from '../access/caller.ts'
import { type HostEnd, type SessionEnd, silentMs } from './ends.ts'
import { OwnWork } from './own-work.ts'

/** A write of a holder under its lease. */
export type LeaseWrite = Extract<
  Write,
  {
    readonly kind: 'recordStep' | 'startStep' | 'failStep' | 'appendOutput' | 'suspend' | 'settle' | 'release'
  }
>

/** A live lease. Its claim is unknown to a server that was started after the task was given. */
interface Held {
  readonly taskId: string
  readonly claim: Claim | undefined
  yields: boolean
}

/** A lease that ended while its holder did not know. */
interface Ended {
  readonly notice: LeaseNotice
  readonly at: number
}

/**
 * A worker that speaks in requests. The server can find out again all that it remembers of it: its row and its leases are in the store, and each of
 * its requests says what it holds. Source: `docs/decisions/0042-workers-in-other-languages.md`.
 */
export class RequestWorker implements SessionEnd {
  readonly workerId: string
  readonly caller: Caller
  readonly capacity: number
  readonly types: readonly string[]
  readonly name: string
  readonly interest: Interest = { types: [], tasks: [] }
  readonly work = new OwnWork()
  readonly #host: HostEnd
  readonly #onSilent: () => void
  readonly #live = new Map<string, Held>()
  readonly #ended = new Map<string, Ended>()
  /** The calls above this one are new. A server that was started meanwhile knows none. */
  #lastCall: number
  #poll: PromiseWithResolvers<void> | undefined
  #heardAt = 0
  #watch: Timer | undefined
  #isOver = false

  constructor(
    host: HostEnd,
    given: { workerId: string; caller: Caller; capacity: number; types: readonly string[]; line: string },
    wasKnown: boolean,
    onSilent: () => void,
  ) {
    this.#host = host
    this.workerId = given.workerId
    this.caller = given.caller
    this.capacity = given.capacity
    this.types = given.types
    this.name = given.line
    this.#lastCall = wasKnown ? Number.POSITIVE_INFINITY : 0
    this.#onSilent = onSilent
    this.work.addWorker(given.workerId)
    this.stay()
    this.#arm()
    // It is there, and wants nothing yet: so its leases are renewed.
    host.lines.demand(given.workerId, 0, 0)
  }

  /** A lease that it holds, as the store says. */
  holds(leaseId: string, taskId: string, yields: boolean): void {
    if (!this.#live.has(leaseId)) this.#live.set(leaseId, { taskId, claim: undefined, yields })
  }

  claimed(claim: Claim): void {
    const { leaseId, taskId, yields = false } = claim
    this.#live.set(leaseId, { taskId, claim, yields })
    this.#poll?.resolve()
  }

  noticed(notice: LeaseNotice): void {
    const held = this.#live.get(notice.leaseId)
    if (held === undefined) return
    if (notice.verdict === 'yield') {
      held.yields = true
      return
    }
    this.#live.delete(notice.leaseId)
    this.#ended.set(notice.leaseId, { notice, at: this.#now() })
  }

  /** It was heard of: its leases are renewed from now on for a while. */
  stay(): void {
    this.#heardAt = this.#now()
  }

  /**
   * Waits for tasks. Tasks that it was given and does not hold, as far as it knows, are given again: the answer with them was lost. One that
   * this server cannot give again goes back to the queue.
   */
  async claims(held: ReadonlySet<string>, waitMs: number, signal: AbortSignal): Promise<readonly Claim[]> {
    await this.#forgetBut(held)
    await this.#giveBack(held)
    this.#supersede()
    const ready = () => this.#unheard(held)
    if (ready().length > 0 || this.#isOver) return ready()
    const poll = Promise.withResolvers<void>()
    this.#poll = poll
    const timer = this.#host.environment.timers.after(waitMs, poll.resolve)
    signal.addEventListener('abort', () => poll.resolve(), { once: true })
    if (signal.aborted) poll.resolve()
    this.#demand()
    await poll.promise
    timer.cancel()
    // A later poll has stated its own demand.
    if (this.#poll !== poll) return []
    this.#poll = undefined
    this.stay()
    if (!this.#isOver) this.#demand()
    // A task that was given to somebody who is gone is given again by the next poll.
    return signal.aborted ? [] : ready()
  }

  /** The facts about the leases that a holder says it holds. */
  async news(
    held: ReadonlySet<string>,
  ): Promise<readonly Pick<LeaseNotice, 'leaseId' | 'verdict' | 'reason'>[]> {
    await this.#forgetBut(held)
    return [...held].flatMap((leaseId) => {
      const ended = this.#ended.get(leaseId)?.notice
      if (ended !== undefined)
        return [
          {
            leaseId,
            verdict: ended.verdict,
            ...(ended.reason === undefined ? {} : { reason: ended.reason }),
          },
        ]
      const live = this.#live.get(leaseId)
      if (live === undefined) return [{ leaseId, verdict: 'lost' as const }]
      return live.yields ? [{ leaseId, verdict: 'yield' as const }] : []
    })
  }

  /** The task of a live lease. Throws `lease_lost` for every other one. */
  taskOf(leaseId: string): string {
    const held = this.#live.get(leaseId)
    if (held === undefined) throw lost(leaseId)
    return held.taskId
  }

  /** Writes under a lease; the call with the same number is done once, and answered as the first time. Throws `lease_lost` once the lease is over. */
  async write<Operation extends LeaseWrite>(
    operation: Operation,
    call: number,
  ): Promise<OutcomeOf<Operation['kind']>> {
    this.stay()
    const { leaseId } = operation
    const again = call <= this.#lastCall
    if (!again) this.#lastCall = call
    const outcome = (await this.#host.lines.write(
      this.#live.has(leaseId) ? operation : { ...operation, leaseId: NO_LEASE },
      { line: this.name, seq: call, acked: Math.max(0, call - KEPT_CALLS), ...(again ? { again } : {}) },
    )) as OutcomeOf<Operation['kind']>
    if (this.#isOverBy(operation, outcome)) throw lost(leaseId)
    return outcome
  }

  /** The same for a write that its server makes under the lease; `stale` is among its outcomes. */
  async writeForIt<Operation extends LeaseWrite | Write<'spawn'>>(
    operation: Operation,
  ): Promise<OutcomeOf<Operation['kind']>> {
    const outcome = (await this.#host.store.write(operation)) as OutcomeOf<Operation['kind']>
    this.#isOverBy(operation, outcome)
    return outcome
  }

  /** Nothing is waited for any more. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#watch?.cancel()
    this.#poll?.resolve()
  }

  /** Whether the lease was over before the write. One that it has ended is let go. */
  #isOverBy({ kind, leaseId }: LeaseWrite | Write<'spawn'>, outcome: unknown): boolean {
    const parts = typeof outcome === 'object' && outcome !== null ? outcome : {}
    const wasOver = ('fenced' in parts ? parts.fenced : outcome) === 'stale'
    const isOver =
      kind === 'settle' || kind === 'release' || ('suspended' in parts && parts.suspended === true)
    if (wasOver || isOver) {
      const wasHeld = this.#live.delete(leaseId)
      if (wasHeld && this.#poll !== undefined && !this.#isOver) this.#demand()
    }
    return wasOver
  }

  /** A worker has one poll: an earlier one gets nothing more. */
  #supersede(): void {
    if (this.#poll === undefined) return
    this.#poll.resolve()
    this.#poll = undefined
    this.#demand()
  }

  /** While it polls it wants tasks for its free slots, and otherwise none. A handler that has to stop has its slot until it is let go. */
  #demand(): void {
    const taken = this.#live.size + this.#ended.size
    const free = this.#poll === undefined ? 0 : Math.max(0, this.capacity - taken)
    this.#host.lines.demand(this.workerId, free, 0)
  }

  #now(): number {
    return this.#host.environment.clock.monotonic()
  }

  #unheard(held: ReadonlySet<string>): Claim[] {
    return [...this.#live].flatMap(([leaseId, { claim }]) =>
      claim === undefined || held.has(leaseId) ? [] : [claim],
    )
  }

  /** Leases that are over, and that it has released. The store waits for the message that the handler of a canceled task has stopped. */
  async #forgetBut(held: ReadonlySet<string>): Promise<void> {
    this.stay()
    const gone = [...this.#ended].filter(([leaseId]) => !held.has(leaseId))
    for (const [leaseId] of gone) this.#ended.delete(leaseId)
    await Promise.all(
      gone
        .filter(([, { notice }]) => notice.verdict !== 'lost')
        .map(([leaseId, { at }]) => {
          const afterMs = Math.max(0, this.#now() - at)
          return this.#host.store.write({ kind: 'abortSettled', leaseId, how: 'acknowledged', afterMs })
        }),
    )
  }

  async #giveBack(held: ReadonlySet<string>): Promise<void> {
    const strange = [...this.#live].filter(
      ([leaseId, { claim }]) => claim === undefined && !held.has(leaseId),
    )
    for (const [leaseId] of strange) this.#live.delete(leaseId)
    await Promise.all(
      strange.map(([leaseId]) => this.#host.store.write({ kind: 'release', leaseId, reason: 'drained' })),
    )
  }

  #arm(): void {
    const limit = silentMs(this.#host.lines.config.leaseTtlMs)
    const armedAt = this.#now()
    this.#watch = this.#host.environment.timers.after(limit, () => {
      const now = this.#now()
      // A server that slept could not hear. Who waits for a task and holds none has nothing to renew.
      if (now - armedAt > limit * 1.5 || (this.#poll !== undefined && this.#live.size === 0))
        this.#heardAt = now
      if (now - this.#heardAt >= limit) this.#onSilent()
      else this.#arm()
    })
  }
}

function lost(leaseId: string) {
  return new RuntimeError(
    'lease_lost',
    `lease ${leaseId.slice(0, 100)} is not one of this worker, or it is over: stop the handler, and ask for claims`,
  )
}

/** The answer for a worker that is not there. */
export function noWorker(workerId: string) {
  return refusal(
    'no_such_worker',
    `worker ${workerId.slice(0, 100)} is not registered with this token, or was silent for too long: register again`,
  )
}

/** How many of a worker's last calls are answered again. */
const KEPT_CALLS = 64
/** No lease has this id. */
const NO_LEASE = 'none'

import {
  callOf,
  describeError,
  isA,
  isRetryWait,
  type OpenWait,
  RuntimeError,
  type WaitRecord,
  type WaitRequest,
} from '@ku0/agent-runtime-core'
import type { Dependant, Host } from '../host.ts'
import type { Deadline } from '../host.ts'
import type { Gate } from '../pass/gate.ts'
import type { Taken } from '../host.ts'
import { type Call, isWithin, type Member, type Scope, silentIn } from '../pass/scope.ts'

/** A wait that a pass asks for, with its two callbacks. One of them is called, once. */
export interface Wait {
  readonly request: WaitRequest
  readonly scope: Scope
  readonly over: (record: WaitRecord) => void
  readonly refuse: (reason: Error) => void
  /** For an approval: its caller's view of it. */
  readonly question?: Call
}

/** What the waits of a pass need from the rest of it. */
export interface WaitingPass {
  /** While running work is counted that ends by itself, the pass goes on. */
  readonly gate: Pick<Gate, 'isBusy' | 'resume'>
  /** It is being found out whether code and history differ: until then nothing is requested. */
  readonly isHeld: boolean
  /** A wait has ended that the history does not record yet. */
  wentLive(): void
}

/**
 * The open waits of one pass. While steps run, the waits stay open beside them. When nothing else runs, the
 * pass ends and the task waits without a slot. The store decides which waits have ended. Source:
 * `docs/semantics.md 12.3, 12.4`.
 */
export class Waits implements Dependant {
  readonly #attempt: Host
  readonly #pass: WaitingPass
  /** The waits that earlier passes left open. */
  readonly #open: Map<string, OpenWait>
  readonly #pending = new Map<string, Pending>()
  /** The number of waits for each limit: waits for children have a limit of their own. */
  readonly #limited = { maxWaits: 0, maxBackOffs: 0 }
  /** Waits that ended before the handler asked for them in this pass. */
  readonly #early = new Map<string, WaitRecord>()
  #asking: 'whether to end' | 'while staying' | undefined
  #look: { readonly at: number; readonly deadline: Deadline } | undefined
  /** When to ask the store again while the pass stays, by the monotonic clock. */
  #askAgainAt = 0
  #isClosed = false

  constructor(attempt: Host, pass: WaitingPass, open: Map<string, OpenWait>) {
    this.#attempt = attempt
    this.#pass = pass
    this.#open = open
  }

  /**
   * The store was asked to end the pass and has not answered yet: nothing may start that the end would cut
   * off.
   */
  get isEnding(): boolean {
    return this.#asking === 'whether to end'
  }

  /** Throws `limit_exceeded` at `maxWaits` or `maxBackOffs`; waits for children are not counted. */
  add(wait: Wait): void {
    const limit = limitOf(wait)
    if (limit !== undefined) {
      const most = this.#attempt.parts.config[limit]
      if (this.#limited[limit] >= most) {
        const { key } = wait.request
        const what =
          limit === 'maxWaits'
            ? `wait '${key}': a task has at most maxWaits ${most} open waits`
            : `'${callOf(key)}' cannot wait for its next try: a task has at most maxBackOffs ${most} such waits`
        throw new RuntimeError('limit_exceeded', what, { details: { key: callOf(key), [limit]: most } })
      }
      this.#limited[limit] += 1
    }
    if (this.#pending.size === 0) this.#attempt.keep(this)
    const pending: Pending = {
      wait,
      begunAt: this.#monotonic(),
      asked: false,
      isOnItsWay: false,
      dueAt: undefined,
      abandon: (reason) => this.#end(pending)?.refuse(reason),
      ...(wait.question === undefined ? {} : { question: wait.question }),
    }
    this.#pending.set(wait.request.key, pending)
    wait.scope.keep(pending)
    // One turn later, so that the waits that the handler starts side by side are all registered.
    this.#lookIn(0)
  }

  /** How a wait of an earlier pass ended in this pass, before the handler asked for it. */
  early(key: string): WaitRecord | undefined {
    return this.#early.get(key)
  }

  /** The keys of the open waits in these scopes. */
  keysWithin(scopes: ReadonlySet<Scope>): string[] {
    return [...this.#pending].filter(([, { wait }]) => isWithin(wait.scope, scopes)).map(([key]) => key)
  }

  /** Nobody waits for it in this pass any more. */
  forget(key: string): void {
    const pending = this.#pending.get(key)
    if (pending !== undefined) this.#end(pending)
  }

  /** Nothing else runs any more. Code that awaits the last end may still start something in this turn. */
  idle(): void {
    if (this.#pending.size === 0) return
    this.#cancelLook()
    this.#lookIn(0)
  }

  /** The handler has returned: its task ends, however long that takes, and waits for nothing any more. */
  close(): void {
    this.#isClosed = true
    this.#cancelLook()
  }

  /** The store learns of all of them now at the latest: the pass is about to end in another way. */
  keepOpen(): void {
    // A wait that was sent and not answered is not sent again: if the store resolves it, it would begin anew.
    const fresh = [...this.#pending.values()].filter(({ asked, isOnItsWay }) => !asked && !isOnItsWay)
    if (fresh.length > 0) this.#ask('while staying', fresh)
  }

  /** The attempt has to stop, or has ended. */
  stop(reason: Error): void {
    this.#cancelLook()
    for (const pending of this.#pending.values()) this.#end(pending)?.refuse(reason)
  }

  #lookIn(delayMs: number): void {
    const at = this.#monotonic() + delayMs
    if (this.#look !== undefined && this.#look.at <= at) return
    this.#cancelLook()
    const deadline = this.#attempt.parts.deadlines.after(delayMs, () => {
      this.#look = undefined
      this.#lookNow()
    })
    this.#look = { at, deadline }
  }

  #cancelLook(): void {
    this.#look?.deadline.cancel()
    this.#look = undefined
  }

  #lookNow(): void {
    if (this.#isClosed || this.#pending.size === 0 || this.#asking !== undefined || this.#pass.isHeld) return
    if (!this.#pass.gate.isBusy) return this.#ask('whether to end')
    const leftMs = this.#askAgainAt - this.#monotonic()
    if (leftMs <= 0 || [...this.#pending.values()].some(({ asked }) => !asked)) this.#ask('while staying')
    else this.#lookIn(leftMs)
  }

  #ask(asking: 'whether to end' | 'while staying', all = [...this.#pending.values()]): void {
    this.#asking = asking
    for (const pending of all) pending.isOnItsWay = true
    this.#attempt.lease
      .write({
        kind: 'suspend',
        leaseId: this.#attempt.claim.leaseId,
        waits: all.map((pending) => this.#requestOf(pending)),
        stay: asking === 'while staying',
        ...this.#attempt.usage.owed,
      })
      .then(
        (outcome) => this.#answered(all, outcome),
        (error: unknown) => this.#unanswered(all, error),
      )
  }

  /** A wait's time counts from its call, however long the store takes to learn of it. */
  #requestOf({ wait: { request }, begunAt }: Pending): WaitRequest {
    if (request.delayMs === undefined) return request
    return { ...request, delayMs: Math.max(0, request.delayMs - (this.#monotonic() - begunAt)) }
  }

  #answered(asked: readonly Pending[], outcome: Taken<'suspend'> | undefined): void {
    this.#asking = undefined
    for (const pending of asked) pending.isOnItsWay = false
    if (outcome?.suspended === true) {
      this.#tellCut()
      this.#attempt.suspend()
    } else if (outcome !== undefined) {
      for (const pending of asked) pending.asked = true
      for (const record of outcome.resolved) this.#resolve(record)
      this.#planAsking()
      this.idle()
    }
    this.#pass.gate.resume()
  }

  /**
   * What a branch awaits outside of `ctx` does not keep the pass alive: the log shows where it was cut off.
   */
  #tellCut(): void {
    const [pending] = this.#pending.values()
    let scope = pending?.wait.scope
    while (scope?.parent !== undefined) scope = scope.parent
    const branches = scope === undefined ? [] : silentIn(scope)
    if (branches.length === 0) return
    this.#attempt.log(
      'debug',
      'the task waits: code of its branches that still runs outside of steps is cut off',
      {
        branches: branches.slice(0, MAX_TOLD),
        count: branches.length,
      },
    )
  }

  #resolve(record: WaitRecord): void {
    this.#open.delete(record.key)
    const pending = this.#pending.get(record.key)
    if (pending === undefined) {
      this.#early.set(record.key, record)
      return
    }
    this.#pass.wentLive()
    this.#end(pending)?.over(record)
  }

  #unanswered(asked: readonly Pending[], error: unknown): void {
    this.#asking = undefined
    const reason = isA(error, Error) ? error : new Error(describeError(error).message)
    for (const pending of asked) this.#end(pending)?.refuse(reason)
    this.idle()
    this.#pass.gate.resume()
  }

  /** Waits that are due are requested then, signals every {@link SIGNAL_POLL_MS}. */
  #planAsking(): void {
    const { clock } = this.#attempt.parts.environment
    let nextMs = Number.POSITIVE_INFINITY
    for (const pending of this.#pending.values()) {
      pending.dueAt ??= this.#dueAtOf(pending, clock.now())
      const leftMs = pending.dueAt === undefined ? Number.POSITIVE_INFINITY : pending.dueAt - clock.now()
      nextMs = Math.min(nextMs, leftMs > 0 ? leftMs : SIGNAL_POLL_MS)
      if (pending.wait.request.kind !== 'timer') nextMs = Math.min(nextMs, SIGNAL_POLL_MS)
    }
    this.#askAgainAt = this.#monotonic() + nextMs
  }

  /** Accurate enough to decide when to ask: the store decides what is due. */
  #dueAtOf(pending: Pending, now: number): number | undefined {
    const { key, dueAt, delayMs } = this.#requestOf(pending)
    const open = this.#open.get(key)
    if (open !== undefined) return open.dueAt
    return dueAt ?? (delayMs === undefined ? undefined : Math.ceil(now + delayMs))
  }

  /** Removes the wait and returns it, if it was still pending. */
  #end(pending: Pending): Wait | undefined {
    if (!this.#pending.delete(pending.wait.request.key)) return undefined
    const limit = limitOf(pending.wait)
    if (limit !== undefined) this.#limited[limit] -= 1
    pending.wait.scope.drop(pending)
    if (this.#pending.size === 0) {
      this.#cancelLook()
      this.#attempt.drop(this)
    }
    return pending.wait
  }

  #monotonic(): number {
    return this.#attempt.parts.environment.clock.monotonic()
  }
}

interface Pending extends Member {
  readonly wait: Wait
  readonly begunAt: number
  /** The store knows about it. */
  asked: boolean
  /** It was sent to the store, which has not answered. */
  isOnItsWay: boolean
  /** Epoch ms; undefined if it is not known yet, or never due. */
  dueAt: number | undefined
}

/** The limit that counts this kind of wait. */
function limitOf({ request: { kind, key } }: Wait): 'maxWaits' | 'maxBackOffs' | undefined {
  if (kind === 'child') return undefined
  return isRetryWait(key) ? 'maxBackOffs' : 'maxWaits'
}

/** The most keys that a log line lists. */
const MAX_TOLD = 10
/** How often a pass that stays checks for signals: nothing notifies it. */
const SIGNAL_POLL_MS = 250

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

/** A wait that a pass asks for, and who hears how it ends. One of the two is called, once. */
export interface Wait {
  readonly request: WaitRequest
  readonly scope: Scope
  readonly over: (record: WaitRecord) => void
  readonly refuse: (reason: Error) => void
  /** Of an approval: what its caller has of it. */
  readonly question?: Call
}

/** What the waits of a pass need to know of the rest of it. */
export interface WaitingPass {
  /** While it counts something under way that ends by itself, the pass goes on. */
  readonly gate: Pick<Gate, 'isBusy' | 'resume'>
  /** It is being found out whether code and history differ: until then nothing is asked for. */
  readonly isHeld: boolean
  /** A wait was over, which the history does not tell yet. */
  wentLive(): void
}

/**
 * The open waits of one pass. While steps run they are kept open beside them; when nothing else is under way the pass ends, and
 * the task waits without a slot. The store decides which of them are over. Source: `docs/semantics.md 12.3, 12.4`.
 */
export class Waits implements Dependant {
  readonly #attempt: Host
  readonly #pass: WaitingPass
  /** What earlier passes left open. */
  readonly #open: Map<string, OpenWait>
  readonly #pending = new Map<string, Pending>()
  /** How many count towards each limit: children have one of their own. */
  readonly #limited = { maxWaits: 0, maxBackOffs: 0 }
  /** What ended in this pass before the handler came to it. */
  readonly #early = new Map<string, WaitRecord>()
  #asking: 'whether to end' | 'while staying' | undefined
  #look: { readonly at: number; readonly deadline: Deadline } | undefined
  /** When the store is to be asked again while the pass stays, by the monotonic clock. */
  #askAgainAt = 0

  constructor(attempt: Host, pass: WaitingPass, open: Map<string, OpenWait>) {
    this.#attempt = attempt
    this.#pass = pass
    this.#open = open
  }

  /** The store has been asked to end the pass, and has not answered yet: nothing may start that the end would cut. */
  get isEnding(): boolean {
    return this.#asking === 'whether to end'
  }

  /** Throws `limit_exceeded` when there are `maxWaits` or `maxBackOffs`; those for children are not counted. */
  add(wait: Wait): void {
    const limit = limitOf(wait)
    if (limit !== undefined) {
      const most = this.#attempt.parts.config[limit]
      if (this.#limited[limit] >= most) {
        const { key } = wait.request
        const what =
          limit === 'maxWaits'
            ? `wait '${key}': a task has at most maxWaits ${most} open waits`
            : `'${callOf(key)}' is to be tried again: a task has at most maxBackOffs ${most} waits for that`
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
    // One turn later, so that what the handler starts side by side is there by then.
    this.#lookIn(0)
  }

  /** How a wait of an earlier pass ended in this one, when nobody was waiting yet. */
  early(key: string): WaitRecord | undefined {
    return this.#early.get(key)
  }

  /** The keys of what is open in these scopes. */
  keysWithin(scopes: ReadonlySet<Scope>): string[] {
    return [...this.#pending].filter(([, { wait }]) => isWithin(wait.scope, scopes)).map(([key]) => key)
  }

  /** Nobody waits for it in this pass any more. */
  forget(key: string): void {
    const pending = this.#pending.get(key)
    if (pending !== undefined) this.#end(pending)
  }

  /** Nothing else is under way any more. Whoever heard of the last end may start something in the turn that it stands in. */
  idle(): void {
    if (this.#pending.size === 0) return
    this.#cancelLook()
    this.#lookIn(0)
  }

  /** The store hears of all of them at the latest now: the pass is about to end in another way. */
  keepOpen(): void {
    // What is on its way is not asked again: what the store resolves of it would begin anew.
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
    if (this.#pending.size === 0 || this.#asking !== undefined || this.#pass.isHeld) return
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

  /** A wait's time counts from its call, however long the store takes to hear of it. */
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

  /** What a branch awaits beside `ctx` does not keep the pass alive: whoever wonders where it went finds it in the log. */
  #tellCut(): void {
    const [pending] = this.#pending.values()
    let scope = pending?.wait.scope
    while (scope?.parent !== undefined) scope = scope.parent
    const branches = scope === undefined ? [] : silentIn(scope)
    if (branches.length === 0) return
    this.#attempt.log('debug', 'the task waits: what branches do outside of steps is cut off', {
      branches: branches.slice(0, MAX_TOLD),
      count: branches.length,
    })
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

  /** What is due is asked for then, signals every {@link SIGNAL_POLL_MS}. */
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

  /** Near enough for asking: the store has the last word. */
  #dueAtOf(pending: Pending, now: number): number | undefined {
    const { key, dueAt, delayMs } = this.#requestOf(pending)
    const open = this.#open.get(key)
    if (open !== undefined) return open.dueAt
    return dueAt ?? (delayMs === undefined ? undefined : Math.ceil(now + delayMs))
  }

  /** The wait, if it was pending still. */
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
  /** The store knows of it. */
  asked: boolean
  /** The store is asked about it, and has not answered. */
  isOnItsWay: boolean
  /** Epoch ms; undefined as long as nobody knows, or for ever. */
  dueAt: number | undefined
}

/** What bounds how many waits of this sort are open. */
function limitOf({ request: { kind, key } }: Wait): 'maxWaits' | 'maxBackOffs' | undefined {
  if (kind === 'child') return undefined
  return isRetryWait(key) ? 'maxBackOffs' : 'maxWaits'
}

/** A line with more than that is read by nobody. */
const MAX_TOLD = 10
/** How often a pass that stays looks whether a signal has come: nobody tells it. */
const SIGNAL_POLL_MS = 250

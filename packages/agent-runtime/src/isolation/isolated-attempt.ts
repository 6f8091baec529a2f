import {
  type Claim,
  describeError,
  type HandlerEnd,
  workedOnBy,
  type PastFailures,
  RuntimeError,
  type Settlement,
} from '@ku0/agent-runtime-core'
import type { UsageProbe } from '../api/profiles.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import { readTerms } from '../durable/child/submission-data.ts'
import type { Dependant } from '../durable/host.ts'
import { UsageTab } from '../durable/usage-tab.ts'
import type { AttemptObserver } from '../execution/attempt.ts'
import { LeaseWriter } from '../execution/lease-writer.ts'
import { holdToLimits, type Limited } from '../execution/limits.ts'
import { type Parts, timeToStop } from '../execution/parts.ts'
import type { Running } from '../execution/running.ts'
import { settle } from '../execution/settle.ts'
import { canceled, exceeded, lost, overBudget, type Stop, shutDown, timedOut } from '../lease/cancellation.ts'
import type { Deadline } from '../lease/deadlines.ts'
import type { ProfileWatch } from '../lease/watch.ts'
import { Answers } from './answers.ts'
import { Dues } from './dues.ts'
import { endOfRunner } from './end-of-runner.ts'
import type { LineEars, RunnerEnd, RunnerSpec } from './line.ts'
import type { Runner } from './runner.ts'
import type { Runners } from './runners.ts'
import { stopOf } from './stop-of.ts'
import type { FromRunner, RunOrder, StopWord } from './words.ts'

/**
 * A claim that a runner runs: the pass itself is there, with its context, its writes and its hooks; here is what must not depend
 * on a handler that may never return: its time limit, its profile, its grace, and its end. Writes of the runner go to the store as
 * they are, and the store's fence decides. Source: `docs/decisions/0033-isolation.md`.
 */
export class IsolatedAttempt implements Running, Limited, LineEars {
  readonly claim: Claim
  readonly parts: Parts
  readonly lease: LeaseWriter
  stopped: Stop | undefined
  handlerEnded = false
  settledAs: 'completed' | 'failed' | undefined
  watch: ProfileWatch | undefined
  past: PastFailures = {}
  readonly #definition: TaskDefinition
  readonly #observer: AttemptObserver
  readonly #runners: Runners
  readonly #spec: RunnerSpec
  readonly #order: Omit<RunOrder, 'claim'>
  #runner: Runner | undefined
  /** Its place among those that wait for a runner. */
  #ticket: Deadline | undefined
  #yieldAsked = false
  /** What the handler has used and no write has recorded. */
  readonly #dues = new Dues()
  /** What the runner asks. */
  readonly #answers: Answers
  #isTold = false
  #isKilled = false
  #isGone = false
  #stoppedAt = 0
  #limit: Deadline | undefined
  #grace: Deadline | undefined
  /** What is expected of the runner next. */
  #patience: Deadline | undefined
  readonly #dependants = new Set<Dependant>()
  /** Writes of this side that the store has not answered. */
  readonly #writes = new Set<Promise<void>>()

  constructor(
    parts: Parts,
    claim: Claim,
    definition: TaskDefinition,
    deps: {
      readonly observer: AttemptObserver
      readonly runners: Runners
      readonly spec: RunnerSpec
      readonly order: Omit<RunOrder, 'claim'>
    },
  ) {
    this.parts = parts
    this.claim = claim
    this.#definition = definition
    this.#observer = deps.observer
    this.#runners = deps.runners
    this.#spec = deps.spec
    this.#order = deps.order
    this.lease = new LeaseWriter(parts, this, new UsageTab())
    this.#answers = new Answers(this, this.#dues, (settlement) => this.#note(settlement))
  }

  /** Gives the claim to a runner. Returns at once; the observer is notified of the end. */
  start(): void {
    if (!this.claim.replays || this.#definition.recovery === undefined) return this.#seekRunner()
    // However its runner ends, this side knows what the table has decided.
    void this.#seekWithPast()
  }

  async #seekWithPast(): Promise<void> {
    try {
      this.past = await this.parts.store.read({ kind: 'memos', taskId: this.claim.taskId })
    } catch (error) {
      return this.#refuse({ as: 'interrupted', error: describeError(error) })
    }
    this.#seekRunner()
  }

  #seekRunner(): void {
    if (this.#isGone) return
    this.#ticket = this.#runners.take(this.#spec, (runner) => this.#begin(runner))
  }

  get yieldAsked(): boolean {
    return this.#yieldAsked
  }

  get model(): string | undefined {
    return this.past.model ?? readTerms(this.claim.submission).model
  }

  set yieldAsked(asked: boolean) {
    if (asked && !this.#yieldAsked) this.#runner?.say({ kind: 'yield' })
    this.#yieldAsked = asked
  }

  get isUnsettled(): boolean {
    return this.settledAs !== undefined && this.stopped === undefined
  }

  get closedBy(): Error | undefined {
    if (this.stopped !== undefined) return this.stopped.error
    return this.handlerEnded ? new RuntimeError('step_outside_handler', 'the handler has ended') : undefined
  }

  /** What the task uses, measured from outside. */
  readonly probe: UsageProbe = () => this.#runner?.measure()

  cancel(reason?: string): void {
    this.#taken(canceled(this.claim.taskId, reason), { how: 'cancel', reason })
  }

  lose(cause?: unknown): void {
    const { taskId, leaseId } = this.claim
    if (this.stopped === undefined) this.#tellLost()
    this.#taken(lost(leaseId, taskId, cause), { how: 'lose' })
  }

  fail(reason: string): void {
    this.#taken(overBudget(this.claim.taskId, reason), { how: 'fail', reason })
  }

  timeOut(timeoutMs: number): void {
    this.#taken(timedOut(this.claim.taskId, timeoutMs), { how: 'timeOut', timeoutMs })
  }

  exceed(message: string): void {
    this.#taken(exceeded(message), { how: 'exceed', message })
  }

  shutDown(): void {
    if (this.closedBy !== undefined) return
    this.#write({ kind: 'release', leaseId: this.claim.leaseId, reason: 'drained' })
    this.#taken(shutDown(), { how: 'shutDown' })
  }

  settle(settlement: Settlement): void {
    this.#note(settlement)
    const { leaseId } = this.claim
    this.#write({ kind: 'settle', leaseId, settlement, ...this.#dues.afterEnd(this.#runner) })
  }

  keep(dependant: Dependant): void {
    this.#dependants.add(dependant)
  }

  drop(dependant: Dependant): void {
    this.#dependants.delete(dependant)
  }

  heard(word: FromRunner): void {
    switch (word.kind) {
      case 'taken':
        return this.#expect(LOAD_MS, () => this.#refuse(unloaded(this.#definition.type, this.#spec)))
      case 'loaded':
        return this.#patience?.cancel()
      case 'refused':
        return this.#refuse({ as: 'threw', error: word.error })
      case 'entered':
        return this.#entered()
      case 'stopping':
        return this.#isStopping(word.why)
      case 'charged':
        return this.#dues.charged(word.usage)
      case 'slotFree':
        return this.#endHandler()
      case 'halted':
        return this.#halted(word.why, word.afterMs)
      case 'gone':
        return this.#finish()
      case 'pong':
        return this.#watchTail()
      case 'ask':
        return this.#runner && this.#answers.take(this.#runner, word.id, word.ask)
      case 'announce':
        if (word.type === 'lease.lost') return this.#tellLost()
        return this.parts.announce(word.type, word.taskId, word.seq, word.data)
      case 'log':
        return this.parts.log(word.level, word.message, word.fields, word.author)
      case 'uncaught':
        return
    }
  }

  #entered(): void {
    if (this.stopped !== undefined) return
    this.#limit = holdToLimits(this, this.#definition, readTerms(this.claim.submission))
  }

  /** The thread or process is no more. What it has written counts: its answers are waited for. */
  ended(end: RunnerEnd): void {
    this.#patience?.cancel()
    void this.#answers.quiet().then(() => this.#over(end))
  }

  #over(end: RunnerEnd): void {
    if (this.#isGone) return
    const isHere = !this.handlerEnded && this.stopped === undefined && !this.#answers.isSettled
    if (isHere) {
      const { type } = this.#definition
      const how = endOfRunner(type, this.#spec, end)
      const isLimit = how.as === 'stopped' && how.kind === 'hard_limit'
      settle(this, this.#definition, how, isLimit && this.watch !== undefined ? 'hard' : undefined)
    } else if (this.stopped !== undefined) {
      const afterMs = this.parts.environment.clock.monotonic() - this.#stoppedAt
      const how = this.#isKilled ? 'killed' : 'acknowledged'
      const { leaseId } = this.claim
      this.#write({ kind: 'abortSettled', leaseId, how, afterMs, ...this.#dues.afterEnd(this.#runner) })
      this.#halted(this.stopped.kind, afterMs)
    } else if (!this.#isKilled)
      this.#log('its thread or process ended after its handler had', { how: end.how })
    this.#endHandler()
    this.#finish()
  }

  #begin(runner: Runner): void {
    this.#runner = runner
    runner.begin(this)
    runner.say({ ...this.#order, claim: { ...this.claim, ...(this.#yieldAsked ? { yields: true } : {}) } })
    // What an earlier task left behind may keep a runner from answering.
    if (runner.isWarm) this.#expect(WARM_MS, () => this.#replace(runner))
    else this.#expect(START_MS, () => this.#refuse(unloaded(this.#definition.type, this.#spec)))
  }

  /** Nothing of the task has run: it begins again in a new runner. */
  #replace(runner: Runner): void {
    if (this.stopped !== undefined) return
    runner.rest()
    runner.kill()
    this.#begin(this.#runners.start(this.#spec))
  }

  #expect(ms: number, otherwise: () => void): void {
    this.#patience?.cancel()
    this.#patience = this.parts.deadlines.after(ms, otherwise)
  }

  /** The module cannot run the task, which says nothing of another one that has it. A runner that failed to load it would fail again. */
  #refuse(how: Exclude<HandlerEnd, { as: 'returned' }>): void {
    const isOwn = workedOnBy(this.past) === undefined
    const end: HandlerEnd = isOwn ? how : { as: 'interrupted', error: how.error }
    if (this.stopped === undefined && !this.handlerEnded) settle(this, this.#definition, end)
    this.#endHandler()
    this.#runner?.rest()
    this.#runner?.kill()
    this.#finish()
  }

  /** Its lease has ended, or is being ended by a write that was sent. */
  #taken(stop: Stop, word: StopWord): void {
    if (this.#isGone || this.stopped !== undefined) return
    this.#stop(stop)
    if (this.#runner === undefined) this.#stoppedBefore(stop)
    else this.#runner.say({ kind: 'stop', ...word })
  }

  /** No runner has heard of the task. */
  #stoppedBefore(stop: Stop): void {
    this.#ticket?.cancel()
    this.#write({ kind: 'abortSettled', leaseId: this.claim.leaseId, how: 'acknowledged', afterMs: 0 })
    this.#halted(stop.kind, 0)
    this.#finish()
  }

  /** The runner stops its handler by itself. */
  #isStopping(why: Stop['kind']): void {
    if (this.stopped === undefined && !this.#isGone) this.#stop(stopOf(why, this.claim))
  }

  #stop(stop: Stop): void {
    const { deadlines, environment } = this.parts
    this.stopped = stop
    this.watch?.disarm()
    this.#stoppedAt = environment.clock.monotonic()
    this.#stopDependants(stop.error)
    if (this.handlerEnded) return
    const within = this.parts.shutdownMs === undefined ? 'abortGraceMs' : 'the shutdownMs of its supervisor'
    this.#grace = deadlines.after(timeToStop(this.parts), () => this.#kill(within))
  }

  /** Its handler ignores its signal, or its hooks never return. */
  #kill(within: string): void {
    if (this.#isGone || this.#isKilled) return
    this.#isKilled = true
    const kind = this.stopped?.kind
    this.watch?.settle(kind === 'budget_exceeded' || kind === 'timeout')
    this.#log(`its ${this.#spec.isolation} is ended: it did not stop within ${within}`, {
      reason: kind ?? 'clean-up hooks',
    })
    this.#runner?.kill()
  }

  #endHandler(): void {
    if (this.handlerEnded) return
    this.handlerEnded = true
    this.#grace?.cancel()
    this.#stopDependants(new RuntimeError('step_outside_handler', 'the handler has ended'))
    if (this.watch !== undefined) this.#endWatch(this.watch)
    if (this.#runner !== undefined) this.#runners.isEnding(this.#runner)
    this.#observer.slotFree(this)
    if (this.#runner !== undefined) this.#watchTail()
  }

  /** Hooks have time limits of their own, which a runner keeps that still answers: the time to stop is over. */
  #watchTail(): void {
    const { abortGraceMs } = this.parts.config
    this.#expect(abortGraceMs, () => {
      this.#runner?.say({ kind: 'ping' })
      this.#expect(abortGraceMs, () => this.#kill('abortGraceMs'))
    })
  }

  #endWatch(watch: ProfileWatch): void {
    const kind = this.stopped?.kind
    watch.settle(kind === undefined || kind === 'budget_exceeded' || kind === 'timeout')
    if (kind !== undefined) watch.released(kind === 'canceled' ? 'canceled' : 'ended')
    else watch.released(this.settledAs === 'completed' ? 'completed' : 'failed')
  }

  #stopDependants(reason: Error): void {
    this.#limit?.cancel()
    for (const dependant of this.#dependants) void dependant.stop(reason)
  }

  #halted(kind: Stop['kind'], afterMs: number): void {
    this.#observer.halted(this, { kind, afterMs, leaked: false })
  }

  #finish(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#endHandler()
    this.#patience?.cancel()
    if (this.#runner !== undefined) this.#runners.give(this.#runner)
    if (this.#writes.size === 0) this.#observer.gone(this)
    else void Promise.all(this.#writes).then(() => this.#observer.gone(this))
  }

  #note({ as }: Settlement): void {
    if (as !== 'rate_limited') this.settledAs = as === 'completed' ? 'completed' : 'failed'
  }

  #write(operation: Parameters<LeaseWriter['write']>[0] | Parameters<Parts['store']['write']>[0]): void {
    const written =
      operation.kind === 'abortSettled'
        ? this.parts.store.write(operation)
        : this.lease.write(operation as Parameters<LeaseWriter['write']>[0])
    const heard = Promise.resolve(written)
      .then(() => undefined)
      .catch((error: unknown) =>
        this.#log('the store did not accept a write', { kind: operation.kind, error: describeError(error) }),
      )
    this.#writes.add(heard)
    void heard.then(() => this.#writes.delete(heard))
  }

  /** Once, whichever side finds it first. */
  #tellLost(): void {
    if (this.#isTold) return
    this.#isTold = true
    const { taskId, leaseId, workerId } = this.claim
    this.parts.announce('lease.lost', taskId, 0, { leaseId, workerId })
  }

  #log(message: string, fields: Readonly<Record<string, unknown>>): void {
    const { taskId, type, attempt, leaseId } = this.claim
    this.parts.log('warn', message, { taskId, type, attempt, leaseId, ...fields })
  }
}

/** A warm runner takes an order at once, unless something else runs in it. */
const WARM_MS = 5_000
/** Far above what a start takes: the machine may be overloaded. */
const START_MS = 120_000
const LOAD_MS = 120_000

function unloaded(type: string, { isolation, module }: RunnerSpec): Extract<HandlerEnd, { as: 'threw' }> {
  const message = `the ${isolation} of task '${type}' did not load ${module} within ${LOAD_MS / 1_000} s: the module must export the task and do nothing else when it is loaded`
  return { as: 'threw', error: describeError(new RuntimeError('invalid_config', message)) }
}

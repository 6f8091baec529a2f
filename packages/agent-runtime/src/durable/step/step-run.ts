import {
  describeError,
  encode,
  idempotencyKey,
  type RetryPolicy,
  type Usage,
  type WaitRecord,
  type WaitRequest,
} from '@ku0/agent-runtime-core'
import { StepInDoubt } from '../../api/errors.ts'
import type { RateLimitRule } from '../../api/rate-limit-rule.ts'
import type { StepHandle } from '../../api/task-context.ts'
import { Answer } from '../pass/answer.ts'
import { chargeTry } from './charge.ts'
import { type Doubt, doubtBefore, type DoubtPolicy, doubtRequest, readAnswer } from './doubt.ts'
import type { Start } from '../pass/gate.ts'
import type { Host } from '../host.ts'
import { isThenable } from '../../terms/thenable.ts'
import { insideStep, type Surrounding } from './inside-step.ts'
import type { Pass } from '../pass/pass.ts'
import type { Callee } from '../pass/key-use.ts'
import { delayBefore, keyOf, openRetry, retriesBefore, type Retry } from './retry.ts'
import { LIVE, type Member, type Scope } from '../pass/scope.ts'
import {
  hears,
  moveStep,
  type Step,
  type StepEffect,
  type StepEvent,
  type StepFailure,
  type StepRules,
} from './step-moves.ts'
import { encodeStepResult } from './sdk-result.ts'
import { limitTime, type TimeLimit } from './time-limit.ts'

/** What is known about a step before it runs. */
export interface StepFacts {
  readonly key: string
  readonly position: number
  readonly inputHash: string | undefined
  /** The time limit of each try. */
  readonly timeoutMs: number | undefined
  readonly retry: RetryPolicy | undefined
  /** Undefined if the step may simply run again. */
  readonly inDoubt: DoubtPolicy | undefined
  /** The rule for errors that are refusals of a provider, if the step or its task type has one. */
  readonly rateLimited: RateLimitRule | undefined
  /** Makes of what the function returned what is stored. */
  readonly toStorable: ((result: unknown) => unknown) | undefined
}

/**
 * One call of a step that no memo answers. Its moves decide what comes next; this class does it, and reports
 * the results to the moves. It returns the value that the store holds, or throws the function's last error,
 * and never returns a value once its caller has to stop. Source: `docs/semantics.md 4.4, 7.1-7.7`.
 */
export class StepRun implements StepHandle, Start, Member {
  readonly answer: Answer
  readonly #pass: Pass
  readonly #attempt: Host
  readonly #scope: Scope
  readonly #facts: StepFacts
  readonly #fn: Callee
  readonly #rules: StepRules
  #step: Step
  /** The time limit of the current try. */
  #limit: TimeLimit | undefined
  /** True while it keeps the pass alive. */
  #isCounted = false
  #begunAt = 0

  constructor(pass: Pass, scope: Scope, facts: StepFacts, fn: Callee) {
    const { key, retry, inDoubt, rateLimited } = facts
    const { memos, attempt } = pass
    this.answer = new Answer(scope, 'step', key)
    this.#pass = pass
    this.#attempt = attempt
    this.#scope = scope
    this.#facts = facts
    this.#fn = fn
    const { maxPayloadBytes: maxBytes } = attempt.parts.config
    const encodeResult = (value: unknown) =>
      encodeStepResult(attempt.parts.values, value, { what: `the result of step '${key}'`, maxBytes })
    const rateLimit = (error: unknown) => attempt.limits.in(attempt, error, rateLimited)
    this.#rules = {
      key,
      retry,
      inDoubt,
      verdicts: memos.waits,
      encode: encodeResult,
      decode: attempt.parts.values.decode,
      rateLimit,
    }
    const { retries, limits } = retry === undefined ? noRetries : retriesBefore(memos, key)
    const doubt = doubtBefore(memos, key)
    this.#step = { state: { as: 'ready' }, tried: 0, retries, limits, doubt, verdict: undefined }
  }

  get signal(): AbortSignal {
    return this.#limit?.controller.signal ?? this.#scope.signal
  }

  get idempotencyKey(): string {
    const { key, inputHash } = this.#facts
    const known = this.#pass.memos.effectKeys.get(key)
    if (known !== undefined) return known
    const { claim, parts } = this.#attempt
    const generation = this.#pass.memos.rejections.length
    return idempotencyKey(parts.environment.digest, claim.taskId, key, inputHash ?? null, generation)
  }

  /** Runs the function, unless an earlier pass left the wait before its next try open. */
  begin(): void {
    this.#scope.keep(this)
    const { key, retry } = this.#facts
    const open = retry === undefined ? undefined : openRetry(this.#pass.memos, key, this.#step)
    if (open !== undefined) this.#on({ is: 'resumed', retry: open })
    else if (this.#pass.gate.admits(this)) this.start()
  }

  start(): void {
    this.#hear({ is: 'admitted', mayHaveSlept: this.#attempt.lease.mayHaveSlept })
  }

  /** The handler has to stop, or has ended without waiting for this step. */
  refuse(): void {
    this.#on({ is: 'stopped', reason: this.#scope.closedBy })
  }

  /** The branch that called it has lost: what the function still does is not recorded. */
  abandon(reason: Error): void {
    this.#on({ is: 'stopped', reason })
  }

  charge(usage: Usage): void {
    this.#charge(this.#step.tried, usage)
  }

  #charge(tried: number, usage: Usage): void {
    const { key } = this.#facts
    chargeTry(this.#attempt.usage, this, { key, step: this.#step, tried }, usage)
  }

  /** An effect has produced an event. The caller may have to stop by now. */
  #hear(event: StepEvent): void {
    if (!hears(this.#step, event)) return
    const reason = this.#scope.closedBy
    this.#on(reason === undefined ? event : { is: 'stopped', reason })
  }

  #on(event: StepEvent): void {
    const { step, effects } = moveStep(this.#rules, this.#step, event)
    this.#step = step
    for (const effect of effects) this.#do(effect)
  }

  /** The store, or the pass, refused what the step asked for. */
  readonly #broken = (reason: unknown) => this.#on({ is: 'stopped', reason })

  #do(effect: StepEffect): void {
    switch (effect.do) {
      case 'admit':
        if (this.#pass.gate.admits(this)) this.start()
        return
      case 'enter':
        this.#pass.gate.begin()
        this.#pass.begun()
        this.#isCounted = true
        return
      case 'confirm':
        // A step continues only under a live lease: the news that the lease has ended may be on its way.
        return void this.#attempt.lease.confirm().then(() => this.#hear({ is: 'confirmed' }), this.#broken)
      case 'begin':
        this.#begunAt = this.#attempt.parts.environment.clock.monotonic()
        return
      case 'intend':
        return this.#intend()
      case 'call':
        return this.#call(effect.tried)
      case 'verify':
        return this.#verify(effect.tried)
      case 'endTry':
        return this.#limit?.end()
      case 'dropTry':
        this.#limit?.end()
        this.#limit = undefined
        return
      case 'ask':
        return this.#ask(effect.doubt)
      case 'wait':
        return this.#waitForRetry(effect.retry, effect.delayMs)
      case 'record':
        return this.#record(effect.result)
      case 'recordFailure':
        return this.#recordFailure(effect.failure, effect.isLast)
      case 'resolve':
        if (!this.#close())
          this.#pass.answer(this.answer, this.#facts, () => this.#attempt.parts.values.decode(effect.result))
        return
      case 'reject':
        this.#close()
        return this.answer.reject(effect.reason)
    }
  }

  /** First records the intent, then calls the function. Source: `docs/semantics.md 7.6`. */
  #intend(): void {
    const { key, position, inputHash } = this.#facts
    const { lease, claim, parts } = this.#attempt
    const input = inputHash === undefined ? {} : { inputHash }
    const before = lease.timesSlept
    const intended = () => {
      const at = Math.floor(parts.environment.clock.now())
      this.#hear({ is: 'intended', at, hasSlept: lease.timesSlept !== before })
    }
    lease
      .write({ kind: 'startStep', leaseId: claim.leaseId, key, position, ...input })
      .then(intended, this.#broken)
  }

  /** A result that is not a promise is handled in the same turn. */
  #call(tried: number): void {
    const { key, timeoutMs, toStorable } = this.#facts
    if (timeoutMs !== undefined) {
      this.#limit = limitTime(this.#scope, key, timeoutMs, (reason) => {
        if (this.#scope.closedBy === undefined) this.#on({ is: 'failed', tried, reason })
      })
    }
    const charge = (usage: Usage) => this.#charge(tried, usage)
    const surrounding: Surrounding = { pass: this.#pass, key, charge }
    const fn = this.#fn as (step: StepHandle) => unknown
    const returned = (value: unknown) => this.#returned(tried, value)
    const threw = (reason: unknown) => this.#hear({ is: 'failed', tried, reason })
    try {
      const result = insideStep(surrounding, () => storable(fn(this.#handle(tried)), toStorable))
      if (isThenable(result)) Promise.resolve(result).then(returned, threw)
      else returned(result)
    } catch (error) {
      threw(error)
    }
  }

  #verify(tried: number): void {
    const { key, inDoubt } = this.#facts
    if (inDoubt?.as !== 'verify') return
    const ask = async () => readAnswer(key, await inDoubt.verify(this.#handle(tried)))
    ask().then(
      (answer) => (answer.done ? this.#returned(tried, answer.result) : this.#hear({ is: 'undone', tried })),
      (cause: unknown) => {
        const reason = new StepInDoubt(key, 'its verify function failed', { cause, retryable: true })
        this.#hear({ is: 'failed', tried, reason })
      },
    )
  }

  #returned(tried: number, value: unknown): void {
    if (!hears(this.#step, { tried })) return
    const stop = this.#scope.closedBy
    if (stop !== undefined) return this.#on({ is: 'stopped', reason: stop })
    let result: string
    try {
      result = this.#rules.encode(value)
    } catch (reason) {
      return this.#on({ is: 'failed', tried, reason })
    }
    this.#on({ is: 'returned', tried, result })
  }

  /** Each try has its own signal, which an earlier try that is still running does not see. */
  #handle(tried: number): StepHandle {
    if (this.#facts.retry === undefined && this.#facts.inDoubt === undefined) return this
    const charge = (usage: Usage) => this.#charge(tried, usage)
    return { signal: this.signal, idempotencyKey: this.idempotencyKey, charge }
  }

  #record(result: string): void {
    const { key, position, inputHash } = this.#facts
    const { lease, claim, usage } = this.#attempt
    lease
      .write({
        kind: 'recordStep',
        leaseId: claim.leaseId,
        key,
        position,
        durationMs: this.#durationMs(),
        result,
        ...usage.takeRun(this),
        ...(inputHash === undefined ? {} : { inputHash }),
      })
      .then((recorded) => this.#hear({ is: 'recorded', memo: recorded?.memo }), this.#broken)
  }

  #recordFailure({ error, rateLimit, retry, number }: StepFailure, isLast: boolean): void {
    const { key, position } = this.#facts
    const { lease, claim, usage, parts } = this.#attempt
    const { random } = parts.environment
    const delayMs = retry === undefined ? 0 : delayBefore(retry, this.#facts.retry, () => random.next())
    const written = lease.write({
      kind: 'failStep',
      leaseId: claim.leaseId,
      key,
      position,
      durationMs: this.#durationMs(),
      error: encode(error, { what: 'an error' }),
      ...usage.takeRun(this),
      ...usage.backOff(rateLimit),
      ...(number === undefined ? {} : { retry: number }),
    })
    if (!isLast) return void written.then(() => this.#hear({ is: 'failureRecorded', delayMs }), this.#broken)
    written.catch((cause: unknown) =>
      parts.log('warn', 'the store did not accept a failed step', { key, error: describeError(cause) }),
    )
  }

  /** Waits for a human, as a wait of the task. */
  #ask({ starts, startedAt }: Doubt): void {
    const { key: inDoubt, position } = this.#facts
    const { attempt } = this.#attempt.claim
    const request = doubtRequest(
      { inDoubt, starts, startedAt, attempt, idempotencyKey: this.idempotencyKey },
      position,
    )
    this.#wait(request, (verdict) => this.#on({ is: 'judged', verdict }))
  }

  /** The wait belongs to the task, so that a long one holds no slot and the tries are not forgotten. */
  #waitForRetry(retry: Retry, delayMs: number): void {
    const { key, position } = this.#facts
    const request = { key: keyOf(key, retry), position, kind: 'timer', delayMs } as const
    this.#wait(request, () => this.#on({ is: 'due' }))
  }

  #wait(request: WaitRequest, over: (record: WaitRecord) => void): void {
    const wasCounted = this.#isCounted
    this.#isCounted = false
    try {
      this.#pass.waits.add({ request, scope: this.#scope, over, refuse: this.#broken })
    } catch (error) {
      this.#broken(error)
    }
    if (wasCounted) this.#pass.gate.endInWait()
  }

  /** True if the task has yielded here. */
  #close(): boolean {
    this.#attempt.usage.endRun(this)
    this.#limit?.end()
    this.#scope.drop(this)
    this.#scope.answered(LIVE)
    if (!this.#isCounted) return false
    this.#isCounted = false
    return this.#pass.gate.end()
  }

  #durationMs(): number {
    return Math.round((this.#attempt.parts.environment.clock.monotonic() - this.#begunAt) * 1_000) / 1_000
  }
}

const noRetries = { retries: 0, limits: 0 }

function storable(result: unknown, toStorable: StepFacts['toStorable']): unknown {
  if (toStorable === undefined) return result
  return isThenable(result) ? Promise.resolve(result).then(toStorable) : toStorable(result)
}

import {
  decideBackoff,
  decode,
  describeError,
  encode,
  type ErrorRecord,
  idempotencyKey,
  isA,
  isFinalError,
  type OutcomeOf,
  type RateLimited,
  rateLimitIn,
  type RetryPolicy,
  RuntimeError,
  type Usage,
  usageSum,
  waitFor,
  type WaitRecord,
} from '@ku0/agent-runtime-core'
import type { Attempt } from '../execution/attempt.ts'
import { linkedController } from '../execution/cancellation.ts'
import { endOfWait } from '../execution/ended-waits.ts'
import type { Feedback, StepHandle } from '../task-context.ts'
import { StepInDoubt, TimeoutError } from '../task-errors.ts'
import { Answer } from './answer.ts'
import { type DoubtPolicy, doubtRequest, readAnswer } from './in-doubt.ts'
import { insideStep, type Surrounding } from './inside-step.ts'
import type { Callee, Pass, Start } from './pass.ts'
import { limitKey, limitsIn, retriesIn, retryKey } from './retries.ts'
import { LIVE, type Member, type Scope } from './scope.ts'
import { isThenable } from '../thenable.ts'

/** What is known of a step before it runs. */
export interface StepFacts {
  readonly key: string
  readonly position: number
  readonly inputHash: string | undefined
  /** Of each try. */
  readonly timeoutMs: number | undefined
  readonly retry: RetryPolicy | undefined
  /** Undefined where the step may run again without more ado. */
  readonly inDoubt: DoubtPolicy | undefined
}

/**
 * One call of a step that no memo answers: its function, tried as often as its policy allows, its commit, its answer. It
 * answers with what the store holds, or with the function's last error; never with a value once whoever called it has to stop.
 * Source: `docs/semantics.md 4.4, 7.1-7.7`.
 */
export class StepRun implements StepHandle, Start, Member {
  readonly #pass: Pass
  readonly #attempt: Attempt
  readonly #scope: Scope
  readonly #facts: StepFacts
  readonly #fn: Callee
  readonly answer: Answer
  /** The try under way; what an earlier one still says is not heard. */
  #try = 0
  /** Retries come to so far, those of earlier passes included. */
  #retries = 0
  /** The same of waits that a provider asked for. */
  #limits = 0
  #begunAt = 0
  #limit: Limit | undefined
  /** How often it was started, and whether nobody knows how that ended. */
  #starts = 0
  /** When it was last. */
  #startedAt = 0
  /** What was said before it is about an earlier start, in the task that this one is a fork of. */
  #startSeq = LIVE
  #doubtful = false
  /** What a human said of it. */
  #verdict: WaitRecord | undefined
  /** A try is under way, which keeps the pass alive. */
  #counted = false
  #ended = false
  /** The function has returned. */
  #isRecording = false

  constructor(pass: Pass, scope: Scope, facts: StepFacts, fn: Callee) {
    this.#pass = pass
    this.#attempt = pass.attempt
    this.#scope = scope
    this.answer = new Answer(scope, 'step', facts.key)
    this.#facts = facts
    this.#fn = fn
    const { starts = 0, startedAt = 0, seq = LIVE } = pass.memos.inDoubt.get(facts.key) ?? {}
    this.#starts = starts
    this.#startedAt = startedAt
    this.#startSeq = seq
    this.#doubtful = this.#starts > 0
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
    if (retry === undefined) return this.#pass.admit(this)
    const { memos } = this.#pass
    this.#retries = retriesIn(memos, key)
    this.#limits = limitsIn(memos, key)
    const open = [this.#nextRetry(0), this.#nextLimit(0)].find((it) => memos.open.has(it.key))
    if (open === undefined) this.#pass.admit(this)
    else this.#awaitRetry(open)
  }

  start(): void {
    if (this.#ended) return
    if (this.#isOver()) return this.refuse()
    this.#pass.begin()
    this.#pass.wentLive()
    this.#counted = true
    if (this.#attempt.mayHaveSlept) this.#confirm(() => this.#go())
    else this.#go()
  }

  /** Only a step whose lease is live may go on: the news that it is not may be on its way. */
  #confirm(go: () => void): void {
    const confirmed = () => {
      if (this.#ended) return
      if (this.#isOver()) this.refuse()
      else go()
    }
    this.#attempt.confirm().then(confirmed, (error: unknown) => this.#end(error))
  }

  #go(): void {
    this.#begunAt = this.#attempt.parts.environment.clock.monotonic()
    const { inDoubt } = this.#facts
    if (inDoubt === undefined) this.#run()
    else if (this.#doubtful) this.#settleDoubt(inDoubt)
    else this.#intend()
  }

  #run(): void {
    const { timeoutMs } = this.#facts
    if (timeoutMs !== undefined) this.#limit = this.#startLimit(timeoutMs)
    const tried = ++this.#try
    this.#hear(
      tried,
      () =>
        insideStep(this.#surrounding(tried), () =>
          (this.#fn as (step: StepHandle) => unknown)(this.#handle()),
        ),
      (value) => this.#returned(tried, value),
    )
  }

  /** Calls one of the user's functions. */
  #hear(tried: number, call: () => unknown, returned: (value: unknown) => void): void {
    try {
      const result = call()
      if (isThenable(result))
        Promise.resolve(result).then(returned, (error: unknown) => this.#threw(tried, error))
      else returned(result)
    } catch (error) {
      this.#threw(tried, error)
    }
  }

  /** The intent on disk, then the function. Source: `docs/semantics.md 7.6`. */
  #intend(): void {
    const { key, position, inputHash } = this.#facts
    const { leaseId } = this.#attempt.claim
    const input = inputHash === undefined ? {} : { inputHash }
    const asked = this.#attempt.timesSlept
    this.#attempt.write({ kind: 'startStep', leaseId, key, position, ...input }).then(
      (fenced) => this.#intended(fenced, asked),
      (error: unknown) => this.#end(error),
    )
  }

  #intended(fenced: OutcomeOf<'startStep'>, timesSlept: number): void {
    if (fenced === 'stale') this.#attempt.lose()
    if (this.#ended) return
    if (fenced === 'stale' || this.#isOver()) return this.refuse()
    this.#starts += 1
    this.#startedAt = Math.floor(this.#attempt.parts.environment.clock.now())
    this.#startSeq = LIVE
    this.#doubtful = false
    if (this.#attempt.timesSlept !== timesSlept) this.#confirm(() => this.#run())
    else this.#run()
  }

  /** It was started before, and nobody knows how that ended. */
  #settleDoubt(policy: DoubtPolicy): void {
    const { key } = this.#facts
    switch (policy.as) {
      case 'fail':
        return this.#fail(new StepInDoubt(key, 'its policy is to fail then', { retryable: false }))
      case 'verify':
        return this.#verify(policy.verify)
      case 'ask':
        return this.#verdict === undefined ? this.#askHuman() : this.#heed(this.#verdict)
    }
  }

  /** `undone`: it did not take effect. */
  #verify(verify: (step: StepHandle) => unknown, undone: () => void = () => this.#intend()): void {
    const { key } = this.#facts
    const tried = ++this.#try
    const failed = (cause: unknown) =>
      new StepInDoubt(key, 'verify could not tell', { cause, retryable: true })
    const ask = async () => readAnswer(key, await verify(this.#handle()))
    this.#hear(
      tried,
      () => ask().catch((cause: unknown) => Promise.reject(failed(cause))),
      (answer) => {
        if (this.#ended || tried !== this.#try) return
        if (this.#isOver()) return this.refuse()
        const { done, result } = answer as { done: boolean; result?: unknown }
        if (done) this.#returned(tried, result)
        else undone()
      },
    )
  }

  /** Waits for a human as the task's own wait, without a slot. */
  #askHuman(): void {
    const { key, position } = this.#facts
    const { idempotencyKey: given } = this
    const { attempt } = this.#attempt.claim
    const doubt = { inDoubt: key, starts: this.#starts, startedAt: this.#startedAt, attempt }
    const request = doubtRequest({ ...doubt, idempotencyKey: given }, position)
    const memo = this.#pass.memos.waits.get(request.key)
    if (memo !== undefined && memo.seq > this.#startSeq) return this.#heed(memo)
    this.#counted = false
    try {
      this.#pass.waits.add({
        request,
        scope: this.#scope,
        over: (record) => {
          this.#verdict = record
          this.#pass.admit(this)
        },
        refuse: (reason) => this.#end(reason),
      })
    } catch (error) {
      this.#end(error)
    }
    this.#pass.endInWait()
  }

  #heed({ key, outcome, value }: WaitRecord): void {
    const said = (value === undefined ? {} : decode(value)) as Partial<Feedback>
    this.#verdict = undefined
    if (outcome === 'rejected') {
      const why = `it was given up${said.by === undefined ? '' : ` by ${said.by}`}${said.feedback === undefined ? '' : `: ${said.feedback}`}`
      return this.#fail(endOfWait(key, new StepInDoubt(this.#facts.key, why, { retryable: false })))
    }
    if ('value' in said) this.#returned(++this.#try, said.value)
    else this.#intend()
  }

  /** The handler has to stop, or has ended without waiting for this step. */
  refuse(): void {
    this.#end(this.#scope.closedBy)
  }

  /** The branch that called it has lost: what the function still does is not recorded. */
  abandon(reason: Error): void {
    if (this.#ended) return
    const limit = this.#limit
    this.#end(reason)
    limit?.controller.abort(reason)
  }

  /** Each try has a signal of its own, which an earlier try that goes on does not get to see. */
  #handle(): StepHandle {
    if (this.#facts.retry === undefined && this.#facts.inDoubt === undefined) return this
    const charge = (usage: Usage) => this.#charge(this.#try, usage)
    return { signal: this.signal, idempotencyKey: this.idempotencyKey, charge }
  }

  charge(usage: Usage): void {
    this.#charge(this.#try, usage)
  }

  #surrounding(tried: number): Surrounding {
    return { pass: this.#pass, key: this.#facts.key, charge: (usage) => this.#charge(tried, usage) }
  }

  #charge(tried: number, usage: Usage): void {
    const sum = usageSum('charge', usage)
    if (this.#ended || tried !== this.#try || this.#isRecording) throw chargedLate(this.#facts.key)
    this.#attempt.chargeRun(this, sum)
  }

  #returned(tried: number, value: unknown): void {
    if (this.#ended || tried !== this.#try) return
    if (this.#isOver()) return this.refuse()
    const { key, position, inputHash } = this.#facts
    const { claim, parts } = this.#attempt
    let result: string
    try {
      result = encode(value, { what: `the result of step '${key}'`, maxBytes: parts.config.maxPayloadBytes })
    } catch (error) {
      return this.#fail(error)
    }
    this.#limit?.end()
    this.#isRecording = true
    this.#attempt
      .write({
        kind: 'recordStep',
        leaseId: claim.leaseId,
        key,
        position,
        durationMs: this.#durationMs(),
        result,
        ...this.#attempt.takeRun(this),
        ...(inputHash === undefined ? {} : { inputHash }),
      })
      .then(
        (outcome) => this.#recorded(outcome, result),
        (error: unknown) => this.#end(error),
      )
  }

  #recorded(outcome: OutcomeOf<'recordStep'>, result: string): void {
    if (outcome.fenced === 'stale') this.#attempt.lose()
    if (this.#ended) return
    if (outcome.fenced === 'stale' || this.#isOver()) return this.refuse()
    if (!this.#close()) this.answer.resolve(decode(outcome.memo ?? result))
  }

  #threw(tried: number, error: unknown): void {
    if (this.#ended || tried !== this.#try) return
    if (this.#isOver()) return this.refuse()
    this.#fail(error)
  }

  #fail(reason: unknown): void {
    if (isA(reason, TimeoutError)) this.#doubtful = true
    const error = describeError(reason)
    const retry = this.#retryAfter(error, rateLimitIn(reason))
    const { inDoubt } = this.#facts
    if (retry === undefined && inDoubt !== undefined && isA(reason, TimeoutError))
      return this.#settleLate(reason, inDoubt)
    this.#failAs(reason, error, retry)
  }

  #failAs(reason: unknown, error: ErrorRecord, retry: Retry | undefined): void {
    const { key } = this.#facts
    const { parts } = this.#attempt
    const number = retry === undefined ? undefined : this.#retries + this.#limits + 1
    const written = this.#writeFailure(error, number, rateLimitIn(reason))
    if (retry !== undefined) return this.#retryOnceWritten(retry, written)
    written
      .then((fenced) => (fenced === 'stale' ? this.#attempt.lose() : undefined))
      .catch((cause: unknown) =>
        parts.log('warn', 'the store did not take a failed step', { key, error: describeError(cause) }),
      )
    this.#end(reason)
  }

  #writeFailure(
    error: ErrorRecord,
    retry: number | undefined,
    rateLimit?: RateLimited,
  ): Promise<OutcomeOf<'failStep'>> {
    const { key, position } = this.#facts
    return this.#attempt.write({
      kind: 'failStep',
      leaseId: this.#attempt.claim.leaseId,
      key,
      position,
      durationMs: this.#durationMs(),
      error: encode(error, { what: 'an error' }),
      ...this.#attempt.takeRun(this),
      ...this.#attempt.backOff(rateLimit),
      ...(retry === undefined ? {} : { retry }),
    })
  }

  /** Its last try ran out of time: whether that took effect is settled before the step fails of it. Source: `docs/semantics.md 7.6`. */
  #settleLate(late: Error, policy: DoubtPolicy): void {
    const { key } = this.#facts
    if (policy.as === 'fail') {
      const why = 'its time ran out, and its policy is to fail then'
      const error = new StepInDoubt(key, why, { cause: late, retryable: false })
      return this.#failAs(error, describeError(error), undefined)
    }
    this.#dropTry()
    this.#writeFailure(describeError(late), this.#retries + this.#limits + 1).then(
      (fenced) => this.#settleIfHeld(late, policy, fenced),
      (error: unknown) => this.#end(error),
    )
  }

  #settleIfHeld(late: Error, policy: DoubtPolicy, fenced: OutcomeOf<'failStep'>): void {
    if (fenced === 'stale') this.#attempt.lose()
    if (this.#ended) return
    if (this.#isOver()) return this.refuse()
    if (policy.as !== 'verify') return this.#askHuman()
    this.#verify(policy.verify, () => this.#failAs(late, describeError(late), undefined))
  }

  #retryAfter(error: ErrorRecord, rateLimit: RateLimited | undefined): Retry | undefined {
    const policy = this.#facts.retry
    if (policy === undefined || isFinalError(error)) return undefined
    if (rateLimit !== undefined) return this.#nextLimit(waitFor(rateLimit))
    const number = this.#retries + 1
    if (number >= policy.attempts) return undefined
    return this.#nextRetry(
      decideBackoff(policy.backoff, number, this.#attempt.parts.environment.random.next()),
    )
  }

  #nextRetry(delayMs: number): Retry {
    const over = () => {
      this.#retries += 1
    }
    return { key: retryKey(this.#facts.key, this.#retries + 1), delayMs, over }
  }

  /** What a provider refused for now is not one of the tries. */
  #nextLimit(delayMs: number): Retry {
    const over = () => {
      this.#limits += 1
    }
    return { key: limitKey(this.#facts.key, this.#limits + 1), delayMs, over }
  }

  #retryOnceWritten(retry: Retry, written: Promise<OutcomeOf<'failStep'>>): void {
    this.#dropTry()
    written.then(
      (fenced) => this.#retryIfHeld(retry, fenced),
      (error: unknown) => this.#end(error),
    )
  }

  /** What it still says is not heard, and its time is over. */
  #dropTry(): void {
    this.#try += 1
    this.#limit?.end()
    this.#limit = undefined
  }

  #retryIfHeld(retry: Retry, fenced: OutcomeOf<'failStep'>): void {
    if (fenced === 'stale') this.#attempt.lose()
    if (this.#ended) return
    if (this.#isOver()) return this.refuse()
    this.#counted = false
    this.#awaitRetry(retry)
    this.#pass.endInWait()
  }

  /** The wait is the task's own, so that a long one holds no slot and what was tried is not forgotten. */
  #awaitRetry({ key, delayMs, over }: Retry): void {
    const { position } = this.#facts
    try {
      this.#pass.waits.add({
        request: { key, position, kind: 'timer', delayMs },
        scope: this.#scope,
        over: () => {
          over()
          this.#pass.admit(this)
        },
        refuse: (reason) => this.#end(reason),
      })
    } catch (error) {
      this.#end(error)
    }
  }

  #end(error: unknown): void {
    if (this.#ended) return
    this.#close()
    this.answer.reject(error)
  }

  /** True when the task has yielded here. */
  #close(): boolean {
    this.#ended = true
    this.#attempt.endRun(this)
    this.#limit?.end()
    this.#scope.drop(this)
    this.#scope.answered(LIVE)
    if (!this.#counted) return false
    this.#counted = false
    return this.#pass.end()
  }

  #isOver(): boolean {
    return this.#scope.closedBy !== undefined
  }

  #startLimit(timeoutMs: number): Limit {
    const { controller, unlink } = linkedController(this.#scope.signal)
    const tried = this.#try + 1
    const deadline = this.#attempt.parts.deadlines.after(timeoutMs, () => {
      const error = new TimeoutError(`step '${this.#facts.key}'`, timeoutMs)
      if (!this.#ended && tried === this.#try && !this.#isOver()) this.#fail(error)
      controller.abort(error)
    })
    const end = () => {
      deadline.cancel()
      unlink()
    }
    return { controller, end }
  }

  #durationMs(): number {
    return Math.round((this.#attempt.parts.environment.clock.monotonic() - this.#begunAt) * 1_000) / 1_000
  }
}

function chargedLate(key: string): RuntimeError {
  return new RuntimeError(
    'step_outside_handler',
    `step '${key}' has ended: charge what it uses before it returns`,
  )
}

/** A try to come: the key of the wait before it, and how long that is. */
interface Retry {
  readonly key: string
  readonly delayMs: number
  /** The wait is over. */
  readonly over: () => void
}

/** A try's own running time. */
interface Limit {
  readonly controller: AbortController
  /** The function is done: neither the time nor the task's signal aborts it any more. */
  end(): void
}

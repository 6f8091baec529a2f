import { decode, describeError, encode, type OutcomeOf } from '@ku0/agent-runtime-core'
import type { Attempt } from '../execution/attempt.ts'
import { linkedController } from '../execution/cancellation.ts'
import type { StepHandle } from '../task-context.ts'
import { TimeoutError } from '../task-errors.ts'
import { ignore } from './guarded.ts'
import { idempotencyKey } from './idempotency.ts'

/** What is known of a step before it runs. */
export interface StepFacts {
  readonly key: string
  readonly position: number
  readonly inputHash: string | undefined
  readonly timeoutMs: number | undefined
}

/**
 * One run of a step: its function, its commit, its answer. It answers with what the store holds, or with the error of the
 * function; never with a value once the handler has to stop. Source: `docs/semantics.md 4.4, 7.1-7.5`.
 */
export class StepRun implements StepHandle {
  readonly #attempt: Attempt
  readonly #facts: StepFacts
  readonly #onEnd: () => boolean
  readonly #answer = Promise.withResolvers<unknown>()
  readonly #begunAt: number
  #limit: Limit | undefined
  #ended = false

  /** `onEnd` is called once, before the answer; it returns true when the task has yielded there. */
  constructor(attempt: Attempt, facts: StepFacts, onEnd: () => boolean) {
    this.#attempt = attempt
    this.#facts = facts
    this.#onEnd = onEnd
    this.#begunAt = attempt.parts.environment.clock.monotonic()
  }

  get promise(): Promise<unknown> {
    return this.#answer.promise
  }

  get signal(): AbortSignal {
    return this.#limit?.controller.signal ?? this.#attempt.signal
  }

  get idempotencyKey(): string {
    const { key, inputHash } = this.#facts
    const { claim, parts } = this.#attempt
    return idempotencyKey(parts.environment.digest, claim.taskId, key, inputHash ?? null)
  }

  start(fn: (...args: never[]) => unknown): void {
    const { timeoutMs } = this.#facts
    if (timeoutMs !== undefined) this.#limit = this.#startLimit(timeoutMs)
    try {
      const result = (fn as (step: StepHandle) => unknown)(this)
      if (isThenable(result))
        Promise.resolve(result).then(
          (value) => this.#returned(value),
          (error: unknown) => this.#threw(error),
        )
      else this.#returned(result)
    } catch (error) {
      this.#threw(error)
    }
  }

  #returned(value: unknown): void {
    if (this.#ended) return
    if (this.#isOver()) return this.#refuse()
    const { key, position, inputHash } = this.#facts
    const { claim, parts } = this.#attempt
    let result: string
    try {
      result = encode(value, { what: `the result of step '${key}'`, maxBytes: parts.config.maxPayloadBytes })
    } catch (error) {
      return this.#fail(error, true)
    }
    this.#limit?.end()
    this.#attempt
      .write({
        kind: 'recordStep',
        leaseId: claim.leaseId,
        key,
        position,
        durationMs: this.#durationMs(),
        result,
        ...(inputHash === undefined ? {} : { inputHash }),
      })
      .then(
        (outcome) => this.#recorded(outcome, result),
        (error: unknown) => this.#end(error, true),
      )
  }

  #recorded(outcome: OutcomeOf<'recordStep'>, result: string): void {
    if (outcome.fenced === 'stale') {
      this.#attempt.lose()
      return this.#refuse()
    }
    if (this.#isOver()) return this.#refuse()
    if (this.#close()) return this.#reject(this.#attempt.closedBy, true)
    this.#answer.resolve(decode(outcome.memo ?? result))
  }

  #threw(error: unknown): void {
    if (this.#ended) return
    if (this.#isOver()) return this.#refuse()
    this.#fail(error, false)
  }

  #fail(reason: unknown, ours: boolean): void {
    const { key, position } = this.#facts
    const { claim, parts } = this.#attempt
    const error = encode(describeError(reason), { what: 'an error' })
    this.#attempt
      .write({
        kind: 'failStep',
        leaseId: claim.leaseId,
        key,
        position,
        durationMs: this.#durationMs(),
        error,
      })
      .then((fenced) => (fenced === 'stale' ? this.#attempt.lose() : undefined))
      .catch((cause: unknown) =>
        parts.log('warn', 'the store did not take a failed step', { key, error: describeError(cause) }),
      )
    this.#end(reason, ours)
  }

  /** The handler has to stop, or has ended without waiting for this step. */
  #refuse(): void {
    this.#end(this.#attempt.closedBy, true)
  }

  #end(error: unknown, ours: boolean): void {
    this.#close()
    this.#reject(error, ours)
  }

  /** What the runtime rejects with, nobody has to handle; what the user's function threw is the user's. */
  #reject(reason: unknown, ours: boolean): void {
    if (ours) this.#answer.promise.catch(ignore)
    this.#answer.reject(reason)
  }

  #close(): boolean {
    this.#ended = true
    this.#limit?.end()
    return this.#onEnd()
  }

  #isOver(): boolean {
    return this.#attempt.closedBy !== undefined
  }

  #startLimit(timeoutMs: number): Limit {
    const { controller, unlink } = linkedController(this.#attempt.signal)
    const deadline = this.#attempt.parts.deadlines.after(timeoutMs, () => {
      const error = new TimeoutError(`step '${this.#facts.key}'`, timeoutMs)
      if (!this.#ended && !this.#isOver()) this.#fail(error, true)
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

/** A step's own running time. */
interface Limit {
  readonly controller: AbortController
  /** The function is done: neither the time nor the task's signal aborts it any more. */
  end(): void
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  )
}

import {
  decideReplay,
  decode,
  DuplicateStepKey,
  type Replay,
  RuntimeError,
  show,
  type StepRecord,
} from '@ku0/agent-runtime-core'
import type { Attempt } from '../execution/attempt.ts'
import type { StepOptions } from '../task-context.ts'
import { ignore, refused } from './guarded.ts'
import { inputHashOf } from './idempotency.ts'
import { nameOfPlace, type Place, placeOf } from './place.ts'
import { StepRun } from './step-run.ts'

/** The steps of one pass through a handler. Source: `docs/semantics.md 7`. */
export class Steps {
  readonly #attempt: Attempt
  readonly #memos: ReadonlyMap<string, StepRecord>
  readonly #used = new Map<string, Place>()
  /** Steps whose function or commit is under way: while there are any, the task does not yield. */
  #running = 0
  /** Calls that came while the task is to yield and others still run. */
  #parked: (() => void)[] = []

  constructor(attempt: Attempt, memos: ReadonlyMap<string, StepRecord>) {
    this.#attempt = attempt
    this.#memos = memos
  }

  /** One call of `callee`, which is `ctx.step`. The position of a step is the number of calls before it. */
  run(key: unknown, options: unknown, fn: unknown, callee: (...args: never[]) => unknown): Promise<never> {
    try {
      this.#attempt.assertOpen()
      const call = readCall(key, options, fn)
      const inputHash = this.#inputHashOf(call)
      const verdict = decideReplay({ key: call.key, inputHash, memos: this.#memos, used: this.#used })
      if (verdict.as === 'run' || verdict.as === 'memo') {
        const position = this.#used.size
        this.#used.set(call.key, placeOf(callee))
        if (verdict.as === 'memo') return Promise.resolve(this.#replay(verdict.memo, position) as never)
        return this.#attempt.yieldAsked ? this.#yield() : this.#start(call, position, inputHash)
      }
      return refused(refusal(verdict, call.key, callee))
    } catch (error) {
      return refused(error)
    }
  }

  #inputHashOf({ key, options }: Call): string | undefined {
    if (options === undefined || !('input' in options)) return undefined
    return inputHashOf(this.#attempt.parts.environment.digest, key, options.input)
  }

  #replay(memo: StepRecord, position: number): unknown {
    const { claim, parts } = this.#attempt
    parts.announce('step.replayed', claim.taskId, memo.seq, { key: memo.key, position })
    return decode(memo.result)
  }

  #start({ key, options, fn }: Call, position: number, inputHash: string | undefined): Promise<never> {
    this.#running += 1
    const run = new StepRun(this.#attempt, { key, position, inputHash, timeoutMs: options?.timeoutMs }, () =>
      this.#ended(),
    )
    run.start(fn)
    return run.promise as Promise<never>
  }

  /** A step has ended: the boundary at which the task may yield. True when it does. */
  #ended(): boolean {
    this.#running -= 1
    if (!this.#attempt.yieldAsked || this.#running > 0) return false
    this.#attempt.yield()
    for (const wake of this.#parked.splice(0)) wake()
    return this.#attempt.stopped !== undefined
  }

  /** No step starts once the task is to yield; those that run are never cut. Source: `docs/semantics.md 3.6`. */
  #yield(): Promise<never> {
    const parked = Promise.withResolvers<never>()
    parked.promise.catch(ignore)
    this.#parked.push(() => parked.reject(this.#attempt.closedBy))
    this.#running += 1
    this.#ended()
    return parked.promise
  }
}

/** A call of `ctx.step`, its arguments checked. */
interface Call {
  readonly key: string
  readonly options: StepOptions | undefined
  readonly fn: (...args: never[]) => unknown
}

function readCall(key: unknown, options: unknown, fn: unknown): Call {
  if (typeof key !== 'string' || key.length === 0 || key.length > MAX_KEY_LENGTH) {
    throw new RuntimeError(
      'invalid_argument',
      `a step key is a string of 1 to ${MAX_KEY_LENGTH} characters, not ${show(key)}`,
    )
  }
  if (typeof fn !== 'function') {
    throw new RuntimeError('invalid_argument', `step '${key}' needs a function to run, not ${show(fn)}`)
  }
  return { key, options: options === undefined ? undefined : readOptions(key, options), fn: fn as Call['fn'] }
}

function readOptions(key: string, options: unknown): StepOptions {
  if (typeof options !== 'object' || options === null) {
    throw new RuntimeError(
      'invalid_argument',
      `the options of step '${key}' are an object, not ${show(options)}`,
    )
  }
  const { timeoutMs } = options as StepOptions
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs > 0)) {
    throw new RuntimeError(
      'invalid_argument',
      `timeoutMs of step '${key}' is a number of ms above 0, not ${show(timeoutMs)}`,
    )
  }
  return options
}

const MAX_KEY_LENGTH = 255

function refusal(
  verdict: Exclude<Replay<Place>, { as: 'run' | 'memo' }>,
  key: string,
  callee: (...args: never[]) => unknown,
): Error {
  switch (verdict.as) {
    case 'duplicate':
      return new DuplicateStepKey({
        key,
        firstPlace: nameOfPlace(verdict.firstPlace),
        secondPlace: nameOfPlace(placeOf(callee)),
      })
    case 'input_changed':
      return new RuntimeError(
        'invalid_argument',
        `step '${key}' was recorded with another input (hash ${verdict.expected}, now ${verdict.actual}): ` +
          'give the step another key, or the input that it had',
        { details: { key, expected: verdict.expected, actual: verdict.actual } },
      )
  }
}

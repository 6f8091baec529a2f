import { isName } from '@ku0/agent-runtime-core'
import type { Call, Scope } from './scope.ts'

/**
 * The future answer of a call of the context. Its rejection never counts as unhandled, because that would end
 * the process and every other task in it. Instead the scope learns of a failure that nobody has looked at
 * yet. Once the pass is suspended, it never settles.
 */
export class Answer<T = unknown> implements Call {
  readonly name: string
  readonly key: string
  failure: unknown
  readonly #scope: Scope
  readonly #answer = ObservedPromise.withResolvers<T>()

  constructor(scope: Scope, what: string, key: unknown) {
    this.#scope = scope
    this.key = isName(key) ? key : ''
    this.name = this.key === '' ? `a ${what}` : `${what} '${this.key}'`
  }

  get promise(): Promise<T> {
    return this.#answer.promise
  }

  get isObserved(): boolean {
    return (this.#answer.promise as ObservedPromise<T>).observed
  }

  resolve(value: T): void {
    this.#answer.resolve(value)
  }

  reject(reason: unknown): void {
    if (reason === parted || this.#scope.attempt.isSuspended) return
    void handle.call(this.#answer.promise, undefined, ignore)
    this.#answer.reject(reason)
    if (this.isObserved || this.#scope.closedBy !== undefined) return
    this.failure = reason
    this.#scope.noteFailure(this)
  }

  /** Settles as `promise` does. */
  follow(promise: Promise<T>): Promise<T> {
    promise.then(
      (value) => this.resolve(value),
      (error: unknown) => this.reject(error),
    )
    return this.promise
  }
}

/** The reason of calls that never settle, because code and history differ or the history of a replay ends. */
export const parted = new Error('this pass stops here')

/** The promise of a call that was refused. */
export function refused(scope: Scope, what: string, key: unknown, reason: unknown): Promise<never> {
  const answer = new Answer<never>(scope, what, key)
  answer.reject(reason)
  return answer.promise
}

/** For promises whose rejection is handled elsewhere. */
export function ignore(): void {}

/**
 * A promise that knows whether anybody has looked at it. `await`, `Promise.all`, `catch` and `finally` all
 * call its `then`, because its constructor is not `Promise`. The promises that they return are ordinary ones.
 */
class ObservedPromise<T> extends Promise<T> {
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  #observed = false

  get observed(): boolean {
    return this.#observed
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#observed = true
    return super.then(onFulfilled, onRejected)
  }
}

/** Does not count as a look. */
// oxlint-disable-next-line typescript/unbound-method -- it is called on a promise
const handle = Promise.prototype.then

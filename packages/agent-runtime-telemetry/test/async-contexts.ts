import { AsyncLocalStorage } from 'node:async_hooks'
import { ROOT_CONTEXT, type Context, type ContextManager } from '@opentelemetry/api'

/** What an SDK for Node registers, in a few lines: the active context follows asynchronous calls. */
export class AsyncContexts implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>()
  active() {
    return this.#storage.getStore() ?? ROOT_CONTEXT
  }
  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    active: Context,
    run: F,
    thisArg?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#storage.run(active, () => run.apply(thisArg as ThisParameterType<F>, args))
  }
  bind<T>(_active: Context, target: T): T {
    return target
  }
  enable() {
    return this
  }
  disable() {
    return this
  }
}

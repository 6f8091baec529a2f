import type { CleanupHook, CleanupReason } from '../api/task-context.ts'
import { TimeoutError } from '../api/errors.ts'
import type { Deadlines } from '../lease/deadlines.ts'
import { outsideHandlers } from '../lease/inside-handler.ts'

/** The dependencies of {@link CleanupHooks} while it runs. */
export interface CleanupRun {
  readonly deadlines: Deadlines
  /** The time limit of each hook. */
  readonly timeoutMs: number
  readonly onError: (error: unknown) => void
  /** All hooks known so far have run; called again for hooks that are added later. */
  readonly onIdle: () => void
  /** Called before the first of a series of hooks. */
  readonly onBusy: () => void
}

/**
 * The clean-up hooks of one attempt. Once started they run one after the other, the newest first, each once.
 * A hook that is added later runs too, so that resources created during the abort are not left behind.
 * Source: `docs/semantics.md 5.1`.
 */
export class CleanupHooks {
  readonly #waiting: CleanupHook[] = []
  #start: { readonly reason: CleanupReason; readonly run: CleanupRun } | undefined
  #busy = false

  /** Returns a function that removes the hook. */
  add(hook: CleanupHook): () => void {
    this.#waiting.push(hook)
    void this.#go()
    return () => {
      const index = this.#waiting.lastIndexOf(hook)
      if (index >= 0) this.#waiting.splice(index, 1)
    }
  }

  /** Only the first call counts: an attempt ends once. */
  start(reason: CleanupReason, run: CleanupRun): void {
    this.#start ??= { reason, run }
    void this.#go()
  }

  async #go(): Promise<void> {
    if (this.#start === undefined || this.#busy || this.#waiting.length === 0) return
    const { reason, run } = this.#start
    this.#busy = true
    run.onBusy()
    for (let hook = this.#waiting.pop(); hook !== undefined; hook = this.#waiting.pop())
      await call(hook, reason, run)
    this.#busy = false
    run.onIdle()
  }
}

async function call(hook: CleanupHook, reason: CleanupReason, run: CleanupRun): Promise<void> {
  const late = Promise.withResolvers<never>()
  const deadline = run.deadlines.after(run.timeoutMs, () =>
    late.reject(new TimeoutError('a clean-up hook', run.timeoutMs)),
  )
  try {
    await Promise.race([outsideHandlers(() => hook(reason)), late.promise])
  } catch (error) {
    run.onError(error)
  } finally {
    deadline.cancel()
  }
}

import { AsyncLocalStorage } from 'node:async_hooks'
import { type Claim, type ExecutionStore, RuntimeError } from '@ku0/agent-runtime-core'

/** The pass that a handler runs in. */
interface Pass {
  readonly parts: { readonly store: Pick<ExecutionStore, 'info'> }
  readonly claim: Claim
  /** The reason why the handler may no longer act for its lease. */
  readonly closedBy: Error | undefined
}

const around = new AsyncLocalStorage<Pass | undefined>()

/** Calls a handler, or a branch or step of it, so that everything it calls knows whose slot it holds. */
export function insideHandler<T>(pass: Pass, run: () => T): T {
  return around.run(pass, run)
}

/**
 * Calls code that is not part of a handler, such as a listener or a clean-up hook, even if a handler caused
 * the call.
 */
export function outsideHandlers<T>(run: () => T): T {
  return around.getStore() === undefined ? run() : around.run(undefined, run)
}

/**
 * Throws `inside_handler` for a wait for `what` of a task inside a handler that runs on the same store,
 * whichever client is asked: the handler keeps its slot, which the task may need. A result is refused even if
 * the task has ended, so that the first run shows the mistake. Source: `docs/semantics.md 4.11`.
 */
export function assertOutsideHandlers(
  store: ExecutionStore,
  taskId: string,
  what: 'result' | 'events' | 'output',
): void {
  const pass = around.getStore()
  if (pass === undefined || pass.closedBy !== undefined) return
  if (pass.parts.store.info.storeId !== store.info.storeId) return
  const { claim } = pass
  throw new RuntimeError(
    'inside_handler',
    `the ${what} of task ${taskId} was waited for with runtime.${what} inside the handler of task ${claim.taskId} ('${claim.type}'), ` +
      `which would keep its slot meanwhile: ${insteadOf[what]}`,
    { details: { taskId, inside: claim.taskId } },
  )
}

const insteadOf = {
  result:
    'use ctx.call, or ctx.spawn and the result() of its child, which wait without a slot. The output of a task that has ended is in runtime.status',
  events:
    'use ctx.call to wait for the end of a task, then its events can be read; follow it outside of handlers',
  output:
    'use ctx.call to wait for the end of a task, then its output can be read; follow it outside of handlers',
} as const

import { AsyncLocalStorage } from 'node:async_hooks'
import { type Claim, type ExecutionStore, RuntimeError } from '@ku0/agent-runtime-core'

/** The pass that a handler runs in. */
interface Pass {
  readonly parts: { readonly store: object }
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
 * Throws `inside_handler` for a wait for a task's result inside a handler that runs on the same store: the
 * handler keeps its slot, which the task may need. It throws even if the task has ended, so that the first
 * run shows the mistake. Source: `docs/semantics.md 4.11`.
 */
export function assertOutsideHandlers(store: ExecutionStore, taskId: string): void {
  const pass = around.getStore()
  if (pass === undefined || pass.parts.store !== store || pass.closedBy !== undefined) return
  const { claim } = pass
  throw new RuntimeError(
    'inside_handler',
    `the result of task ${taskId} was asked for with runtime.result inside the handler of task ${claim.taskId} ('${claim.type}'), ` +
      'which would keep its slot while it waits: use ctx.call, or ctx.spawn and the result() of its child, which wait without a slot. ' +
      'The output of a task that has ended is in runtime.status',
    { details: { taskId, inside: claim.taskId } },
  )
}

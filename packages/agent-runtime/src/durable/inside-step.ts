import { AsyncLocalStorage } from 'node:async_hooks'
import { RuntimeError } from '@ku0/agent-runtime-core'
import type { Pass } from './pass.ts'

const around = new AsyncLocalStorage<{ readonly pass: Pass; readonly key: string }>()

/** Calls a step's function, so that it is known of whatever it calls that it stands inside the step. */
export function insideStep(pass: Pass, key: string, run: () => unknown): unknown {
  return around.run({ pass, key }, run)
}

/**
 * Refuses a call of the context that needs a place of its own in the history, made from inside a step: a later pass has the step's
 * result and never comes to it. Throws `inside_step`.
 */
export function assertOutsideSteps(pass: Pass, what: string): void {
  const inside = around.getStore()
  if (inside?.pass !== pass) return
  throw new RuntimeError(
    'inside_step',
    `${what} was called inside step '${inside.key}', which a later pass does not go into: call it in the handler itself`,
    { details: { step: inside.key } },
  )
}

import { AsyncLocalStorage } from 'node:async_hooks'
import { RuntimeError, type Usage } from '@ku0/agent-runtime-core'
import { insideHandler } from '../../lease/inside-handler.ts'
import type { Host } from '../host.ts'
import { type CallOrName, nameOfCall } from '../call-name.ts'

const around = new AsyncLocalStorage<Surrounding>()

/** The pass of a step, as far as it is asked whether a call is made in it. */
interface StepsPass {
  readonly attempt: Host
}

/** The step that a call is made in. */
export interface Surrounding {
  readonly pass: StepsPass
  readonly key: string
  charge(usage: Usage): void
}

/** Calls a step's function, so that the calls in it can be recognised as being inside the step. */
export function insideStep(step: Surrounding, run: () => unknown): unknown {
  return around.run(step, () => insideHandler(step.pass.attempt, run))
}

/** The step of the pass that a call is made in; undefined outside of steps. */
export function surroundingStep(pass: StepsPass): Surrounding | undefined {
  const inside = around.getStore()
  return inside?.pass === pass ? inside : undefined
}

/**
 * Throws `inside_step` for a call of the context that needs its own place in the history and is made inside a
 * step: a later pass has the step's result and never makes the call.
 */
export function assertOutsideSteps(pass: StepsPass, what: CallOrName): void {
  const inside = surroundingStep(pass)
  if (inside === undefined) return
  throw new RuntimeError(
    'inside_step',
    `${nameOfCall(what)} was called inside step '${inside.key}', whose function does not run again on replay: call it in the handler itself, before or after the step`,
    { details: { step: inside.key } },
  )
}

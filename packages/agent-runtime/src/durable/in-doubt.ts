import {
  approvalName,
  type Doubt,
  doubtKey,
  encode,
  RuntimeError,
  show,
  type WaitRequest,
} from '@ku0/agent-runtime-core'
import type { InDoubtAnswer, StepHandle, StepOptions } from '../task-context.ts'

/** What becomes of a step of which nobody knows whether it took effect, its options checked. Source: `docs/semantics.md 7.6`. */
export type DoubtPolicy =
  | { readonly as: 'ask' | 'fail' }
  | { readonly as: 'verify'; readonly verify: (step: StepHandle) => unknown }

/** Undefined for `retry`, which needs nothing on disk first. Throws `invalid_argument`. */
export function readDoubtPolicy(
  stepKey: string,
  { inDoubt = 'retry', verify }: Pick<StepOptions, 'inDoubt' | 'verify'>,
): DoubtPolicy | undefined {
  switch (inDoubt) {
    case 'retry':
    case 'ask':
    case 'fail':
      if (verify !== undefined)
        throw wrong(`verify of step '${stepKey}' goes with inDoubt 'verify' only, not with '${inDoubt}'`)
      return inDoubt === 'retry' ? undefined : { as: inDoubt }
    case 'verify':
      if (typeof verify !== 'function')
        throw wrong(`step '${stepKey}' with inDoubt 'verify' needs a function verify, not ${show(verify)}`)
      return { as: 'verify', verify }
    default:
      throw wrong(`inDoubt of step '${stepKey}' is retry, verify, ask or fail, not ${show(inDoubt)}`)
  }
}

/** What `verify` found out. Throws `invalid_argument` for anything else than it may answer. */
export function readAnswer(stepKey: string, answer: unknown): InDoubtAnswer<unknown> {
  const { done } = (answer ?? {}) as { done?: unknown }
  if (typeof done === 'boolean') return answer as InDoubtAnswer<unknown>
  throw wrong(
    `verify of step '${stepKey}' returns { done: true, result } or { done: false }, not ${show(answer)}`,
  )
}

/** The question to a human, one for each start that is in doubt. Approved with a value: that is the result; without: run again. */
export function doubtRequest(doubt: Doubt, position: number): WaitRequest {
  const key = doubtKey(doubt.inDoubt, doubt.starts)
  return {
    key,
    position,
    kind: 'approval',
    name: approvalName(key),
    approval: {
      artifact: encode(doubt, { what: `the question whether step '${doubt.inDoubt}' took effect` }),
      mode: 'supervised',
      asked: true,
      maxRetries: 0,
      onReject: 'throw',
      onTimeout: 'throw',
    },
  }
}

function wrong(message: string): RuntimeError {
  return new RuntimeError('invalid_argument', message)
}

import {
  approvalName,
  type Doubt as DoubtQuestion,
  doubtKey,
  encode,
  RuntimeError,
  show,
  type WaitRecord,
  type WaitRequest,
} from '@ku0/agent-runtime-core'
import { StepInDoubt } from '../../api/errors.ts'
import type { Feedback, InDoubtAnswer, StepHandle, StepOptions } from '../../api/task-context.ts'
import { endOfWait } from '../wait/ended-waits.ts'
import type { Memos } from '../pass/memos.ts'
import { LIVE } from '../pass/scope.ts'

/** What to do with a step that is in doubt, with checked options. Source: `docs/semantics.md 7.6`. */
export type DoubtPolicy =
  | { readonly as: 'ask' | 'fail' }
  | { readonly as: 'verify'; readonly verify: (step: StepHandle) => unknown }

/** The known starts of a step. */
export interface Doubt {
  /** How often it was started, and when last. */
  readonly starts: number
  readonly startedAt: number
  /**
   * The place of the last start in the history: an answer before it belongs to an earlier start, in the task
   * that this one was forked from.
   */
  readonly seq: number
  /** True if the end of the last start is unknown. */
  readonly isOpen: boolean
}

/** What earlier passes recorded about the starts of a step. */
export function doubtBefore({ inDoubt }: Memos, stepKey: string): Doubt {
  const past = inDoubt.get(stepKey)
  if (past === undefined) return undoubted
  const { starts, startedAt, seq } = past
  return { starts, startedAt, seq, isOpen: true }
}

const undoubted: Doubt = { starts: 0, startedAt: 0, seq: LIVE, isOpen: false }

/** A human's verdict on the last start of a step; undefined before it. */
export function verdictOn(
  stepKey: string,
  { starts, seq }: Doubt,
  waits: Memos['waits'],
): WaitRecord | undefined {
  const verdict = waits.get(doubtKey(stepKey, starts))
  return verdict !== undefined && verdict.seq > seq ? verdict : undefined
}

/** The meaning of a human's verdict for a step: it took effect, it did not, or it is given up. */
export function readVerdict(
  stepKey: string,
  { key, outcome, value }: WaitRecord,
  decode: (text: string) => unknown,
): Finding {
  const said = (value === undefined ? {} : decode(value)) as Partial<Feedback>
  if (outcome !== 'rejected') return 'value' in said ? { as: 'done', result: said.value } : { as: 'undone' }
  const by = said.by === undefined ? '' : ` by ${said.by}`
  const why = `it was given up${by}${said.feedback === undefined ? '' : `: ${said.feedback}`}`
  return { as: 'given up', error: endOfWait(key, new StepInDoubt(stepKey, why, { retryable: false })) }
}

type Finding =
  | { readonly as: 'done'; readonly result: unknown }
  | { readonly as: 'undone' }
  | { readonly as: 'given up'; readonly error: Error }

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
        throw wrong(
          `step '${stepKey}' has a verify function, which works only with inDoubt 'verify', not with '${inDoubt}'`,
        )
      return inDoubt === 'retry' ? undefined : { as: inDoubt }
    case 'verify':
      if (typeof verify !== 'function')
        throw wrong(`step '${stepKey}' with inDoubt 'verify' needs a verify function, not ${show(verify)}`)
      return { as: 'verify', verify }
    default:
      throw wrong(`inDoubt of step '${stepKey}' must be retry, verify, ask or fail, not ${show(inDoubt)}`)
  }
}

/** The result of `verify`. Throws `invalid_argument` for a value that `verify` may not return. */
export function readAnswer(stepKey: string, answer: unknown): InDoubtAnswer<unknown> {
  const { done } = (answer ?? {}) as { done?: unknown }
  if (typeof done === 'boolean') return answer as InDoubtAnswer<unknown>
  throw wrong(
    `verify of step '${stepKey}' must return { done: true, result } or { done: false }, not ${show(answer)}`,
  )
}

/**
 * The question to a human, one for each start that is in doubt. An approval with a value sets the result;
 * without one the step runs again.
 */
export function doubtRequest(doubt: DoubtQuestion, position: number): WaitRequest {
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

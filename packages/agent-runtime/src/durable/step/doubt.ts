import {
  approvalName,
  decode,
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

/** What becomes of a step of which nobody knows whether it took effect, its options checked. Source: `docs/semantics.md 7.6`. */
export type DoubtPolicy =
  | { readonly as: 'ask' | 'fail' }
  | { readonly as: 'verify'; readonly verify: (step: StepHandle) => unknown }

/** What is known of the starts of a step. */
export interface Doubt {
  /** How often it was started, and when last. */
  readonly starts: number
  readonly startedAt: number
  /** Where in the history the last start stands: an answer before it is about an earlier one, in the task that this one is a fork of. */
  readonly seq: number
  /** Nobody knows how the last start ended. */
  readonly isOpen: boolean
}

/** What earlier passes know of the starts of a step. */
export function doubtBefore({ inDoubt }: Memos, stepKey: string): Doubt {
  const past = inDoubt.get(stepKey)
  if (past === undefined) return undoubted
  const { starts, startedAt, seq } = past
  return { starts, startedAt, seq, isOpen: true }
}

const undoubted: Doubt = { starts: 0, startedAt: 0, seq: LIVE, isOpen: false }

/** What a human has said of the last start of a step; undefined before that. */
export function verdictOn(
  stepKey: string,
  { starts, seq }: Doubt,
  waits: Memos['waits'],
): WaitRecord | undefined {
  const verdict = waits.get(doubtKey(stepKey, starts))
  return verdict !== undefined && verdict.seq > seq ? verdict : undefined
}

/** What a human's verdict makes of a step: it took effect, it did not, or it is given up. */
export function readVerdict(stepKey: string, { key, outcome, value }: WaitRecord): Finding {
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

import {
  decideChain,
  HANDED_OVER_LABEL,
  type HandedOver,
  handOverKey,
  NonRetryableError,
} from '@ku0/agent-runtime-core'
import { callOwnChild, type ChildCaller } from './children.ts'

/**
 * The try after a failure that was answered with another agent: it calls the other task with its own input, and gives its output. What the
 * tries before have recorded is not asked for. Source: `docs/semantics.md 14.3`.
 */
export async function handOver(
  caller: ChildCaller,
  { task, seq }: HandedOver,
  model: string | undefined,
): Promise<unknown> {
  const { pass, submission } = caller
  pass.wentLive()
  const { type } = pass.attempt.claim
  const chain = decideChain(submission.labels?.[HANDED_OVER_LABEL], type, task)
  if (chain === undefined)
    throw new NonRetryableError(
      `task '${type}' is not handed over to '${task}': it was handed over by ${submission.labels?.[HANDED_OVER_LABEL]}`,
    )
  const options = {
    labels: { [HANDED_OVER_LABEL]: chain },
    ...(model === undefined ? {} : { model }),
  }
  return callOwnChild(caller, handOverKey(seq), task, submission.input, options)
}

import {
  chainRefusal,
  decideChain,
  describeError,
  type HandedOver,
  handOverKey,
  handOverLabels,
  NonRetryableError,
} from '@ku0/agent-runtime-core'
import { TaskFailed } from '../../api/errors.ts'
import { callChild, type ChildCaller } from './children.ts'

/**
 * The try after a failure that was answered with another agent: it calls the other task with its own input, and gives its output. Steps that
 * were recorded before are not asked for. Source: `docs/semantics.md 14.3`.
 */
export async function callOther(
  caller: ChildCaller,
  { task, model, cost, nth }: HandedOver,
): Promise<unknown> {
  const { pass, submission } = caller
  pass.wentLive()
  const { type } = pass.attempt.claim
  const chain = decideChain(submission, type, task)
  if (chain.as !== 'goes_on') throw new NonRetryableError(chainRefusal(chain, type, task))
  const options = {
    labels: handOverLabels(submission.labels, chain.label),
    ...(model === undefined ? {} : { model }),
    ...(cost === undefined ? {} : { cost }),
  }
  const key = handOverKey(nth)
  try {
    return await callChild(caller, key, task, submission.input, options, key)
  } catch (error) {
    throw error instanceof TaskFailed ? asOwn(error) : error
  }
}

/** The handler itself has its turn after that, so that another try may help. */
function asOwn({ taskId, kind, cause }: TaskFailed): TaskFailed {
  return new TaskFailed(taskId, kind, describeError(cause))
}

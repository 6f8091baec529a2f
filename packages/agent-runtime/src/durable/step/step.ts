import { type RetryPolicy, RuntimeError, show } from '@ku0/agent-runtime-core'
import { refused } from '../pass/answer.ts'
import type { DoubtPolicy } from './doubt.ts'
import { inputHashOf } from './idempotency.ts'
import { checkKey, type Pass } from '../pass/pass.ts'
import type { Callee } from '../pass/key-use.ts'
import type { Scope } from '../pass/scope.ts'
import { type CheckedStepOptions, readStepOptions } from './step-options.ts'
import { StepRun } from './step-run.ts'

/** One call of `callee`, which is `ctx.step`. Source: `docs/semantics.md 7`. */
export function runStep(
  pass: Pass,
  scope: Scope,
  [key, options, fn]: readonly [key: unknown, options: unknown, fn: unknown],
  callee: Callee,
  /** The key, if it is one of the runtime's own. */
  own?: string,
): Promise<never> {
  try {
    if (scope.closedBy !== undefined) throw scope.closedBy
    const call = readCall(key, options, fn, own)
    const inputHash = inputHashIn(pass, call)
    const { position, memo } = pass.use({ key: call.key, as: 'step', inputHash, scope, callee })
    if (memo !== undefined) {
      const { claim, parts } = pass.attempt
      parts.announce('step.replayed', claim.taskId, memo.seq, { key: memo.key, position })
      scope.answered(memo.seq)
      return Promise.resolve(parts.values.decode(memo.result) as never)
    }
    const { timeoutMs, toStorable, rateLimited = pass.rateLimited } = call.options ?? {}
    const run = new StepRun(
      pass,
      scope,
      {
        key: call.key,
        position,
        inputHash,
        timeoutMs,
        retry: call.retry,
        inDoubt: call.inDoubt,
        rateLimited,
        toStorable,
      },
      call.fn,
    )
    run.begin()
    return run.answer.promise as Promise<never>
  } catch (error) {
    return refused(scope, 'step', key, error)
  }
}

function inputHashIn(pass: Pass, { key, options }: Call): string | undefined {
  if (options === undefined || !('input' in options)) return undefined
  return inputHashOf(pass.attempt.parts.environment.digest, key, options.input)
}

/** A call of `ctx.step` with checked arguments. */
interface Call {
  readonly key: string
  readonly options: CheckedStepOptions['options'] | undefined
  readonly retry: RetryPolicy | undefined
  readonly inDoubt: DoubtPolicy | undefined
  readonly fn: Callee
}

function readCall(key: unknown, options: unknown, fn: unknown, own: string | undefined): Call {
  if (own === undefined || key !== own) checkKey(key, 'step')
  if (typeof fn !== 'function') {
    throw new RuntimeError('invalid_argument', `step '${key}' needs a function to run, not ${show(fn)}`)
  }
  const checked = options === undefined ? noOptions : readStepOptions(key, options)
  return { key, options: checked.options, retry: checked.retry, inDoubt: checked.inDoubt, fn: fn as Callee }
}

const noOptions = { options: undefined, retry: undefined, inDoubt: undefined } as const

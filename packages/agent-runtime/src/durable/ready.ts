import { READY_KEY } from '@ku0/agent-runtime-core'
import { refused } from './pass/answer.ts'
import type { Callee, Pass } from './pass/pass.ts'
import type { Scope } from './pass/scope.ts'
import { StepRun } from './step/step-run.ts'

/** `ctx.ready`: a step that others may wait for. Said again, it changes nothing. Source: `docs/semantics.md 14.2`. */
export function ready(pass: Pass, scope: Scope, callee: Callee): Promise<void> {
  try {
    if (scope.closedBy !== undefined) throw scope.closedBy
    return (pass.isReady ??= record(pass, scope, callee))
  } catch (error) {
    return refused(scope, 'ready', READY_KEY, error)
  }
}

function record(pass: Pass, scope: Scope, callee: Callee): Promise<void> {
  const { position, memo } = pass.use({ key: READY_KEY, as: 'step', scope, callee })
  if (memo !== undefined) {
    scope.answered(memo.seq)
    return Promise.resolve()
  }
  const facts = {
    key: READY_KEY,
    position,
    inputHash: undefined,
    timeoutMs: undefined,
    retry: undefined,
    inDoubt: undefined,
    rateLimited: undefined,
    toStorable: undefined,
  }
  const run = new StepRun(pass, scope, facts, () => undefined)
  run.begin()
  return run.answer.promise as Promise<void>
}

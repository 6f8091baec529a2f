import { isName, RESERVED, RuntimeError, show } from '@ku0/agent-runtime-core'
import { refused } from './pass/answer.ts'
import type { Callee, Pass } from './pass/pass.ts'
import type { Scope } from './pass/scope.ts'
import { StepRun } from './step/step-run.ts'

/** The caller of `patched`: the pass, the scope, and the method of the context that was called. */
export interface PatchCaller {
  readonly pass: Pass
  readonly scope: Scope
  readonly callee: Callee
}

/** `ctx.patched`. Source: `docs/semantics.md 6.4`. */
export function patched(caller: PatchCaller, id: unknown): Promise<boolean> {
  const { pass, scope } = caller
  try {
    if (scope.closedBy !== undefined) throw scope.closedBy
    if (!isName(id)) {
      const message = `the id of a patch must be a string of 1 to 255 characters, not ${show(id)}`
      throw new RuntimeError('invalid_argument', message)
    }
    if (id.startsWith(RESERVED)) {
      const message = `the id of a patch must not begin with '${RESERVED}', which is reserved for the runtime; given ${show(id)}`
      throw new RuntimeError('invalid_argument', message)
    }
    if (scope.parent !== undefined) {
      const message =
        `ctx.patched('${id}') was called in ${scope.name}: calls that run side by side have no fixed place in the history. ` +
        "Call it with the handler's ctx before the race or all, and use its result in the branch"
      throw new RuntimeError('invalid_argument', message, { details: { id } })
    }
    return pass.patched(id, (key) => mark(caller, key))
  } catch (error) {
    return refused(scope, 'patch', id, error)
  }
}

/** The mark is recorded like a step: it has a place in the history, and later passes find it there. */
function mark({ pass, scope, callee }: PatchCaller, key: string): Promise<boolean> {
  const { position, memo } = pass.use({ key, as: 'step', scope, callee })
  if (memo !== undefined) {
    scope.answered(memo.seq)
    return Promise.resolve(true)
  }
  const facts = {
    key,
    position,
    inputHash: undefined,
    timeoutMs: undefined,
    retry: undefined,
    inDoubt: undefined,
    rateLimited: undefined,
    toStorable: undefined,
  }
  const run = new StepRun(pass, scope, facts, () => true)
  run.begin()
  return run.answer.promise as Promise<boolean>
}

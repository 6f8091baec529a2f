import { isName, RESERVED, RuntimeError, show } from '@ku0/agent-runtime-core'
import { refused } from './pass/answer.ts'
import { mark, type MarkCaller } from './mark.ts'

/** `ctx.patched`. Source: `docs/semantics.md 6.4`. */
export function patched(caller: MarkCaller, id: unknown): Promise<boolean> {
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
    return pass.patched(id, (key) => mark(caller, key, true))
  } catch (error) {
    return refused(scope, 'patch', id, error)
  }
}

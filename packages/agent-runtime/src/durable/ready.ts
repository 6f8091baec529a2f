import { READY_KEY } from '@ku0/agent-runtime-core'
import { refused } from './pass/answer.ts'
import type { Pass } from './pass/pass.ts'
import type { Callee } from './pass/key-use.ts'
import type { Scope } from './pass/scope.ts'
import { mark } from './mark.ts'

/** `ctx.ready`: a step that others may wait for. Said again, it changes nothing. Source: `docs/semantics.md 14.2`. */
export function ready(pass: Pass, scope: Scope, callee: Callee): Promise<void> {
  try {
    if (scope.closedBy !== undefined) throw scope.closedBy
    return (pass.isReady ??= mark({ pass, scope, callee }, READY_KEY, undefined))
  } catch (error) {
    return refused(scope, 'ready', READY_KEY, error)
  }
}

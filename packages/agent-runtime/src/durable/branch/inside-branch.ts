import { AsyncLocalStorage } from 'node:async_hooks'
import { RuntimeError } from '@ku0/agent-runtime-core'
import { insideHandler } from '../../lease/inside-handler.ts'
import { isWithin, type Scope } from '../pass/scope.ts'
import { type CallOrName, nameOfCall } from '../call-name.ts'

const around = new AsyncLocalStorage<Scope>()

/** Calls a branch, so that it is known of whatever it calls on whose behalf it should be. */
export function insideBranch(branch: Scope, run: () => unknown): unknown {
  return around.run(branch, () => insideHandler(branch.attempt, run))
}

/**
 * Refuses a call on behalf of whoever runs the branches, made from inside one of them: it would not end with the branch, and have a
 * place in the history of its own. Throws `invalid_argument`.
 */
export function assertOwnContext(scope: Scope, what: CallOrName): void {
  const branch = around.getStore()
  if (branch === undefined || branch.attempt !== scope.attempt || isWithin(scope, new Set([branch]))) return
  throw new RuntimeError(
    'invalid_argument',
    `${nameOfCall(what)} was called in ${branch.name} with the context of ${scope.name}: a branch uses the ctx that it is given`,
  )
}

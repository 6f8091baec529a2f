import { AsyncLocalStorage } from 'node:async_hooks'
import { RuntimeError } from '@ku0/agent-runtime-core'
import { insideHandler } from '../../lease/inside-handler.ts'
import { isWithin, type Scope } from '../pass/scope.ts'
import { type CallOrName, nameOfCall } from '../call-name.ts'

const around = new AsyncLocalStorage<Scope>()

/** Calls a branch, so that the calls in it can be checked against its scope. */
export function insideBranch(branch: Scope, run: () => unknown): unknown {
  return around.run(branch, () => insideHandler(branch.attempt, run))
}

/**
 * Throws `invalid_argument` for a call with an outer context that is made inside a branch: it would not end
 * with the branch, and would have its own place in the history.
 */
export function assertOwnContext(scope: Scope, what: CallOrName): void {
  const branch = around.getStore()
  if (branch === undefined || branch.attempt !== scope.attempt || isWithin(scope, new Set([branch]))) return
  throw new RuntimeError(
    'invalid_argument',
    `${nameOfCall(what)} was called in ${branch.name} with the context of ${scope.name}: inside a branch, use the ctx that the branch is given`,
  )
}

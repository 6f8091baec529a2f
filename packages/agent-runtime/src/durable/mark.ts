import type { Pass } from './pass/pass.ts'
import type { Callee } from './pass/key-use.ts'
import type { Scope } from './pass/scope.ts'
import { StepRun } from './step/step-run.ts'

/** A call of a handler that leaves a mark in the history and does nothing else. */
export interface MarkCaller {
  readonly pass: Pass
  readonly scope: Scope
  readonly callee: Callee
}

/** The mark is recorded like a step whose result is `value`: it has a place in the history, and later passes find it there. */
export function mark<T>({ pass, scope, callee }: MarkCaller, key: string, value: T): Promise<T> {
  const { position, memo } = pass.use({ key, as: 'step', scope, callee })
  if (memo !== undefined) {
    scope.answered(memo.seq)
    return Promise.resolve(value)
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
  const run = new StepRun(pass, scope, facts, () => value)
  run.begin()
  return run.answer.promise as Promise<T>
}

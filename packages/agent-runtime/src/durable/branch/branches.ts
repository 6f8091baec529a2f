import { assertOptions, type Rules, RuntimeError, show, type StepRecord } from '@ku0/agent-runtime-core'
import type { BranchesOptions, TaskContext } from '../../api/task-context.ts'
import { refused } from '../pass/answer.ts'
import { type Branch, ContestRun } from './branch-run.ts'
import { checkKey, type Pass } from '../pass/pass.ts'
import type { Callee } from '../pass/key-use.ts'
import type { Scope } from '../pass/scope.ts'
import { isWait } from '../wait/wait-calls.ts'

type Kind = 'race' | 'all'

/**
 * The caller of branches: the pass, the scope, the method that was called, and a function that makes a
 * branch's context.
 */
export interface BranchCaller {
  readonly pass: Pass
  readonly scope: Scope
  readonly callee: Callee
  readonly contextOf: (scope: Scope) => TaskContext
}

/** One call of `ctx.race` or `ctx.all`. Source: `docs/semantics.md 12.3, 12.4`. */
export function runBranches(
  kind: Kind,
  caller: BranchCaller,
  key: unknown,
  branches: unknown,
  options: unknown,
): Promise<never> {
  const { pass, scope, callee, contextOf } = caller
  try {
    if (scope.closedBy !== undefined) throw scope.closedBy
    checkKey(key, kind)
    const functions = readBranches(kind, key, branches)
    assertOptions(`${kind} '${key}'`, options, branchesRules)
    const { timeoutMs } = (options ?? {}) as BranchesOptions
    const { position, memo } = pass.use({ key, as: 'step', branches: kind, scope, callee })
    if (memo !== undefined) return Promise.resolve(replayed(caller, memo, position) as never)
    const terms = { kind, key, position, timeoutMs, branches: functions.map(([name]) => name) }
    return new ContestRun(pass, scope, terms).run(functions, contextOf) as Promise<never>
  } catch (error) {
    return refused(scope, kind, key, error)
  }
}

const branchesRules: Rules<BranchesOptions> = { timeoutMs: isWait }

function readBranches(kind: Kind, key: string, branches: unknown): readonly (readonly [string, Branch])[] {
  const entries: [string, unknown][] =
    typeof branches === 'object' && branches !== null && !Array.isArray(branches)
      ? Object.entries(branches)
      : []
  if (entries.length === 0) {
    throw new RuntimeError(
      'invalid_argument',
      `${kind} '${key}' needs an object with at least one branch by name, not ${show(branches)}`,
    )
  }
  for (const [name, branch] of entries) {
    if (typeof branch !== 'function') {
      throw new RuntimeError(
        'invalid_argument',
        `branch '${name}' of ${kind} '${key}' is a function, not ${show(branch)}`,
      )
    }
  }
  return entries as [string, Branch][]
}

function replayed({ pass, scope }: BranchCaller, memo: StepRecord, position: number): unknown {
  const { claim, parts } = pass.attempt
  parts.announce('step.replayed', claim.taskId, memo.seq, { key: memo.key, position })
  scope.answered(memo.seq)
  return parts.values.decode(memo.result)
}

import { branchLimitKey } from '@ku0/agent-runtime-core'
import type { Pass } from './pass.ts'
import { type BranchScope, isWithin, type Scope } from './scope.ts'

/** A decided race or all: its place, its branches, and those branches whose children stay. */
export interface Decided {
  readonly key: string
  readonly position: number
  /** The scope that called it. */
  readonly around: Scope
  readonly branches: readonly BranchScope[]
  /** The scopes of the branches and of their time limit. */
  readonly scopes: readonly BranchScope[]
  readonly stay: readonly BranchScope[]
}

/** What a decision ends: open waits and children, by key. */
export interface Drops {
  readonly drops?: readonly string[]
  readonly dropsChildren?: readonly string[]
}

/**
 * What nobody waits for once a race or an all is decided, in the form that the write of the decision takes.
 */
export function leftOver(pass: Pass, decided: Decided): Drops {
  const drops = openWaits(pass, decided)
  const dropsChildren = orphans(pass, decided)
  return {
    ...(drops.length === 0 ? {} : { drops }),
    ...(dropsChildren.length === 0 ? {} : { dropsChildren }),
  }
}

/** The keys of waits in the branches, including waits that this pass has not reached. */
function openWaits({ waits, memos }: Pass, { key, position, around, scopes }: Decided): readonly string[] {
  const keys = new Set(waits.keysWithin(new Set(scopes)))
  // An earlier version of the code may have had a time limit.
  if (memos.open.has(branchLimitKey(key))) keys.add(branchLimitKey(key))
  if (around.position === undefined) {
    for (const open of memos.open.values()) if (open.position === position) keys.add(open.key)
  }
  for (const open of keys) memos.open.delete(open)
  return [...keys]
}

/**
 * The keys of the children that belong to branches that lost, including children that this pass has not
 * reached.
 */
function orphans(
  { children, memos }: Pass,
  { position, around, branches, stay }: Decided,
): readonly string[] {
  const kept = new Set<Scope>(stay)
  const lost = new Set<Scope>(branches.filter((branch) => !kept.has(branch)))
  const keys = new Set([...children].flatMap(([key, scope]) => (isWithin(scope, lost) ? [key] : [])))
  const isKept = (key: string) => {
    const scope = children.get(key)
    return scope !== undefined && isWithin(scope, kept)
  }
  if (around.position === undefined && lost.size > 0) {
    for (const child of memos.children.values())
      if (child.position === position && !isKept(child.key)) keys.add(child.key)
  }
  return [...keys]
}

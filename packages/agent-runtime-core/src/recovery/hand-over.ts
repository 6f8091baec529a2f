import { SHUTDOWN_LABEL } from '../supervision/shutdown.ts'
import { RESERVED } from '../wait/wait.ts'

/** The key of the child that a task is handed over to, the nth time from 1. Source: `docs/semantics.md 14.3`. */
export function handOverKey(nth: number): string {
  return `${HAND_OVER}${nth}`
}

/** Whether a child is one that its parent was handed over to. */
export function isHandOver(key: string): boolean {
  return key.startsWith(HAND_OVER)
}

/** The label of a task that another one was handed over to: a list of the types that handed over, as JSON, the first one first. */
export const HANDED_OVER_LABEL = 'recovery.handedOverBy'

/** The chain goes on, or why it does not. */
export type Chain =
  | { readonly as: 'goes_on'; readonly label: string }
  | { readonly as: 'circle' | 'too_long'; readonly types: readonly string[] }

/**
 * The label of the next task in a chain of them. A task without a parent was handed over by nobody, whatever its label says. Source:
 * `docs/semantics.md 14.3`.
 */
export function decideChain(
  { parentId, labels }: { readonly parentId?: string; readonly labels?: Readonly<Record<string, string>> },
  from: string,
  to: string,
): Chain {
  const before = parentId === undefined ? [] : typesIn(labels?.[HANDED_OVER_LABEL])
  const types = [...before, from]
  if (types.includes(to)) return { as: 'circle', types }
  if (types.length > MAX_HAND_OVERS) return { as: 'too_long', types }
  return { as: 'goes_on', label: JSON.stringify(types) }
}

/**
 * The labels that the next task in a chain begins with: its chain, and how long the one before it may take to stop. `label`: that of {@link decideChain}.
 * Source: `docs/semantics.md 14.3`.
 */
export function handOverLabels(
  labels: Readonly<Record<string, string>> | undefined,
  label: string,
): Readonly<Record<string, string>> {
  const shutdownMs = labels?.[SHUTDOWN_LABEL]
  return {
    [HANDED_OVER_LABEL]: label,
    ...(shutdownMs === undefined ? {} : { [SHUTDOWN_LABEL]: shutdownMs }),
  }
}

/** Why a task is not handed over. */
export function chainRefusal(
  { as, types }: Exclude<Chain, { readonly as: 'goes_on' }>,
  from: string,
  to: string,
): string {
  const names = types.join("', '")
  const why =
    as === 'circle'
      ? `it was handed over by '${names}'`
      : `a task is handed over at most ${MAX_HAND_OVERS} times, and it was by '${names}'`
  return `task '${from}' is not handed over to '${to}': ${why}`
}

function typesIn(label: string | undefined): readonly string[] {
  try {
    const types: unknown = JSON.parse(label ?? '[]')
    return Array.isArray(types) ? types.filter((type) => typeof type === 'string') : []
  } catch {
    return []
  }
}

/** A task that was handed over so often is handed over no more. */
export const MAX_HAND_OVERS = 8
const HAND_OVER = `${RESERVED}hand-over/`

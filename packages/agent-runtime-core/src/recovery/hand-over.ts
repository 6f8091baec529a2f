import { RESERVED } from '../wait/wait.ts'

/** The key of the child that a task is handed over to; `seq`: the event of the failure. Source: `docs/semantics.md 14.3`. */
export function handOverKey(seq: number): string {
  return `${HAND_OVER}${seq}`
}

/** Whether a child is one that its parent was handed over to. */
export function isHandOver(key: string): boolean {
  return key.startsWith(HAND_OVER)
}

/** The label of a task that another one was handed over to: the types that handed over, the first one first. */
export const HANDED_OVER_LABEL = 'recovery.handedOverBy'

/** The label of the next task in a chain of them; undefined where `to` is in the chain already, or the chain is too long. Source: `docs/semantics.md 14.3`. */
export function decideChain(before: string | undefined, from: string, to: string): string | undefined {
  const chain = [...(before === undefined ? [] : before.split(ARROW)), from]
  return chain.includes(to) || chain.length > MAX_HAND_OVERS ? undefined : chain.join(ARROW)
}

/** A task that was handed over so often is handed over no more. */
export const MAX_HAND_OVERS = 8
const ARROW = ' > '
const HAND_OVER = `${RESERVED}hand-over/`

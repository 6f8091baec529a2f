import type { ChildRow } from '../child/row.ts'
import type { TaskRow } from '../task/row.ts'
import type { WaitRow } from '../wait/row.ts'
import { isRetryWait } from '../history/replay.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import {
  afterIn,
  READY_KEY,
  RESTART_NAME,
  type Sibling,
  supervisedIn,
  supervisedKey,
  type SupervisedChild,
  type SupervisorTerms,
  supervisorTerms,
} from './supervision.ts'

/** A supervisor as a flush sees it. */
export interface Supervisor {
  readonly task: TaskRow
  readonly wait: WaitRow
  readonly terms: SupervisorTerms
}

/** The supervisor that a task is; undefined for one that is none, or is none any more. */
export function supervisorOf(ws: WorkingSet, { id }: { readonly id: number }): Supervisor | undefined {
  for (const wait of ws.waitsOf({ id })) {
    const terms = supervisorTerms(wait.key)
    if (terms !== undefined) return { task: ws.taskNow({ id }), wait, terms }
  }
  return undefined
}

/** A child that has not ended, with its row. */
export interface OpenChild extends SupervisedChild {
  readonly row: ChildRow
}

/** The supervised children that have not ended, in the order in which they were started first. */
export function openChildren(ws: WorkingSet, task: { readonly id: number }): readonly OpenChild[] {
  return [...ws.childrenOf(task).values()]
    .flatMap((row) => {
      const seat = supervisedIn(row.key)
      return seat === undefined ? [] : [{ ...seat, row }]
    })
    .toSorted((a, b) => a.row.position - b.row.position || a.row.task - b.row.task)
}

/** Whether a child is as far as another one of its supervisor needs it. One that was ready once is ready: what it recorded for that stays. */
export function isThere(ws: WorkingSet, parent: { readonly id: number }, sibling: Sibling): boolean {
  const row = ws.child(parent.id, supervisedKey(sibling))
  if (row === undefined) return false
  if (ws.task(row.task)?.state === 'completed') return true
  return sibling.until === 'ready' && ws.hasMemo(row.task, READY_KEY)
}

/** Whether a wait of a supervisor is one for siblings of a child, and they are all as far. */
export function isAfterOver(
  ws: WorkingSet,
  task: { readonly id: number },
  { key }: Pick<WaitRow, 'key'>,
): boolean {
  return afterIn(key)?.after.every((sibling) => isThere(ws, task, sibling)) ?? false
}

/** Whether a supervisor has no child left, and none that finds no room and starts later. */
export function hasNoChildLeft(
  ws: WorkingSet,
  task: { readonly id: number },
  waits: readonly Pick<WaitRow, 'key'>[],
): boolean {
  return ws.childrenOf(task).size === 0 && !waits.some(({ key }) => isRetryWait(key))
}

/** When a supervisor started children again, as far as it may still count. */
export function restartTimes(ws: WorkingSet, task: { readonly id: number }): readonly number[] {
  return ws.signalsOf(task).flatMap(({ name, at }) => (name === RESTART_NAME ? [at] : []))
}

/** Only the last `left` restarts count from now on. */
export function forgetRestarts(ws: WorkingSet, task: { readonly id: number }, left = 0): void {
  const kept = ws.signalsOf(task).filter(({ name }) => name === RESTART_NAME)
  for (const restart of kept.slice(0, kept.length - left)) ws.takeSignal(task, restart)
}

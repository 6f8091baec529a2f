import type { ChildRecord } from '../child/schema.ts'
import type { ChildRow } from '../child/row.ts'
import { recordOf } from '../child/spawn.ts'
import { submissionOf } from '../history/inherit.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import type { Submission } from '../submit/submission.ts'
import { submitOne, submitPast } from '../submit/submit.ts'
import { isFinal } from '../task/states.ts'
import type { TaskRow } from '../task/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { type Supervisor, supervisorOf } from './standing.ts'
import { labelsWithShutdown } from './shutdown.ts'
import { childRestarts, supervisedIn, supervisedKey } from './supervision.ts'

/** A supervisor gets one more child. Source: `docs/semantics.md 14.2`. */
export function startChild(ws: WorkingSet, it: Write<'startChild'>): OutcomeOf<'startChild'> {
  const supervisor = named(ws, it.taskId)
  if (supervisor === undefined) return { as: 'no_supervisor' }
  const { task } = supervisor
  const before = childOf(ws, task, it.id)
  if (before !== undefined) {
    const child = recordOf(ws, before)
    if (before.state === 'open') return { as: 'already_started', child }
    if (supervisedIn(before.key)?.restart !== 'temporary') return { as: 'already_present', child }
  }
  if (ws.childrenOf(task).size >= ws.config.maxChildren) return { as: 'full' }
  const { labels, ...rest } = it.submission
  const submission = { ...rest, ...labelsWithShutdown(labels, { supervisor: supervisor.terms.shutdownMs }) }
  const receipt = submitOne(ws, under(ws, task, submission), task.id)
  if (!receipt.accepted) return { as: 'refused', receipt }
  const position = 1 + Math.max(-1, ...ws.allChildren(task).map((child) => child.position))
  const key = supervisedKey(it)
  return { as: 'started', child: adopt(ws, task, { key, position }, receipt.sequence, it.submission.type) }
}

/** A child that ended starts again, without what it had recorded. Source: `docs/semantics.md 14.2`. */
export function restartChild(ws: WorkingSet, it: Write<'restartChild'>): OutcomeOf<'restartChild'> {
  const supervisor = named(ws, it.taskId)
  if (supervisor === undefined) return { as: 'no_supervisor' }
  const before = childOf(ws, supervisor.task, it.id)
  if (before === undefined) return { as: 'unknown_child' }
  if (before.state === 'open') return { as: 'running', child: recordOf(ws, before) }
  const child = startAnew(ws, supervisor.task, before)
  return child === undefined ? { as: 'unknown_child' } : { as: 'started', child }
}

/**
 * The child's submission again, as a new task under the key of the one that ended, past the limits of admission: the place is the child's.
 * Undefined if what is stored of it cannot be trusted.
 */
export function startAnew(
  ws: WorkingSet,
  parent: { readonly id: number },
  before: ChildRow,
): ChildRecord | undefined {
  const history = ws.base.histories.get(before.task)
  if (history === undefined || 'fault' in history) return undefined
  const task = ws.taskNow(parent)
  const submission = submissionOf(history.submission)
  const receipt = submitPast(ws, under(ws, task, submission), task.id)
  return adopt(ws, task, before, receipt.sequence, submission.type)
}

function adopt(
  ws: WorkingSet,
  parent: TaskRow,
  { key, position }: Pick<ChildRow, 'key' | 'position'>,
  child: number,
  type: string,
): ChildRecord {
  const taskId = JSON.stringify(ws.taskId(child))
  const { seq } = ws.move(
    ws.taskNow(parent),
    {},
    'child.spawned',
    `{"key":${JSON.stringify(key)},"policy":"cancel","position":${position},"taskId":${taskId},"type":${JSON.stringify(type)}}`,
  )
  const row: ChildRow = {
    parent: parent.id,
    key,
    task: child,
    position,
    policy: 'cancel',
    seq,
    state: 'open',
  }
  ws.putChild(row)
  return recordOf(ws, row)
}

function named(ws: WorkingSet, taskId: string): Supervisor | undefined {
  const task = ws.taskNamed(taskId)
  return task === undefined || isFinal(task.state) ? undefined : supervisorOf(ws, task)
}

/** The child of an id, however it is started again. */
function childOf(ws: WorkingSet, { id: parent }: TaskRow, id: string): ChildRow | undefined {
  return childRestarts
    .flatMap((restart) => ws.child(parent, supervisedKey({ id, restart })) ?? [])
    .toSorted((a, b) => b.seq - a.seq)[0]
}

function under(ws: WorkingSet, parent: TaskRow, submission: Submission): Submission {
  return { ...submission, parentId: ws.taskId(parent.id) }
}

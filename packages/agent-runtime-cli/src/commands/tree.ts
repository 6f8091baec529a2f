import type { TaskStatus } from '@ku0/agent-runtime'
import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { taskIn } from '../task-id.ts'
import { noTask } from '../missing-task.ts'
import type { Line } from '../screen/printer.ts'
import { notesOf, stateText } from '../screen/tasks.ts'
import type { Connection } from '../remote.ts'

interface Branch {
  readonly task: TaskStatus
  readonly children: readonly Branch[]
  /** There are more children than are shown. */
  readonly isCut: boolean
}

export const run: Run = async ({ args: [given = ''], options, print, settings, system }) => {
  await using client = await connect(await settings())
  const taskId = await taskIn(client, given)
  const task = await client.status(taskId)
  if (task === undefined) throw noTask(taskId)
  const { depth = 10 } = options as { readonly depth?: number }
  const tree = await branchOf(client, task, depth)
  print.answer(tree, () => drawn(tree, system.now()))
  return 0
}

/** At most so many children of one task are shown. */
const MOST = 100

async function branchOf(client: Connection, task: TaskStatus, depth: number): Promise<Branch> {
  if (depth === 0) return { task, children: [], isCut: false }
  const { tasks, cursor } = await client.list({ parent: task.taskId, limit: MOST })
  const children: Branch[] = []
  for (const child of tasks.toReversed()) children.push(await branchOf(client, child, depth - 1))
  return { task, children, isCut: cursor !== undefined && tasks.length === MOST }
}

function drawn(branch: Branch, now: number, before = '', isLast = true, isRoot = true): readonly Line[] {
  const { task, children, isCut } = branch
  const below = isRoot ? '' : `${before}${isLast ? '   ' : '│  '}`
  const notes = notesOf(task, now)
  const line: Line = [
    isRoot ? '' : `${before}${isLast ? '└─ ' : '├─ '}`,
    { text: task.type, style: 'bold' },
    ' ',
    stateText(task.state),
    notes === '' ? '' : ` ${notes}`,
    { text: `  ${task.taskId}`, style: 'dim' },
  ]
  const rest = children.flatMap((child, at) =>
    drawn(child, now, below, at === children.length - 1 && !isCut, false),
  )
  return [
    line,
    ...rest,
    ...(isCut ? [`${below}└─ and more: agent-runtime list --parent ${task.taskId}`] : []),
  ]
}

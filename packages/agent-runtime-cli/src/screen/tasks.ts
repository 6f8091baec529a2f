import type { TaskStatus } from '@ku0/agent-runtime'
import { keyText, RESERVED } from '@ku0/agent-runtime-core'
import type { Line, Piece, Style } from './printer.ts'
import { table } from './table.ts'
import { ago, count, cut, lasting } from './words.ts'

const styles: Readonly<Record<TaskStatus['state'], Style>> = {
  queued: 'cyan',
  running: 'yellow',
  waiting: 'cyan',
  completed: 'green',
  failed: 'red',
  canceled: 'dim',
  rejected: 'red',
}

/** A state in its colour. */
export function stateText(state: TaskStatus['state']): Piece {
  return { text: state, style: styles[state] }
}

/** Notes on a task beside its state, in a few words. */
export function notesOf(task: TaskStatus, now: number): string {
  switch (task.state) {
    case 'queued':
      return task.dueAt === undefined || task.dueAt <= now ? '' : `due ${ago(task.dueAt, now)}`
    case 'running':
      return task.lease.expiresAt < now
        ? `its lease ended ${ago(task.lease.expiresAt, now)}: a worker takes it up again`
        : `for ${lasting(Math.max(0, now - task.startedAt))} on ${task.lease.workerId}`
    case 'waiting':
      return `for ${waitsText(task)}`
    case 'completed':
      return `${lasting(task.finishedAt - task.submittedAt)} after its submission`
    case 'failed':
      return `${task.kind}: ${firstLine(task.error.message)}`
    case 'canceled':
      return task.reason ?? ''
    case 'rejected':
      return `${task.reason}: ${firstLine(task.message)}`
  }
}

type Waiting = Extract<TaskStatus, { state: 'waiting' }>

function waitsText({ waits, moreWaits = 0, waitingFor }: Waiting): string {
  const names = [...new Set(waits.map(waitNote))]
  const more = Math.max(0, names.length - MOST_NAMED) + moreWaits
  const named = names.slice(0, MOST_NAMED).join(', ') || waitingFor
  return more === 0 ? named : `${named} and ${count(more)} more`
}

const MOST_NAMED = 3

/** The runtime's own waits in words. */
function waitNote({ kind, key, name }: Waiting['waits'][number]): string {
  if (kind !== 'signal' || name === undefined) return kind
  return name.startsWith(RESERVED) ? keyText(key) : `signal ${name}`
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}

/** Tasks as a table. `columns`: the width there is, if it matters. */
export function taskTable(tasks: readonly TaskStatus[], now: number, columns?: number): readonly Line[] {
  const room = columns === undefined ? MOST_WITHOUT_SCREEN : Math.max(20, columns - 36 - widest(tasks) - 40)
  return table(
    ['TASK', 'TYPE', 'STATE', 'LANE', 'TRY', 'STEPS', 'SUBMITTED', 'NOTE'],
    tasks.map((task) => [
      task.taskId,
      task.type,
      stateText(task.state),
      task.lane === 'normal' ? '' : task.lane,
      task.attempt === 1 ? '' : String(task.attempt),
      task.steps === 0 ? '' : String(task.steps),
      ago(task.submittedAt, now),
      cut(notesOf(task, now), room),
    ]),
  )
}

/** A note is cut there where the answer goes to a file or another program; `--json` has all of it. */
const MOST_WITHOUT_SCREEN = 160

function widest(tasks: readonly TaskStatus[]): number {
  return Math.max(0, ...tasks.map(({ type }) => type.length))
}

import { approvalName, TIMEOUT_VERDICT } from '../approval/approval.ts'
import { childName } from '../child/child.ts'
import { canonical } from '../codec/codec.ts'
import { isRetryWait } from './replay.ts'
import type { EventData, StoredEvent } from '../event/event.ts'
import { canMove, isFinal, type TaskState } from '../task/states.ts'
import { RESTART_NAME, supervisedIn } from '../supervision/supervision.ts'
import { addUsage, usageOf, type UsageSum } from '../budget/usage.ts'
import type { OpenWait } from '../wait/schema.ts'

/**
 * The row that a task's events make, and the moves that the table of states does not have. `fenceFloors`: above which the tokens of each
 * incarnation after the first began.
 */
export function foldEvents(
  events: readonly Pick<StoredEvent, 'seq' | 'type' | 'at' | 'data'>[],
  fenceFloors: readonly number[] = [],
): {
  readonly row: Readonly<Record<string, unknown>>
  /** The open waits, in the order of their calls, and the signals not taken, by seq. */
  readonly waits: readonly OpenWait[]
  readonly signals: ReadonlyMap<number, string>
  /** The children that have not ended, by key. */
  readonly children: ReadonlyMap<string, EventData['child.spawned']>
  /**
   * Every child, also one that has ended, by key: the event that spawned or inherited it. A dropped child is
   * left out.
   */
  readonly childrenSince: ReadonlyMap<string, number>
  /** When the first of the waits is due, while it waits. */
  readonly waitDueAt: number | null
  readonly problems: readonly string[]
} {
  const problems: string[] = []
  const row: Record<string, unknown> & {
    state?: TaskState
    attempt: number
    crashes: number
    steps: number
  } = {
    attempt: 1,
    crashes: 0,
    steps: 0,
  }
  const waits = new Map<string, OpenWait>()
  const signals = new Map<number, string>()
  const children = new Map<string, EventData['child.spawned']>()
  const spawnedAt = new Map<string, number>()
  let waitDueAt: number | null = null
  let fence = 0
  let used: UsageSum | undefined
  let parkedFor: string | undefined
  let isAsking = false
  const open = (wait: OpenWait) => {
    if (!waits.has(wait.key)) waits.set(wait.key, wait)
  }
  const sendBack = (since: number, dropped: readonly string[] = []) => {
    for (const key of dropped) {
      waits.delete(key)
      for (const [arrived, name] of signals) if (name === approvalName(key)) signals.delete(arrived)
    }
    for (const [key, seq] of spawnedAt) {
      if (seq <= since) continue
      spawnedAt.delete(key)
      children.delete(key)
      for (const [arrived, name] of signals) if (name === childName(key)) signals.delete(arrived)
    }
  }
  const end = ({ key, name, outcome, value }: EventData['wait.resolved'], seq: number) => {
    waits.delete(key)
    if (outcome === 'fired' || outcome === 'timed_out' || outcome === 'passed') return
    const [taken] = [...signals].find(([, unread]) => unread === name) ?? []
    if (taken === undefined && outcome !== 'received' && canonical(value) === TIMEOUT_VERDICT) return
    if (taken === undefined)
      problems.push(`I16 event ${seq} takes a signal ${String(name)} that was not sent`)
    else signals.delete(taken)
  }
  const isOver = () => row.state !== undefined && isFinal(row.state)
  const move = (to: TaskState, seq: number) => {
    if (row.state !== undefined && !canMove(row.state, to))
      problems.push(`I4 event ${seq} moves ${row.state} to ${to}`)
    row.state = to
    delete row['waitingFor']
    delete row['checkpointed']
    if (to === 'running') row['checkpointed'] = false
    waitDueAt = null
    if (!isOver()) return
    waits.clear()
    signals.clear()
    children.clear()
  }
  for (const { seq, type, at, data } of events) {
    const it = JSON.parse(data) as Partial<Record<string, unknown>>
    if (it['charged'] !== undefined && type !== 'step.inherited') {
      used = addUsage(used, it['charged'] as UsageSum)
      row['used'] = usageOf(used)
    }
    switch (type) {
      case 'task.queued':
        move('queued', seq)
        row['type'] = it['type']
        row['lane'] = it['lane']
        row['input'] = canonical(it['input'])
        row['submittedAt'] = at
        for (const key of ['cost', 'schedule', 'scheduledFor', 'held', 'swarm', 'agent'])
          if (it[key] !== undefined) row[key] = it[key]
        if (it['parentId'] !== undefined) row['parent'] = it['parentId']
        break
      case 'task.rejected':
        move('rejected', seq)
        for (const key of ['type', 'lane', 'reason', 'message']) row[key] = it[key]
        row['finishedAt'] = at
        break
      case 'task.started': {
        const started = it as unknown as EventData['task.started']
        move('running', seq)
        fence = Math.max(fence, ...fenceFloors.filter((floor) => floor < started.fencingToken)) + 1
        if (started.fencingToken !== fence)
          problems.push(`I10 start ${seq} has fencing token ${started.fencingToken}, not ${fence}`)
        if (started.attempt !== row.attempt)
          problems.push(`I10 start ${seq} is of attempt ${started.attempt}, not ${row.attempt}`)
        row['startedAt'] = at
        break
      }
      case 'task.requeued': {
        const requeued = it as unknown as EventData['task.requeued']
        move('queued', seq)
        const rises = !['yielded', 'drained', 'rate_limited', 'restarted'].includes(requeued.reason)
        if (requeued.attempt !== row.attempt + (rises ? 1 : 0))
          problems.push(
            `I10 requeue ${seq} (${requeued.reason}) goes from attempt ${row.attempt} to ${requeued.attempt}`,
          )
        row.attempt = requeued.attempt
        if (requeued.reason === 'retry')
          for (const key of waits.keys()) if (isRetryWait(key)) waits.delete(key)
        for (const key of requeued.dropped ?? []) waits.delete(key)
        if (requeued.reason === 'expired' || requeued.reason === 'owner_dead') row.crashes += 1
        break
      }
      case 'task.completed':
        move('completed', seq)
        row['output'] = canonical(it['output'])
        row['finishedAt'] = at
        break
      case 'task.failed':
        move('failed', seq)
        row['kind'] = it['kind']
        row['error'] = canonical(it['error'])
        row['finishedAt'] = at
        if (it['kind'] === 'poisoned' || it['kind'] === 'lease_lost') row.crashes += 1
        break
      case 'task.canceled':
        if (it['from'] !== row.state)
          problems.push(`I4 cancel ${seq} is from ${String(it['from'])}, not ${row.state}`)
        move('canceled', seq)
        row['finishedAt'] = at
        if (it['reason'] !== undefined) row['reason'] = it['reason']
        break
      case 'task.waiting': {
        const { reason, waits: asked, dueAt = {} } = it as unknown as EventData['task.waiting']
        move('waiting', seq)
        row['waitingFor'] = reason
        parkedFor = reason === 'divergence' || reason === 'budget' ? reason : undefined
        for (const wait of asked) {
          const due = dueAt[wait.key]
          open(due === undefined ? wait : { ...wait, dueAt: due })
        }
        const times = Object.values(dueAt)
        if (times.length > 0) waitDueAt = Math.min(...times)
        break
      }
      case 'task.resumed':
        if (isParking(it['reason']) ? it['reason'] !== parkedFor : parkedFor !== undefined)
          problems.push(
            `I4 resume ${seq} is for ${String(it['reason'])}, and the task was parked for ${parkedFor ?? 'nothing'}`,
          )
        move('queued', seq)
        if (!isParking(it['reason'])) end(it as unknown as EventData['wait.resolved'], seq)
        if (typeof it['since'] === 'number') sendBack(it['since'], it['dropped'] as string[] | undefined)
        break
      case 'signal.received':
        if (isOver()) problems.push(`I4 signal ${seq} for a task that is ${row.state}`)
        signals.set(seq, String(it['name']))
        break
      case 'approval.resolved':
        if (isOver()) problems.push(`I4 verdict ${seq} for a task that is ${row.state}`)
        signals.set(seq, approvalName(String(it['key'])))
        break
      case 'child.ended':
        if (isOver()) problems.push(`I4 the end of a child, ${seq}, for a task that is ${row.state}`)
        // Only the end of an inherited child is recorded.
        if (!children.delete(String(it['key'])) && fence > 0)
          problems.push(`I22 event ${seq} ends child ${String(it['key'])}, which is not open`)
        if (supervisedIn(String(it['key'])) === undefined) signals.set(seq, String(it['name']))
        break
      case 'child.inherited':
      case 'doubt.inherited':
      case 'step.inherited':
      case 'wait.inherited':
        // The retry of a supervisor keeps a child when it would start it.
        if (type === 'child.inherited' && supervisedIn(String(it['key'])) !== undefined) {
          if (row.state !== 'running') problems.push(`I7 ${type} ${seq} although the task was ${row.state}`)
        } else if (fence > 0 || row.state !== 'queued')
          problems.push(`I7 ${type} ${seq} although it has begun`)
        if (type === 'step.inherited') row.steps += 1
        if (type === 'child.inherited') spawnedAt.set(String(it['key']), seq)
        if (typeof it['since'] === 'number') sendBack(it['since'])
        break
      case 'step.started':
      case 'child.spawned':
      case 'step.completed':
      case 'step.failed':
      case 'wait.started':
      case 'wait.resolved':
      case 'approval.requested':
      case 'checkpoint.created':
        if (row.state !== 'running' && !isStartedFromOutside(type, it))
          problems.push(`I7 ${type} ${seq} although the task was ${row.state}`)
        if (type === 'step.completed') row.steps += 1
        if (row.state === 'running') row['checkpointed'] = type === 'checkpoint.created'
        if (type === 'wait.started') open(it as unknown as OpenWait)
        if (type === 'approval.requested') open(approvalIn(it as unknown as EventData['approval.requested']))
        if (type === 'wait.resolved') end(it as unknown as EventData['wait.resolved'], seq)
        for (const key of (it['dropped'] ?? []) as string[]) waits.delete(key)
        for (const key of (it['droppedChildren'] ?? []) as string[]) {
          if (!children.delete(key)) problems.push(`I22 event ${seq} drops child ${key}, which is not open`)
          spawnedAt.delete(key)
        }
        if (type === 'child.spawned') {
          const child = it as unknown as EventData['child.spawned']
          if (children.has(child.key)) problems.push(`I22 event ${seq} spawns a second child ${child.key}`)
          children.set(child.key, child)
          spawnedAt.set(child.key, seq)
        }
        break
      case 'supervisor.restarted':
        if (isOver()) problems.push(`I4 ${type} ${seq} for a task that is ${row.state}`)
        signals.set(seq, RESTART_NAME)
        forgetRestarts(signals, it['count'] as number)
        break
      case 'supervisor.escalated':
      case 'supervisor.renewed':
        if (isOver()) problems.push(`I4 ${type} ${seq} for a task that is ${row.state}`)
        forgetRestarts(signals, 0)
        break
      case 'limit.warned':
        if (row.state !== 'running') problems.push(`I7 ${type} ${seq} although the task was ${row.state}`)
        break
      case 'credits.asked':
        if (row.state !== 'queued') problems.push(`I4 ${type} ${seq} for a task that is ${row.state}`)
        break
      case 'task.leaked':
      case 'task.killed':
      case 'task.charged':
        break
      case 'agreement.missed':
        if (isOver()) problems.push(`I4 ${type} ${seq} for a task that is ${row.state}`)
        break
      case 'budget.asked':
      case 'budget.continued':
        if (isOver()) problems.push(`I4 ${type} ${seq} for a task that is ${row.state}`)
        if (isAsking !== (type === 'budget.continued'))
          problems.push(`I25 ${type} ${seq} although it ${isAsking ? 'asks already' : 'has not asked'}`)
        isAsking = type === 'budget.asked'
        break
      default:
        problems.push(`I4 event ${seq} of type ${type} is not known here`)
    }
  }
  const inOrder = [...waits.values()].toSorted((a, b) => a.position - b.position || (a.key < b.key ? -1 : 1))
  return { row, waits: inOrder, signals, children, childrenSince: spawnedAt, waitDueAt, problems }
}

/** Only the last so many restarts count. */
function forgetRestarts(signals: Map<number, string>, left: number): void {
  const restarts = [...signals].flatMap(([seq, name]) => (name === RESTART_NAME ? [seq] : []))
  for (const seq of restarts.slice(0, restarts.length - left)) signals.delete(seq)
}

/** A supervisor gets children while no process runs it. */
function isStartedFromOutside(type: string, { key }: Partial<Record<string, unknown>>): boolean {
  return type === 'child.spawned' && supervisedIn(String(key)) !== undefined
}

function isParking(reason: unknown): boolean {
  return reason === 'divergence' || reason === 'budget'
}

function approvalIn({ key, position, dueAt }: EventData['approval.requested']): OpenWait {
  return {
    key,
    position,
    kind: 'approval',
    name: approvalName(key),
    ...(dueAt === undefined ? {} : { dueAt }),
  }
}

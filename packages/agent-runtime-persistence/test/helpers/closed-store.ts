import assert from 'node:assert/strict'
import type { EventData, ExecutionConfig, Lane } from '@ku0/agent-runtime-core'
import Database from 'better-sqlite3'
import { verifyStore } from '../../src/index.ts'

/** Rejects when anything is wrong with a store that every process has closed. */
export async function assertClosedStore(path: string, config: ExecutionConfig): Promise<void> {
  assert.deepEqual(await closedStoreFaults(path, config), [])
}

/**
 * The faults of a store that every process has closed, one line each: what `verifyStore` reports, and three rules that it does not hold:
 * it has no configuration to judge admissions by, a process may be open while it runs, and a value that nothing names harms nobody.
 */
export async function closedStoreFaults(path: string, config: ExecutionConfig): Promise<readonly string[]> {
  const { faults } = await verifyStore(`sqlite:${path}`)
  const db = new Database(path, { readonly: true, fileMustExist: true })
  try {
    return [
      ...faults.map(({ where, expected, actual }) => `${where}: expected ${expected}, found ${actual}`),
      ...openProcesses(db),
      ...strayBlobs(db),
      ...admissionFaults(db, config),
    ]
  } finally {
    db.close()
  }
}

/** For a store on which a process was killed: nobody may have noticed yet that it is gone. */
export function besideTheDead(faults: readonly string[]): readonly string[] {
  return faults.filter((line) => !line.startsWith('processes '))
}

function* openProcesses(db: Database.Database): Iterable<string> {
  const open = db.prepare<[], number>('SELECT id FROM process WHERE ended_at IS NULL').pluck().all()
  if (open.length > 0) yield `processes ${open.join(', ')} have not ended`
}

function strayBlobs(db: Database.Database): readonly string[] {
  const stray = db.prepare<[], string>('SELECT sha256 FROM blob EXCEPT SELECT blob FROM event').pluck().all()
  return stray.map((sha256) => `blob ${sha256} belongs to nothing`)
}

interface AdmissionColumns {
  readonly number: number
  readonly task: number
  readonly type: keyof EventData
  readonly at: number
  readonly data: string
  readonly lane: Lane | null
}

/** I13: each submission was rightly accepted or refused at the depth that it met. */
function* admissionFaults(db: Database.Database, config: ExecutionConfig): Iterable<string> {
  const { queueDepthLimit, batchBackpressureThreshold } = config
  const events = db.prepare<[], AdmissionColumns>(
    `SELECT journal.number, event.task, event.type, event.at, event.data,
       CASE stream.lane_rank WHEN 0 THEN 'interactive' WHEN 1 THEN 'normal' WHEN 2 THEN 'batch' END AS lane
     FROM journal, json_each(journal.touched) AS stretch
       JOIN event ON event.task = stretch.value ->> 0 AND event.seq BETWEEN stretch.value ->> 1 AND stretch.value ->> 2
       JOIN task ON task.id = event.task LEFT JOIN stream ON stream.id = task.stream
     ORDER BY journal.number, stretch.key, event.seq`,
  )
  /** When each queued task is due. */
  const queued = new Map<number, number>()
  const depthAt = (now: number) => [...queued.values()].filter((dueAt) => dueAt <= now).length
  for (const { number, task, type, at, data, lane } of events.iterate()) {
    const { dueAt = 0, reason, held } = JSON.parse(data) as Partial<Admission>
    if (type === 'task.queued' && dueAt <= at && held !== true) {
      const depth = depthAt(at)
      if (depth >= queueDepthLimit || (lane === 'batch' && depth >= batchBackpressureThreshold))
        yield `I13 commit ${number} accepted ${lane} task ${task} at depth ${depth}`
    }
    if (type === 'task.rejected' && reason === 'backpressure' && depthAt(at) < batchBackpressureThreshold)
      yield `I13 commit ${number} refused task ${task} by backpressure at depth ${depthAt(at)}`
    if (type === 'task.queued' || type === 'task.requeued' || type === 'task.resumed') queued.set(task, dueAt)
    else if (leavesQueue.has(type)) queued.delete(task)
  }
}

interface Admission {
  readonly dueAt: number
  readonly reason: string
  readonly held: true
}

/** A task that fails while it is queued has run out of its budget. */
const leavesQueue: ReadonlySet<string> = new Set(['task.started', 'task.canceled', 'task.failed'])

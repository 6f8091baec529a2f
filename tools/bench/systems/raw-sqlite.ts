import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { migrations } from '../../../packages/agent-runtime-persistence/src/sqlite/schema.ts'
import { benchFolder } from '../registry.ts'
import { nothing, stepsOf, type Job, type Open } from '../system.ts'

/** The driver that the runtime has, as far as it is used here. */
interface Database {
  prepare(text: string): Statement
  transaction<A extends readonly unknown[], R>(run: (...args: A) => R): (...args: A) => R
  pragma(text: string): unknown
  exec(text: string): unknown
  close(): void
}

interface Statement {
  run(...values: readonly unknown[]): unknown
  get(...values: readonly unknown[]): unknown
  all(...values: readonly unknown[]): unknown[]
  pluck(): Statement
}

const Driver = createRequire(join(benchFolder, '../../packages/agent-runtime-persistence/package.json'))(
  'better-sqlite3',
) as new (file: string) => Database

const lease = '426f12fd-fbe4-8240-8c58-0000000003e9'
const worker = 'b6e98ceb-7b35-460a-a64e-6edd4b73532e/1'

/**
 * What SQLite can do at most with the rows of this runtime: the same tables and rows, written by prepared statements, with the sync before
 * each answer. It checks nothing, and knows no limits, no leases that run out and no other process.
 */
export const rawSqlite: Open = async ({ place, job, atOnce = 500 }) => {
  const db = new Driver(join(place.folder, 'raw.db'))
  for (const pragma of [
    'journal_mode = WAL',
    'synchronous = FULL',
    'cache_size = -8192',
    'wal_autocheckpoint = 4000',
  ])
    db.pragma(pragma)
  if (db.prepare('PRAGMA user_version').pluck().get() === 0) {
    for (const { sql } of migrations) db.exec(sql)
    db.pragma(`user_version = ${migrations.length}`)
  }
  db.prepare(
    "INSERT OR IGNORE INTO stream VALUES (1, '[1,\"bench\"]', 1, 'bench', '[]', 0, 0, '', 0, 0, 0)",
  ).run()
  const rows = prepare(db)
  const add = db.transaction((tasks: readonly number[]) => rows.queue(tasks))
  const group = together(add)
  let stopped = false
  let running: Promise<void> | undefined
  return {
    submit: group,
    submitMany: async (tasks) => add(tasks),
    start: async () => {
      running = work(db, rows, job ?? nothing, atOnce, () => stopped)
    },
    close: async () => {
      stopped = true
      await running
      db.close()
    },
  }
}

/** Calls of one turn of the event loop share a transaction, as they do in any store that batches. */
function together(add: (tasks: readonly number[]) => unknown): (task: number) => Promise<void> {
  let waiting: { task: number; done: () => void }[] = []
  return (task) =>
    new Promise((done) => {
      waiting.push({ task, done })
      if (waiting.length > 1) return
      setImmediate(() => {
        const now = waiting
        waiting = []
        add(now.map((it) => it.task))
        for (const it of now) it.done()
      })
    })
}

type Rows = ReturnType<typeof prepare>

/** Round by round: what has ended, and as many new tasks, in one transaction; then their steps. */
async function work(db: Database, rows: Rows, job: Job, atOnce: number, isStopped: () => boolean) {
  let running: readonly number[] = []
  // Rows count from 1, tasks from 0.
  const steps = (id: number) => stepsOf(job, id - 1)
  const turn = db.transaction((ended: readonly number[]) => rows.turn(ended, atOnce, steps))
  const record = db.transaction((ids: readonly number[], step: number) => rows.steps(ids, step))
  while (!isStopped() || running.length > 0) {
    running = turn(running)
    if (isStopped() && running.length === 0) return
    const most = Math.max(0, ...running.map(steps))
    for (let step = 0; step < most; step += 1) {
      const ids = running.filter((id) => steps(id) > step)
      for (const id of ids) await job.run(id - 1, step)
      record(ids, step)
    }
    for (const id of running) {
      if (steps(id) === 0) await job.run(id - 1, 0)
      job.ended?.(id - 1)
    }
    await new Promise<void>((next) => void setImmediate(next))
  }
}

function prepare(db: Database) {
  const event = db.prepare('INSERT INTO event VALUES (?, ?, ?, ?, ?, NULL, ?)')
  const task = db.prepare(
    'INSERT INTO task VALUES (?, 1, 0, 1, 0, NULL, 0, 0, 0, 1, ?, ?, NULL, ?, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL)',
  )
  const queued = db
    .prepare('SELECT id FROM task WHERE stream = 1 AND state = 0 AND due_at IS NULL ORDER BY id LIMIT ?')
    .pluck()
  const start = db.prepare(
    'UPDATE task SET state = 1, lease = ?, fence = 1, seq = 2, tail = ?, started_at = ? WHERE id = ?',
  )
  const grant = db.prepare(
    `INSERT INTO lease (id, task, worker, process, attempt, fence, state, acquired_at, expires_at, last_heartbeat_at)
      VALUES (?, ?, 1, 1, 1, 1, 0, ?, ?, ?)`,
  )
  const finish = db.prepare(
    'UPDATE task SET state = 3, lease = NULL, seq = ?, steps = ?, tail = ?, finished_at = ? WHERE id = ?',
  )
  const end = db.prepare(
    "UPDATE lease SET state = 1, ended_at = ?, end_reason = 'completed', end_seq = ? WHERE id = ?",
  )
  const journal = db.prepare('INSERT INTO journal VALUES (NULL, ?, ?, ?)')
  const stream = db.prepare('UPDATE stream SET depth = depth + ? WHERE id = 1')
  const last = db.prepare('SELECT coalesce(max(id), 0) FROM task').pluck()
  let tail: Buffer = createHash('sha256').digest()
  let touched: number[][] = []
  const add = (id: number, seq: number, type: string, data: unknown) => {
    const at = Date.now()
    const text = JSON.stringify(data)
    tail = createHash('sha256').update(tail).update(text).digest()
    event.run(id, seq, type, at, text, tail)
    touched.push([id, seq, seq])
    return at
  }
  const close = () => {
    const text = JSON.stringify(touched)
    journal.run(Date.now(), text, createHash('sha256').update(text).digest())
    touched = []
  }
  return {
    queue(tasks: readonly number[]) {
      let id = last.get() as number
      for (const n of tasks) {
        const at = add((id += 1), 1, 'task.queued', { input: { n }, lane: 'normal', type: 'bench' })
        task.run(id, tail, at, at)
      }
      stream.run(tasks.length)
      close()
    },
    steps(tasks: readonly number[], step: number) {
      for (const id of tasks)
        add(id, 3 + step, 'step.completed', {
          durationMs: 0.026,
          key: `step ${step}`,
          position: step,
          result: step,
        })
      close()
    },
    turn(ended: readonly number[], atOnce: number, stepsOfRow: (id: number) => number): readonly number[] {
      for (const id of ended) {
        const steps = stepsOfRow(id)
        const seq = 3 + steps
        const at = add(id, seq, 'task.completed', { durationMs: 144, leaseId: lease, output: null })
        finish.run(seq, steps, tail, at, id)
        end.run(at, seq, id)
      }
      const started = queued.all(atOnce) as number[]
      for (const id of started) {
        const data = {
          attempt: 1,
          dispatch: id,
          fencingToken: 1,
          lane: 'normal',
          leaseId: lease,
          type: 'bench',
          waitMs: 997,
          workerId: worker,
        }
        const at = add(id, 2, 'task.started', data)
        start.run(id, tail, at, id)
        grant.run(id, id, at, at + 30_000, at)
      }
      stream.run(-started.length)
      if (touched.length > 0) close()
      return started
    },
  }
}

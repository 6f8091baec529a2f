import Database from 'better-sqlite3'
import type {
  BudgetState,
  Chunk,
  CreditState,
  Entry,
  PipelineState,
  StructureRows,
  Judgement,
  WorkRows,
} from './stored-rows.ts'
import {
  type TaskState,
  type LiveLease,
  type Stream,
  type AuditedEvent,
  type CircuitState,
  type WorkerState,
  type UsageState,
  type SwarmState,
} from './stored-rows.ts'

/** The data of an event with the value in it that was too large to stand there. */
const wholeData = `coalesce((SELECT replace(event.data, '{"$blob":"' || sha256 || '","size":' || length(blob.data) || '}', blob.data) FROM blob WHERE sha256 = event.blob), event.data)`

/** Reads the tables of a simulated store through a connection of its own. Nothing here is the product's code. */
export class AuditRows {
  readonly #db: Database.Database
  readonly #version
  readonly #tasks
  readonly #open
  readonly #task
  readonly #leases
  readonly #streams
  readonly #events
  readonly #quotas
  readonly #workers
  readonly #processes
  readonly #budgets
  readonly #circuits
  readonly #usages
  readonly #swarms
  readonly #judgements
  readonly #pipelines
  readonly #chunks
  readonly #entries
  readonly #credits
  #seenVersion = -1

  constructor(path: string) {
    const db = new Database(path, { readonly: true, fileMustExist: true })
    this.#db = db
    const task =
      'SELECT id, state, attempt, fence, lease, crashes, waits, seq, due_at AS dueAt, parent, stream, finished_at AS finishedAt FROM task'
    this.#version = db.prepare<[], number>('PRAGMA data_version').pluck()
    this.#tasks = db.prepare<[], TaskState>(`${task} ORDER BY id`)
    this.#open = db.prepare<[number], TaskState>(`${task} WHERE state < 3 OR id > ? ORDER BY id`)
    this.#task = db.prepare<[number], TaskState>(`${task} WHERE id = ?`)
    this.#leases = db.prepare<[], LiveLease>(
      'SELECT id, task, worker, process, fence, attempt, acquired_at AS acquiredAt, expires_at AS expiresAt FROM lease WHERE state = 0',
    )
    this.#streams = db.prepare<[], Stream>(
      'SELECT id, lane_rank AS lane, type, quota_keys AS quotaKeys, depth, delayed FROM stream',
    )
    this.#events = db.prepare<[number, number], AuditedEvent>(
      `SELECT seq, type, at, ${wholeData} AS data FROM event WHERE task = ? AND seq > ? ORDER BY seq`,
    )
    this.#quotas = db.prepare<[], { key: string; queued: number; running: number }>(
      'SELECT key, queued, running FROM quota',
    )
    this.#workers = db.prepare<[], WorkerState>(
      'SELECT id, worker_id AS name, process, last_seen_at AS lastSeenAt, registered AS isRegistered FROM worker',
    )
    this.#budgets = db.prepare<[], BudgetState>('SELECT task, limits, used FROM budget')
    this.#circuits = db.prepare<[], CircuitState>(
      'SELECT route, state, opened_at AS openedAt, probe_at AS probeAt, probe FROM circuit',
    )
    this.#usages = db.prepare<[], UsageState>('SELECT task, swarm FROM usage')
    this.#swarms = db.prepare<[], SwarmState>(
      'SELECT name, spent_us AS spentUs, spawned, created_at AS createdAt FROM swarm',
    )
    this.#judgements = db.prepare<[], Judgement>('SELECT agent, seq, key FROM evaluation ORDER BY agent, seq')
    this.#pipelines = db.prepare<[], PipelineState>('SELECT task, log FROM pipeline ORDER BY task')
    this.#chunks = db.prepare<[], Chunk>(
      'SELECT task, seq, data FROM output WHERE task IN (SELECT task FROM pipeline) ORDER BY task, seq',
    )
    this.#entries = db.prepare<[], Entry>(
      'SELECT client, seq, kind, amount, held, credits, reserved, task, key FROM ledger ORDER BY client, seq',
    )
    this.#credits = db.prepare<[], CreditState>('SELECT name, credits, asks FROM client ORDER BY name')
    this.#processes = db.prepare<[], { id: number; processId: string }>(
      'SELECT id, process_id AS processId FROM process',
    )
  }

  /** Whether something was committed since it was asked last. */
  hasChanged(): boolean {
    const version = this.#version.get() as number
    const changed = version !== this.#seenVersion
    this.#seenVersion = version
    return changed
  }

  meta(key: string): string | undefined {
    return this.#db.prepare<[string], string>('SELECT value FROM meta WHERE key = ?').pluck().get(key)
  }

  tasks(): TaskState[] {
    return this.#tasks.all()
  }

  /** Those that are not over, and those with a higher number. */
  openTasks(after: number): TaskState[] {
    return this.#open.all(after)
  }

  task(id: number): TaskState | undefined {
    return this.#task.get(id)
  }

  leases(): LiveLease[] {
    return this.#leases.all()
  }

  streams(): Stream[] {
    return this.#streams.all()
  }

  events(task: number, after: number): AuditedEvent[] {
    return this.#events.all(task, after)
  }

  quotas(): { key: string; queued: number; running: number }[] {
    return this.#quotas.all()
  }

  workers(): WorkerState[] {
    return this.#workers.all()
  }

  processes(): { id: number; processId: string }[] {
    return this.#processes.all()
  }

  /** How a lease ended, and what the event of that says. */
  endOf(lease: number): { reason: string; data: string } | undefined {
    return this.#db
      .prepare<[number], { reason: string; data: string }>(
        `SELECT end_reason AS reason, ${wholeData} AS data FROM lease JOIN event ON event.task = lease.task AND event.seq = lease.end_seq WHERE lease.id = ?`,
      )
      .get(lease)
  }

  budgets(): BudgetState[] {
    return this.#budgets.all()
  }

  /** All that has to do with work that is measured. */
  work(): WorkRows {
    return {
      circuits: this.#circuits.all(),
      usages: this.#usages.all(),
      swarms: this.#swarms.all(),
      judgements: this.#judgements.all(),
    }
  }

  /** All that has to do with supervisors, pipelines and ledgers. */
  structures(): StructureRows {
    return {
      pipelines: this.#pipelines.all(),
      chunks: this.#chunks.all(),
      entries: this.#entries.all(),
      clients: this.#credits.all(),
    }
  }

  clients(): { name: string; spent: number }[] {
    return this.#db.prepare<[], { name: string; spent: number }>('SELECT name, spent FROM client').all()
  }

  close(): void {
    this.#db.close()
  }
}

import type {
  CheckpointRow,
  EventRow,
  KeyRow,
  LeaseRow,
  QuotaRow,
  StreamRow,
  TaskRow,
  TotalsRow,
  WorkerRow,
} from '@ku0/agent-runtime-core/transition'
import { Table } from './table.ts'

const id = 'bigint NOT NULL'
const count = 'integer NOT NULL'
const time = 'bigint'
const text = 'text NOT NULL'

export const tasks = new Table<TaskRow>('task', ['id'], {
  id,
  stream: 'bigint',
  state: text,
  attempt: count,
  fence: id,
  lease: 'bigint',
  crashes: count,
  steps: count,
  waits: count,
  seq: count,
  tail: 'bytea NOT NULL',
  submittedAt: id,
  dueAt: time,
  queuedAt: id,
  startedAt: time,
  finishedAt: time,
  waitReason: 'text',
  tokens: id,
  explicitId: 'text UNIQUE',
  parent: 'bigint',
  account: 'json',
  budget: 'bigint',
})

export const leases = new Table<LeaseRow>('lease', ['id'], {
  id,
  task: id,
  worker: id,
  process: id,
  attempt: count,
  fence: id,
  state: text,
  acquiredAt: id,
  expiresAt: id,
  lastHeartbeatAt: id,
  endedAt: time,
  endReason: 'text',
  endSeq: 'integer',
  yieldAskedAt: time,
  abortAcknowledgedAt: time,
  abortGraceExpiredAt: time,
  progress: 'text',
})

export const streams = new Table<Omit<StreamRow, 'group'>>('stream', ['id'], {
  id,
  key: 'text NOT NULL UNIQUE',
  laneRank: count,
  type: text,
  quotaKeys: 'json NOT NULL',
  depth: count,
  delayed: count,
  client: text,
  head: id,
  place: id,
})

export const events = new Table<Omit<EventRow, 'also'>>('event', ['task', 'seq'], {
  task: id,
  seq: count,
  type: text,
  at: id,
  data: text,
  blob: 'text',
  hash: 'bytea NOT NULL',
})

export const blobs = new Table<{ readonly sha256: string; readonly data: string }>('blob', ['sha256'], {
  sha256: text,
  data: text,
})

export const keys = new Table<KeyRow>('idempotency', ['key'], { key: text, task: id, payloadHash: text })

export const quotas = new Table<QuotaRow>('quota', ['key'], {
  key: text,
  queued: count,
  running: count,
  windowStart: id,
  windowCount: count,
  windowTokens: id,
  blockedUntil: id,
})

export const checkpoints = new Table<CheckpointRow>('checkpoint', ['task'], {
  task: id,
  seq: count,
  data: text,
  at: id,
})

export const workers = new Table<WorkerRow>('worker', ['id'], {
  id,
  workerId: text,
  process: id,
  capacity: count,
  draining: 'boolean NOT NULL',
  types: 'json NOT NULL',
  lastSeenAt: id,
  registered: 'boolean NOT NULL',
})

export const totals = new Table<TotalsRow & { readonly id: number }>('totals', ['id'], {
  id,
  submitted: id,
  rejected: id,
  rejectedPruned: id,
  completed: id,
  failed: id,
  canceled: id,
  requeued: id,
  expired: id,
  preempted: id,
  running: id,
  waiting: id,
})

/**
 * Besides: who has the store open, a row for each commit, and `head`, the one row that a transaction locks first. Its `version` rises
 * with every write, its number and hash are those of the last commit in the journal.
 */
const others = [
  'CREATE TABLE process (id bigint PRIMARY KEY, process_id text NOT NULL, started_at bigint NOT NULL, last_seen_at bigint NOT NULL, ended_at bigint)',
  'CREATE TABLE journal (number bigint PRIMARY KEY, at bigint NOT NULL, touched json NOT NULL, hash bytea NOT NULL)',
  'CREATE TABLE head (one boolean PRIMARY KEY CHECK (one), store_id text NOT NULL, version bigint NOT NULL, number bigint NOT NULL, hash bytea NOT NULL)',
]

const indexes = [
  "CREATE INDEX task_queued ON task (stream, id) WHERE state = 'queued' AND due_at IS NULL",
  'CREATE INDEX task_due ON task (due_at) WHERE due_at IS NOT NULL',
  "CREATE INDEX lease_running ON lease (expires_at) WHERE state = 'running'",
]

/** All that makes an empty store. */
export const ddl: readonly string[] = [
  ...[tasks, leases, streams, events, blobs, keys, quotas, checkpoints, workers, totals].map(
    (table) => table.ddl,
  ),
  ...others,
  ...indexes,
]

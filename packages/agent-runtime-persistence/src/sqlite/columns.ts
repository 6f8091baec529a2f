/**
 * Every table of a store with its columns, in their order and with what SQLite keeps in them, as the migrations make them; `?` may be null. The one
 * source of the tables' types: a store is held against it when it is opened, and rows of statements that are kept as text
 * have their types from it.
 */
export const columns = {
  access_token: [
    'name text',
    'hash text',
    'scopes text',
    'client text?',
    'types text?',
    'created_at integer',
    'expires_at integer?',
    'revoked_at integer?',
  ],
  blob: ['sha256 text', 'data text'],
  budget: [
    'task integer',
    'above integer?',
    'limits text',
    'soft text',
    'used text',
    'own text',
    'started_at integer?',
    'due_at integer?',
    'asked text?',
    'asks integer',
  ],
  checkpoint: ['task integer', 'seq integer', 'data text', 'at integer'],
  child: [
    'parent integer',
    'key text',
    'task integer',
    'position integer',
    'policy integer',
    'seq integer',
    'open integer',
  ],
  circuit: [
    'route text',
    'state integer',
    'scar real',
    'scar_at integer',
    'opened_at integer?',
    'probe_at integer?',
    'unhealthy integer',
    'probe integer?',
  ],
  client: [
    'id integer',
    'name text',
    'credits integer',
    'tier integer',
    'time integer',
    'floor integer',
    'spent integer',
    'changed integer',
    'reserved integer',
    'entries integer',
    'asks text?',
  ],
  configuration: ['id integer', 'settings text', 'since integer'],
  evaluation: [
    'agent text',
    'seq integer',
    'at integer',
    'domain text',
    'scores text',
    'missing text',
    'composite real',
    'reputation real',
    'distance real?',
    'change real?',
    'task_id text?',
    'key text?',
  ],
  event: ['task integer', 'seq integer', 'type text', 'at integer', 'data text', 'blob text?', 'hash blob'],
  folded: ['client text', 'entries integer', 'hash text'],
  idempotency: ['key text', 'task integer', 'payload_hash text'],
  journal: ['number integer', 'at integer', 'touched text', 'hash blob'],
  lease: [
    'id integer',
    'task integer',
    'worker integer',
    'process integer',
    'attempt integer',
    'fence integer',
    'state integer',
    'acquired_at integer',
    'expires_at integer',
    'last_heartbeat_at integer',
    'ended_at integer?',
    'end_reason text?',
    'end_seq integer?',
    'yield_asked_at integer?',
    'abort_acknowledged_at integer?',
    'abort_grace_expired_at integer?',
    'progress text?',
    'progress_at integer?',
  ],
  ledger: [
    'client text',
    'seq integer',
    'at integer',
    'kind integer',
    'amount integer',
    'held integer',
    'credits integer',
    'reserved integer',
    'task integer?',
    'key text?',
    'note text?',
  ],
  meta: ['key text', 'value text'],
  pipeline: ['task integer', 'terms text', 'log text'],
  output: ['task integer', 'seq integer', 'attempt integer', 'at integer', 'data text', 'round integer?'],
  process: [
    'id integer',
    'process_id text',
    'host text',
    'boot_id text',
    'pid integer',
    'started_at integer',
    'last_seen_at integer',
    'ended_at integer?',
    'configuration integer?',
  ],
  pruned: ['task integer', 'hash blob', 'until integer?'],
  quota: [
    'key text',
    'queued integer',
    'running integer',
    'window_start integer',
    'window_count integer',
    'window_tokens integer',
    'blocked_until integer',
  ],
  reputation: [
    'agent text',
    'reputation real',
    'evaluations integer',
    'average text',
    'latest text',
    'last_at integer',
  ],
  retired: ['name text', 'value integer'],
  retired_named: ['name text', 'value integer'],
  sample: [
    'step_ms integer',
    'at integer',
    'type text',
    'lane_rank integer',
    'queued integer?',
    'running integer',
    'started integer',
    'completed integer',
    'failed integer',
    'waits text',
  ],
  schedule: [
    'name text',
    'definition text',
    'paused integer',
    'created_at integer',
    'changed_at integer',
    'next_at integer?',
    'last_at integer?',
    'last_due_at integer?',
    'last_task integer?',
    'runs integer',
    'rejected integer',
    'missed integer',
    'skipped integer',
  ],
  signal: ['task integer', 'seq integer', 'name text'],
  stream: [
    'id integer',
    'key text',
    'lane_rank integer',
    'type text',
    'quota_keys text',
    'depth integer',
    'delayed integer',
    'client text',
    'head integer',
    'place integer',
    'changed integer',
  ],
  swarm: ['name text', 'terms text', 'spent_us integer', 'spawned integer', 'created_at integer'],
  task: [
    'id integer',
    'stream integer?',
    'state integer',
    'attempt integer',
    'fence integer',
    'lease integer?',
    'crashes integer',
    'steps integer',
    'waits integer',
    'seq integer',
    'tail blob',
    'submitted_at integer',
    'due_at integer?',
    'queued_at integer',
    'started_at integer?',
    'finished_at integer?',
    'wait_reason text?',
    'tokens integer',
    'explicit_id text?',
    'parent integer?',
    'account text?',
    'budget integer?',
  ],
  totals: [
    'id integer',
    'submitted integer',
    'rejected integer',
    'rejected_pruned integer',
    'completed integer',
    'failed integer',
    'canceled integer',
    'requeued integer',
    'expired integer',
    'preempted integer',
    'running integer',
    'waiting integer',
  ],
  usage: ['task integer', 'route text', 'swarm text?', 'agent text?', 'lease integer?', 'data text'],
  wait: [
    'task integer',
    'key text',
    'position integer',
    'kind integer',
    'name text?',
    'due_at integer?',
    'terms text?',
  ],
  worker: [
    'id integer',
    'worker_id text',
    'process integer',
    'capacity integer',
    'draining integer',
    'types text',
    'last_seen_at integer',
    'registered integer',
    'settings text?',
  ],
} as const satisfies Readonly<Record<string, readonly Column[]>>

type Kind = 'integer' | 'real' | 'text' | 'blob'
type Column = `${string} ${Kind}` | `${string} ${Kind}?`

type ValueOf<K> = K extends `${infer Sure}?`
  ? ValueOf<Sure> | null
  : { integer: number; real: number; text: string; blob: Buffer }[K & Kind]
type NameIn<C> = C extends `${infer Name} ${string}` ? Name : never

export type TableName = keyof typeof columns

/** Every table, with the type of each column. */
export type StoreTables = {
  readonly [T in TableName]: {
    readonly [C in (typeof columns)[T][number] as NameIn<C>]: C extends `${string} ${infer K}`
      ? ValueOf<K>
      : never
  }
}

export type ColumnOf<T extends TableName> = keyof StoreTables[T] & string

/** A whole row of a table as a list, in the order of its columns. */
export type RowOf<T extends TableName> = ListOf<(typeof columns)[T]>

type ListOf<Columns extends readonly Column[]> = {
  readonly [I in keyof Columns]: Columns[I] extends `${string} ${infer K}` ? ValueOf<K> : never
}

/** The names of a table's columns. */
export function namesOf<T extends TableName>(table: T): readonly ColumnOf<T>[] {
  return columns[table].map((column) => column.slice(0, column.indexOf(' ')) as ColumnOf<T>)
}

/** All columns of a table as a statement lists them; `of`: with the table before each. */
export function listed(table: TableName, of = ''): string {
  return namesOf(table)
    .map((name) => of + name)
    .join(', ')
}

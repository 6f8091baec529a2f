import { additive, breaking, type Migration } from '../migration.ts'

/**
 * Parts of steps that both databases take, in the words of SQLite; PostgreSQL takes a translation. Columns: `row.ts` in the rooms of core. CHECKs repeat
 * the state machines. States are numbers, in the order of core's lists: with names, and conditions over names, in indexes and CHECKs an update of a
 * task took 8 microseconds instead of 3.
 */
export const parts = {
  /** The first tables, but for `wait`, which was made anew. */
  tables: `
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE stream (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  lane_rank INTEGER NOT NULL CHECK (lane_rank BETWEEN 0 AND 2),
  type TEXT NOT NULL,
  quota_keys TEXT NOT NULL,
  depth INTEGER NOT NULL CHECK (depth >= 0),
  delayed INTEGER NOT NULL CHECK (delayed >= 0)
) STRICT;

CREATE TABLE task (
  id INTEGER PRIMARY KEY,
  stream INTEGER REFERENCES stream (id),
  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 6),
  attempt INTEGER NOT NULL CHECK (attempt >= 1),
  fence INTEGER NOT NULL CHECK (fence >= 0),
  lease INTEGER,
  crashes INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  waits INTEGER NOT NULL CHECK (waits >= 0),
  seq INTEGER NOT NULL CHECK (seq >= 1),
  tail BLOB NOT NULL CHECK (length(tail) = 32),
  submitted_at INTEGER NOT NULL,
  due_at INTEGER,
  queued_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  wait_reason TEXT,
  tokens INTEGER NOT NULL,
  explicit_id TEXT,
  CHECK ((state = 1) = (lease IS NOT NULL)),
  CHECK ((state = 2) = (wait_reason IS NOT NULL)),
  CHECK ((state > 2) = (finished_at IS NOT NULL)),
  CHECK (due_at IS NULL OR state = 0 OR state = 2),
  CHECK (waits = 0 OR state < 3),
  CHECK ((stream IS NULL) = (state = 6))
) STRICT;
CREATE INDEX task_queued ON task (stream, id) WHERE state = 0 AND due_at IS NULL;
CREATE INDEX task_due ON task (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX task_notable ON task (state, id) WHERE state > 3 OR state = 2;
CREATE UNIQUE INDEX task_explicit ON task (explicit_id) WHERE explicit_id IS NOT NULL;

CREATE TABLE event (
  task INTEGER NOT NULL,
  seq INTEGER NOT NULL CHECK (seq >= 1),
  type TEXT NOT NULL,
  at INTEGER NOT NULL,
  data TEXT NOT NULL,
  blob TEXT,
  hash BLOB NOT NULL,
  PRIMARY KEY (task, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE lease (
  id INTEGER PRIMARY KEY,
  task INTEGER NOT NULL,
  worker INTEGER NOT NULL,
  process INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3),
  acquired_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  last_heartbeat_at INTEGER NOT NULL,
  ended_at INTEGER,
  end_reason TEXT,
  end_seq INTEGER,
  yield_asked_at INTEGER,
  abort_acknowledged_at INTEGER,
  abort_grace_expired_at INTEGER,
  progress TEXT,
  CHECK ((state = 0) = (ended_at IS NULL)),
  CHECK ((end_reason IS NULL) = (ended_at IS NULL)),
  CHECK ((end_seq IS NULL) = (ended_at IS NULL))
) STRICT;
CREATE INDEX lease_running ON lease (expires_at) WHERE state = 0;

CREATE TABLE process (
  id INTEGER PRIMARY KEY,
  process_id TEXT NOT NULL UNIQUE,
  host TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  pid INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;

CREATE TABLE worker (
  id INTEGER PRIMARY KEY,
  worker_id TEXT NOT NULL,
  process INTEGER NOT NULL,
  capacity INTEGER NOT NULL CHECK (capacity >= 0),
  draining INTEGER NOT NULL,
  types TEXT NOT NULL,
  last_seen_at INTEGER NOT NULL,
  registered INTEGER NOT NULL
) STRICT;
CREATE INDEX worker_registered ON worker (process) WHERE registered = 1;

CREATE TABLE quota (
  key TEXT PRIMARY KEY,
  queued INTEGER NOT NULL CHECK (queued >= 0),
  running INTEGER NOT NULL CHECK (running >= 0),
  window_start INTEGER NOT NULL,
  window_count INTEGER NOT NULL,
  window_tokens INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
  key TEXT PRIMARY KEY,
  task INTEGER NOT NULL,
  payload_hash TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoint (
  task INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL,
  data TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;

CREATE TABLE output (
  task INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  at INTEGER NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (task, seq)
) STRICT, WITHOUT ROWID;
`,
  moreTables: `
CREATE TABLE signal (
  task INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (task, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE blob (
  sha256 TEXT PRIMARY KEY,
  data TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE journal (
  number INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  touched TEXT NOT NULL,
  hash BLOB NOT NULL
) STRICT;

CREATE TABLE totals (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  submitted INTEGER NOT NULL,
  rejected INTEGER NOT NULL,
  rejected_pruned INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  canceled INTEGER NOT NULL,
  requeued INTEGER NOT NULL,
  expired INTEGER NOT NULL,
  preempted INTEGER NOT NULL,
  running INTEGER NOT NULL CHECK (running >= 0),
  waiting INTEGER NOT NULL CHECK (waiting >= 0)
) STRICT;
INSERT INTO totals VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
`,
  schedulesAndChildren: `
CREATE TABLE schedule (
  name TEXT PRIMARY KEY,
  definition TEXT NOT NULL,
  paused INTEGER NOT NULL CHECK (paused BETWEEN 0 AND 1),
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  next_at INTEGER,
  last_at INTEGER,
  last_due_at INTEGER,
  last_task INTEGER,
  runs INTEGER NOT NULL CHECK (runs >= 0),
  rejected INTEGER NOT NULL CHECK (rejected >= 0),
  missed INTEGER NOT NULL CHECK (missed >= 0),
  skipped INTEGER NOT NULL CHECK (skipped >= 0),
  CHECK ((last_at IS NULL) = (last_task IS NULL))
) STRICT;
CREATE INDEX schedule_next ON schedule (next_at, name) WHERE paused = 0 AND next_at IS NOT NULL;

ALTER TABLE task ADD COLUMN parent INTEGER;
CREATE INDEX task_parent ON task (parent, id) WHERE parent IS NOT NULL;
CREATE TABLE child (
  parent INTEGER NOT NULL,
  key TEXT NOT NULL,
  task INTEGER NOT NULL,
  position INTEGER NOT NULL CHECK (position >= 0),
  policy INTEGER NOT NULL CHECK (policy BETWEEN 0 AND 1),
  seq INTEGER NOT NULL CHECK (seq >= 1),
  open INTEGER NOT NULL CHECK (open BETWEEN 0 AND 1),
  PRIMARY KEY (parent, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX child_open ON child (parent, task) WHERE open = 1;
`,
  /** Clients and their shares, reputations, circuits, what agents use, swarms. */
  clientsToSwarms: `
ALTER TABLE task ADD COLUMN account TEXT;

ALTER TABLE stream ADD COLUMN client TEXT NOT NULL DEFAULT '';
ALTER TABLE stream ADD COLUMN head INTEGER NOT NULL DEFAULT 0;
ALTER TABLE stream ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
CREATE TABLE client (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  credits INTEGER NOT NULL,
  tier INTEGER NOT NULL CHECK (tier BETWEEN 0 AND 1),
  time INTEGER NOT NULL CHECK (time >= 0),
  floor INTEGER NOT NULL CHECK (floor >= 0),
  spent INTEGER NOT NULL CHECK (spent >= 0),
  changed INTEGER NOT NULL
) STRICT;
CREATE INDEX client_changed ON client (changed);
INSERT INTO meta VALUES ('clients_removed', '0');
CREATE INDEX stream_client ON stream (client) WHERE client <> '';
ALTER TABLE stream ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX stream_changed ON stream (changed);
CREATE TABLE reputation (
  agent TEXT PRIMARY KEY,
  reputation REAL NOT NULL CHECK (reputation BETWEEN 0 AND 1),
  evaluations INTEGER NOT NULL CHECK (evaluations >= 1),
  average TEXT NOT NULL,
  latest TEXT NOT NULL,
  last_at INTEGER NOT NULL
) STRICT;

CREATE TABLE evaluation (
  agent TEXT NOT NULL,
  seq INTEGER NOT NULL CHECK (seq >= 1),
  at INTEGER NOT NULL,
  domain TEXT NOT NULL,
  scores TEXT NOT NULL,
  missing TEXT NOT NULL,
  composite REAL NOT NULL CHECK (composite BETWEEN 0 AND 1),
  reputation REAL NOT NULL CHECK (reputation BETWEEN 0 AND 1),
  distance REAL CHECK (distance >= 0),
  change REAL,
  task_id TEXT,
  key TEXT,
  PRIMARY KEY (agent, seq),
  CHECK ((seq = 1) = (distance IS NULL)),
  CHECK ((seq = 1) = (change IS NULL))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX evaluation_key ON evaluation (agent, key) WHERE key IS NOT NULL;
CREATE TABLE circuit (
  route TEXT PRIMARY KEY,
  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2),
  scar REAL NOT NULL CHECK (scar >= 0),
  scar_at INTEGER NOT NULL,
  opened_at INTEGER,
  probe_at INTEGER,
  unhealthy INTEGER NOT NULL CHECK (unhealthy BETWEEN 0 AND 1),
  probe INTEGER,
  CHECK ((state = 0) = (opened_at IS NULL)),
  CHECK ((state = 2) = (probe_at IS NOT NULL)),
  CHECK (probe IS NULL OR state = 2)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage (
  task INTEGER PRIMARY KEY,
  route TEXT NOT NULL,
  swarm TEXT,
  agent TEXT,
  lease INTEGER,
  data TEXT NOT NULL,
  CHECK ((swarm IS NULL) = (agent IS NULL)),
  CHECK (swarm IS NOT NULL OR lease IS NOT NULL)
) STRICT;

CREATE TABLE swarm (
  name TEXT PRIMARY KEY,
  terms TEXT NOT NULL,
  spent_us INTEGER NOT NULL CHECK (spent_us >= 0),
  spawned INTEGER NOT NULL CHECK (spawned >= 0),
  created_at INTEGER NOT NULL
) STRICT;
`,
  budgets: `
ALTER TABLE task ADD COLUMN budget INTEGER;
CREATE INDEX task_parked ON task (budget, id) WHERE wait_reason = 'budget';
CREATE TABLE budget (
  task INTEGER PRIMARY KEY,
  above INTEGER,
  limits TEXT NOT NULL,
  soft TEXT NOT NULL,
  used TEXT NOT NULL,
  own TEXT NOT NULL,
  started_at INTEGER,
  due_at INTEGER,
  asked TEXT,
  asks INTEGER NOT NULL CHECK (asks >= 0),
  CHECK (due_at IS NULL OR started_at IS NOT NULL),
  CHECK (asked IS NULL OR asks > 0)
) STRICT;
CREATE INDEX budget_above ON budget (above) WHERE above IS NOT NULL;
CREATE INDEX budget_due ON budget (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX budget_asked ON budget (task) WHERE asked IS NOT NULL;

ALTER TABLE quota ADD COLUMN blocked_until INTEGER NOT NULL DEFAULT 0;
`,
  /** What the journal named of rejected submissions whose records were deleted. Those before are believed. */
  pruned: `
CREATE TABLE pruned (
  task INTEGER PRIMARY KEY,
  hash BLOB NOT NULL
) STRICT;
`,
  /**
   * What is left of deleted tasks: sums that only rise, those of clients and schedules apart, and hashes for as long as the journal names their events. The
   * journal begins after the commit in `journal_base`, with its hash.
   */
  retired: `
ALTER TABLE pruned ADD COLUMN until INTEGER;
CREATE INDEX pruned_until ON pruned (until) WHERE until IS NOT NULL;
CREATE TABLE retired (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL CHECK (value >= 0)
) STRICT, WITHOUT ROWID;
CREATE TABLE retired_named (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL CHECK (value >= 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_blob ON event (blob) WHERE blob IS NOT NULL;
`,
} as const

/** Whole steps that both take. */
export const steps = {
  /** What a handler itself emitted, so that a later pass of the attempt knows it again. */
  rounds: breaking(`
ALTER TABLE output ADD COLUMN round INTEGER;
`),
  /** The settings of its task types that each worker knows. */
  workerSettings: breaking(`
ALTER TABLE worker ADD COLUMN settings TEXT;
`),
  /** The credits of clients, entry by entry. */
  ledger: breaking(`
ALTER TABLE client ADD COLUMN reserved INTEGER NOT NULL DEFAULT 0;
ALTER TABLE client ADD COLUMN entries INTEGER NOT NULL DEFAULT 0;
CREATE TABLE ledger (
  client TEXT NOT NULL,
  seq INTEGER NOT NULL CHECK (seq >= 1),
  at INTEGER NOT NULL,
  kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 5),
  amount INTEGER NOT NULL,
  held INTEGER NOT NULL,
  credits INTEGER NOT NULL,
  reserved INTEGER NOT NULL,
  task INTEGER,
  key TEXT,
  note TEXT,
  PRIMARY KEY (client, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX ledger_key ON ledger (client, key) WHERE key IS NOT NULL;
`),
  /** Pipelines: how far the log of each, which is the output of its task, was written and received. */
  pipelines: breaking(`
CREATE TABLE pipeline (
  task INTEGER PRIMARY KEY,
  terms TEXT NOT NULL,
  log TEXT NOT NULL
) STRICT;
`),
  /** When the holder of a lease last reported its progress. */
  progressAt: breaking(`
ALTER TABLE lease ADD COLUMN progress_at INTEGER;
`),
  /** Samples of the past: how lanes and task types stood, minute by minute and hour by hour. */
  samples: breaking(`
CREATE TABLE sample (
  step_ms INTEGER NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  lane_rank INTEGER NOT NULL CHECK (lane_rank BETWEEN 0 AND 2),
  queued INTEGER,
  running INTEGER NOT NULL,
  started INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  waits TEXT NOT NULL,
  PRIMARY KEY (step_ms, type, at, lane_rank)
) STRICT, WITHOUT ROWID;
CREATE INDEX sample_age ON sample (step_ms, at);
`),
  /** How far the ledger of each client was folded into its opening entry, with a hash over what was folded. */
  folded: breaking(`
CREATE TABLE folded (
  client TEXT PRIMARY KEY,
  entries INTEGER NOT NULL CHECK (entries >= 2),
  hash TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`),
  /** The supervisors, for a list of them. */
  supervisors: breaking(`
CREATE INDEX wait_supervisor ON wait (task) WHERE name = '$ku0/supervisor';
CREATE INDEX child_supervised ON child (parent) WHERE key >= '$ku0/supervised/' AND key < '$ku0/supervised0';
`),
  /** The settings of the store that processes state: those in force are the last of which a process has not ended. */
  configurations: breaking(`
CREATE TABLE configuration (
  id INTEGER PRIMARY KEY,
  settings TEXT NOT NULL,
  since INTEGER NOT NULL
) STRICT;
ALTER TABLE process ADD COLUMN configuration INTEGER;
CREATE INDEX process_states ON process (configuration) WHERE ended_at IS NULL AND configuration IS NOT NULL;
`),
  /** Access tokens of servers: their hashes, what they allow, and for how long. */
  accessTokens: breaking(`
CREATE TABLE access_token (
  name TEXT PRIMARY KEY,
  hash TEXT NOT NULL,
  scopes TEXT NOT NULL,
  client TEXT,
  types TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;
`),
  /**
   * The open request of a client for credits, of which an event of a kind of its own tells. The event `agreement.missed` and the promise in a task's
   * account came with it and have no step of their own: this one keeps away programs that know neither.
   */
  clientAsks: breaking(`
ALTER TABLE client ADD COLUMN asks TEXT;
`),
  /** The returns to the queue with another agent, so that a list finds the model of a task without its history. */
  fallbacks: additive(`
CREATE INDEX event_fallback ON event (task, seq) WHERE type = 'task.requeued' AND instr(data, '"fallback_agent"') > 0;
`),
} as const satisfies Readonly<Record<string, Migration>>

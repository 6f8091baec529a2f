import { additive, breaking, type Migration } from '../../migration.ts'

/** The tables that grow with the tasks, and of which rows are changed or deleted with every one. */
export const oftenChanged = [
  'task',
  'lease',
  'event',
  'journal',
  'wait',
  'signal',
  'output',
  'checkpoint',
  'idempotency',
  'child',
  'pruned',
  'budget',
] as const

/**
 * The tables on PostgreSQL, as migrations in order; `head.schema` says how many a store has had. They are those of SQLite, table by table and
 * column by column with the same numbers for states, so that one code reads both and a store can be copied from one to the other.
 * Besides there is `head`, the one row that a commit locks. Text sorts by its bytes, as it does in SQLite.
 */
export const migrations: readonly Migration[] = [
  breaking(`
CREATE TABLE meta (key text COLLATE "C" PRIMARY KEY, value text COLLATE "C" NOT NULL);

CREATE TABLE head (
  one boolean PRIMARY KEY CHECK (one),
  schema bigint NOT NULL,
  version bigint NOT NULL,
  number bigint NOT NULL,
  hash bytea NOT NULL,
  writer bigint NOT NULL
);

CREATE TABLE stream (
  id bigint PRIMARY KEY,
  key text COLLATE "C" NOT NULL UNIQUE,
  lane_rank bigint NOT NULL CHECK (lane_rank BETWEEN 0 AND 2),
  type text COLLATE "C" NOT NULL,
  quota_keys text COLLATE "C" NOT NULL,
  depth bigint NOT NULL CHECK (depth >= 0),
  delayed bigint NOT NULL CHECK (delayed >= 0),
  client text COLLATE "C" NOT NULL DEFAULT '',
  head bigint NOT NULL DEFAULT 0,
  place bigint NOT NULL DEFAULT 0,
  changed bigint NOT NULL DEFAULT 0
);
CREATE INDEX stream_client ON stream (client) WHERE client <> '';
CREATE INDEX stream_changed ON stream (changed);

CREATE TABLE client (
  id bigint PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  credits bigint NOT NULL,
  tier bigint NOT NULL CHECK (tier BETWEEN 0 AND 1),
  time bigint NOT NULL CHECK (time >= 0),
  floor bigint NOT NULL CHECK (floor >= 0),
  spent bigint NOT NULL CHECK (spent >= 0),
  changed bigint NOT NULL
);
CREATE INDEX client_changed ON client (changed);

CREATE TABLE task (
  id bigint PRIMARY KEY,
  stream bigint REFERENCES stream (id),
  state bigint NOT NULL CHECK (state BETWEEN 0 AND 6),
  attempt bigint NOT NULL CHECK (attempt >= 1),
  fence bigint NOT NULL CHECK (fence >= 0),
  lease bigint,
  crashes bigint NOT NULL,
  steps bigint NOT NULL,
  waits bigint NOT NULL CHECK (waits >= 0),
  seq bigint NOT NULL CHECK (seq >= 1),
  tail bytea NOT NULL CHECK (length(tail) = 32),
  submitted_at bigint NOT NULL,
  due_at bigint,
  queued_at bigint NOT NULL,
  started_at bigint,
  finished_at bigint,
  wait_reason text COLLATE "C",
  tokens bigint NOT NULL,
  explicit_id text COLLATE "C",
  parent bigint,
  account text COLLATE "C",
  budget bigint,
  CHECK ((state = 1) = (lease IS NOT NULL)),
  CHECK ((state = 2) = (wait_reason IS NOT NULL)),
  CHECK ((state > 2) = (finished_at IS NOT NULL)),
  CHECK (due_at IS NULL OR state = 0 OR state = 2),
  CHECK (waits = 0 OR state < 3),
  CHECK ((stream IS NULL) = (state = 6))
);
CREATE INDEX task_queued ON task (stream, id) WHERE state = 0 AND due_at IS NULL;
CREATE INDEX task_due ON task (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX task_notable ON task (state, id) WHERE state > 3 OR state = 2;
CREATE UNIQUE INDEX task_explicit ON task (explicit_id) WHERE explicit_id IS NOT NULL;
CREATE INDEX task_parent ON task (parent, id) WHERE parent IS NOT NULL;
CREATE INDEX task_parked ON task (budget, id) WHERE wait_reason = 'budget';

CREATE TABLE event (
  task bigint NOT NULL,
  seq bigint NOT NULL CHECK (seq >= 1),
  type text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  data text COLLATE "C" NOT NULL,
  blob text COLLATE "C",
  hash bytea NOT NULL,
  PRIMARY KEY (task, seq)
);

CREATE TABLE lease (
  id bigint PRIMARY KEY,
  task bigint NOT NULL,
  worker bigint NOT NULL,
  process bigint NOT NULL,
  attempt bigint NOT NULL,
  fence bigint NOT NULL,
  state bigint NOT NULL CHECK (state BETWEEN 0 AND 3),
  acquired_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  last_heartbeat_at bigint NOT NULL,
  ended_at bigint,
  end_reason text COLLATE "C",
  end_seq bigint,
  yield_asked_at bigint,
  abort_acknowledged_at bigint,
  abort_grace_expired_at bigint,
  progress text COLLATE "C",
  CHECK ((state = 0) = (ended_at IS NULL)),
  CHECK ((end_reason IS NULL) = (ended_at IS NULL)),
  CHECK ((end_seq IS NULL) = (ended_at IS NULL))
);
CREATE INDEX lease_running ON lease (expires_at) WHERE state = 0;

CREATE TABLE process (
  id bigint PRIMARY KEY,
  process_id text COLLATE "C" NOT NULL UNIQUE,
  host text COLLATE "C" NOT NULL,
  boot_id text COLLATE "C" NOT NULL,
  pid bigint NOT NULL,
  started_at bigint NOT NULL,
  last_seen_at bigint NOT NULL,
  ended_at bigint
);
CREATE INDEX process_open ON process (id) WHERE ended_at IS NULL;

CREATE TABLE worker (
  id bigint PRIMARY KEY,
  worker_id text COLLATE "C" NOT NULL,
  process bigint NOT NULL,
  capacity bigint NOT NULL CHECK (capacity >= 0),
  draining bigint NOT NULL,
  types text COLLATE "C" NOT NULL,
  last_seen_at bigint NOT NULL,
  registered bigint NOT NULL
);
CREATE INDEX worker_registered ON worker (process) WHERE registered = 1;

CREATE TABLE quota (
  key text COLLATE "C" PRIMARY KEY,
  queued bigint NOT NULL CHECK (queued >= 0),
  running bigint NOT NULL CHECK (running >= 0),
  window_start bigint NOT NULL,
  window_count bigint NOT NULL,
  window_tokens bigint NOT NULL,
  blocked_until bigint NOT NULL DEFAULT 0
);

CREATE TABLE idempotency (
  key text COLLATE "C" PRIMARY KEY,
  task bigint NOT NULL,
  payload_hash text COLLATE "C" NOT NULL
);

CREATE TABLE checkpoint (
  task bigint PRIMARY KEY,
  seq bigint NOT NULL,
  data text COLLATE "C" NOT NULL,
  at bigint NOT NULL
);

CREATE TABLE output (
  task bigint NOT NULL,
  seq bigint NOT NULL,
  attempt bigint NOT NULL,
  at bigint NOT NULL,
  data text COLLATE "C" NOT NULL,
  round bigint,
  PRIMARY KEY (task, seq)
);

CREATE TABLE wait (
  task bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  position bigint NOT NULL CHECK (position >= 0),
  kind bigint NOT NULL,
  name text COLLATE "C",
  due_at bigint,
  terms text COLLATE "C",
  PRIMARY KEY (task, key)
);
CREATE INDEX wait_approval ON wait (task) WHERE kind = 2;

CREATE TABLE signal (
  task bigint NOT NULL,
  seq bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  PRIMARY KEY (task, seq)
);

CREATE TABLE blob (sha256 text COLLATE "C" PRIMARY KEY, data text COLLATE "C" NOT NULL);

CREATE TABLE journal (
  number bigint PRIMARY KEY,
  at bigint NOT NULL,
  touched text COLLATE "C" NOT NULL,
  hash bytea NOT NULL
);

CREATE TABLE totals (
  id bigint PRIMARY KEY CHECK (id = 1),
  submitted bigint NOT NULL,
  rejected bigint NOT NULL,
  rejected_pruned bigint NOT NULL,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  canceled bigint NOT NULL,
  requeued bigint NOT NULL,
  expired bigint NOT NULL,
  preempted bigint NOT NULL,
  running bigint NOT NULL CHECK (running >= 0),
  waiting bigint NOT NULL CHECK (waiting >= 0)
);

CREATE TABLE schedule (
  name text COLLATE "C" PRIMARY KEY,
  definition text COLLATE "C" NOT NULL,
  paused bigint NOT NULL CHECK (paused BETWEEN 0 AND 1),
  created_at bigint NOT NULL,
  changed_at bigint NOT NULL,
  next_at bigint,
  last_at bigint,
  last_due_at bigint,
  last_task bigint,
  runs bigint NOT NULL CHECK (runs >= 0),
  rejected bigint NOT NULL CHECK (rejected >= 0),
  missed bigint NOT NULL CHECK (missed >= 0),
  skipped bigint NOT NULL CHECK (skipped >= 0),
  CHECK ((last_at IS NULL) = (last_task IS NULL))
);
CREATE INDEX schedule_next ON schedule (next_at, name) WHERE paused = 0 AND next_at IS NOT NULL;

CREATE TABLE child (
  parent bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  task bigint NOT NULL,
  position bigint NOT NULL CHECK (position >= 0),
  policy bigint NOT NULL CHECK (policy BETWEEN 0 AND 1),
  seq bigint NOT NULL CHECK (seq >= 1),
  open bigint NOT NULL CHECK (open BETWEEN 0 AND 1),
  PRIMARY KEY (parent, key)
);
CREATE INDEX child_open ON child (parent, task) WHERE open = 1;

CREATE TABLE reputation (
  agent text COLLATE "C" PRIMARY KEY,
  reputation double precision NOT NULL CHECK (reputation BETWEEN 0 AND 1),
  evaluations bigint NOT NULL CHECK (evaluations >= 1),
  average text COLLATE "C" NOT NULL,
  latest text COLLATE "C" NOT NULL,
  last_at bigint NOT NULL
);

CREATE TABLE evaluation (
  agent text COLLATE "C" NOT NULL,
  seq bigint NOT NULL CHECK (seq >= 1),
  at bigint NOT NULL,
  domain text COLLATE "C" NOT NULL,
  scores text COLLATE "C" NOT NULL,
  missing text COLLATE "C" NOT NULL,
  composite double precision NOT NULL CHECK (composite BETWEEN 0 AND 1),
  reputation double precision NOT NULL CHECK (reputation BETWEEN 0 AND 1),
  distance double precision CHECK (distance >= 0),
  change double precision,
  task_id text COLLATE "C",
  key text COLLATE "C",
  PRIMARY KEY (agent, seq),
  CHECK ((seq = 1) = (distance IS NULL)),
  CHECK ((seq = 1) = (change IS NULL))
);
CREATE UNIQUE INDEX evaluation_key ON evaluation (agent, key) WHERE key IS NOT NULL;

CREATE TABLE circuit (
  route text COLLATE "C" PRIMARY KEY,
  state bigint NOT NULL CHECK (state BETWEEN 0 AND 2),
  scar double precision NOT NULL CHECK (scar >= 0),
  scar_at bigint NOT NULL,
  opened_at bigint,
  probe_at bigint,
  unhealthy bigint NOT NULL CHECK (unhealthy BETWEEN 0 AND 1),
  probe bigint,
  CHECK ((state = 0) = (opened_at IS NULL)),
  CHECK ((state = 2) = (probe_at IS NOT NULL)),
  CHECK (probe IS NULL OR state = 2)
);

CREATE TABLE usage (
  task bigint PRIMARY KEY,
  route text COLLATE "C" NOT NULL,
  swarm text COLLATE "C",
  agent text COLLATE "C",
  lease bigint,
  data text COLLATE "C" NOT NULL,
  CHECK ((swarm IS NULL) = (agent IS NULL)),
  CHECK (swarm IS NOT NULL OR lease IS NOT NULL)
);

CREATE TABLE swarm (
  name text COLLATE "C" PRIMARY KEY,
  terms text COLLATE "C" NOT NULL,
  spent_us bigint NOT NULL CHECK (spent_us >= 0),
  spawned bigint NOT NULL CHECK (spawned >= 0),
  created_at bigint NOT NULL
);

CREATE TABLE budget (
  task bigint PRIMARY KEY,
  above bigint,
  limits text COLLATE "C" NOT NULL,
  soft text COLLATE "C" NOT NULL,
  used text COLLATE "C" NOT NULL,
  own text COLLATE "C" NOT NULL,
  started_at bigint,
  due_at bigint,
  asked text COLLATE "C",
  asks bigint NOT NULL CHECK (asks >= 0),
  CHECK (due_at IS NULL OR started_at IS NOT NULL),
  CHECK (asked IS NULL OR asks > 0)
);
CREATE INDEX budget_above ON budget (above) WHERE above IS NOT NULL;
CREATE INDEX budget_due ON budget (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX budget_asked ON budget (task) WHERE asked IS NOT NULL;

CREATE TABLE pruned (task bigint PRIMARY KEY, hash bytea NOT NULL);

INSERT INTO totals VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO meta VALUES ('clients_removed', '0'), ('pruned_unhashed_until', '0');
INSERT INTO head VALUES (true, 0, 0, 0, decode(repeat('00', 32), 'hex'), 0);

-- PostgreSQL reads no JSON in which a string holds a NUL or half of a surrogate pair. What is asked for here never does: escapes are left out.
CREATE FUNCTION json_part(data text, key text) RETURNS json LANGUAGE sql IMMUTABLE AS $$
  SELECT (CASE WHEN data ~ '\\\\u(?:0000|[dD][89a-fA-F])' THEN regexp_replace(data, '\\\\(?:u[0-9a-fA-F]{4}|.)', '?', 'g') ELSE data END)::json -> key
$$;
CREATE FUNCTION json_text(data text, key text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT (CASE WHEN data ~ '\\\\u(?:0000|[dD][89a-fA-F])' THEN regexp_replace(data, '\\\\(?:u[0-9a-fA-F]{4}|.)', '?', 'g') ELSE data END)::json ->> key
$$;
-- Ends a transaction whose statement found fewer rows than it should have changed.
CREATE FUNCTION must_be(done bigint, wanted bigint, what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF done <> wanted THEN
    RAISE EXCEPTION '% of % rows of % stood where they were read', done, wanted, what USING ERRCODE = 'KU001';
  END IF;
END
$$;
`),
  breaking(`
ALTER TABLE pruned ADD COLUMN until bigint;
CREATE INDEX pruned_until ON pruned (until) WHERE until IS NOT NULL;
CREATE TABLE retired (name text COLLATE "C" PRIMARY KEY, value bigint NOT NULL CHECK (value >= 0));
CREATE TABLE retired_named (name text COLLATE "C" PRIMARY KEY, value bigint NOT NULL CHECK (value >= 0));
CREATE INDEX event_blob ON event (blob) WHERE blob IS NOT NULL;
INSERT INTO meta VALUES ('journal_base', '0:' || repeat('0', 64));
`),
  breaking(`
-- Ends a transaction that was decided on a store which another process has changed meanwhile: it is decided again.
CREATE FUNCTION must_stand(heads bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF heads <> 1 THEN
    RAISE EXCEPTION 'another process has committed meanwhile' USING ERRCODE = 'KU002';
  END IF;
END
$$;
`),
  breaking(`
-- The version of the last commit that changed rows which other processes keep, and that no event of it names.
ALTER TABLE head ADD COLUMN untold bigint NOT NULL DEFAULT 0;
`),
  breaking(`
-- The settings of its task types that each worker knows.
ALTER TABLE worker ADD COLUMN settings text COLLATE "C";
`),
  breaking(`
-- The credits of clients, entry by entry.
ALTER TABLE client ADD COLUMN reserved bigint NOT NULL DEFAULT 0;
ALTER TABLE client ADD COLUMN entries bigint NOT NULL DEFAULT 0;
CREATE TABLE ledger (
  client text COLLATE "C" NOT NULL,
  seq bigint NOT NULL CHECK (seq >= 1),
  at bigint NOT NULL,
  kind bigint NOT NULL CHECK (kind BETWEEN 0 AND 5),
  amount bigint NOT NULL,
  held bigint NOT NULL,
  credits bigint NOT NULL,
  reserved bigint NOT NULL,
  task bigint,
  key text COLLATE "C",
  note text COLLATE "C",
  PRIMARY KEY (client, seq)
);
CREATE UNIQUE INDEX ledger_key ON ledger (client, key) WHERE key IS NOT NULL;
`),
  breaking(`
-- Pipelines: how far the log of each, which is the output of its task, was written and received.
CREATE TABLE pipeline (
  task bigint PRIMARY KEY,
  terms text COLLATE "C" NOT NULL,
  log text COLLATE "C" NOT NULL
);
`),
  breaking(`
-- When the holder of a lease last reported its progress.
ALTER TABLE lease ADD COLUMN progress_at bigint;
`),
  breaking(`
-- New rows fill half a page. A task's row changes with each step and a lease's with its end: the new row finds room where the old one is, so that a
-- step changes no index, and fewer pages are written. Source: docs/decisions/0053-another-primary-and-room-in-the-pages.md.
ALTER TABLE task SET (fillfactor = 50);
ALTER TABLE lease SET (fillfactor = 50);
`),
  breaking(`
-- Samples of the past: how lanes and task types stood, minute by minute and hour by hour.
CREATE TABLE sample (
  step_ms bigint NOT NULL,
  at bigint NOT NULL,
  type text COLLATE "C" NOT NULL,
  lane_rank bigint NOT NULL CHECK (lane_rank BETWEEN 0 AND 2),
  queued bigint,
  running bigint NOT NULL,
  started bigint NOT NULL,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  waits text COLLATE "C" NOT NULL,
  PRIMARY KEY (step_ms, type, at, lane_rank)
);
CREATE INDEX sample_age ON sample (step_ms, at);
`),
  breaking(`
-- How far the ledger of each client was folded into its opening entry, with a hash over what was folded.
CREATE TABLE folded (
  client text COLLATE "C" PRIMARY KEY,
  entries bigint NOT NULL CHECK (entries >= 2),
  hash text COLLATE "C" NOT NULL
);
`),
  breaking(`
-- The supervisors, for a list of them.
CREATE INDEX wait_supervisor ON wait (task) WHERE name = '$ku0/supervisor';
CREATE INDEX child_supervised ON child (parent) WHERE key >= '$ku0/supervised/' AND key < '$ku0/supervised0';
`),
  breaking(`
-- The settings of the store that processes state: those in force are the last of which a process has not ended.
CREATE TABLE configuration (
  id bigint PRIMARY KEY,
  settings text COLLATE "C" NOT NULL,
  since bigint NOT NULL
);
ALTER TABLE process ADD COLUMN configuration bigint;
CREATE INDEX process_states ON process (configuration) WHERE ended_at IS NULL AND configuration IS NOT NULL;
`),
  breaking(`
-- Access tokens of servers: their hashes, what they allow, and for how long.
CREATE TABLE access_token (
  name text COLLATE "C" PRIMARY KEY,
  hash text COLLATE "C" NOT NULL,
  scopes text COLLATE "C" NOT NULL,
  client text COLLATE "C",
  types text COLLATE "C",
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint
);
`),
  breaking(`
-- The oldest schema whose programs may use the store: a later one may have only added to it.
ALTER TABLE head ADD COLUMN oldest bigint NOT NULL DEFAULT 0;
`),
  // By default the server cleans a table once a fifth of it is dead: of a million tasks 200 000 rows, which every look into the queue may pass. Less
  // than a fiftieth would be in vain, since PostgreSQL leaves the indexes alone then. Source: docs/decisions/0071-upgrades-without-a-stop.md.
  additive(
    oftenChanged
      .map(
        (table) =>
          `ALTER TABLE ${table} SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.05);`,
      )
      .join('\n'),
  ),
  additive(`
-- Whether a text is JSON: somebody may have damaged it. PostgreSQL 15 has no function for it.
CREATE OR REPLACE FUNCTION json_valid(data text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  PERFORM data::json;
  RETURN true;
EXCEPTION WHEN data_exception OR statement_too_complex THEN
  RETURN false;
END
$$;
`),
  // As on SQLite it also stands for `agreement.missed` and the promise in a task's account, which have no step of their own.
  breaking(`
-- The open request of a client for credits, of which an event of a kind of its own tells.
ALTER TABLE client ADD COLUMN asks text COLLATE "C";
`),
  additive(`
-- The returns to the queue with another agent, so that a list finds the model of a task without its history.
CREATE INDEX event_fallback ON event (task, seq) WHERE type = 'task.requeued' AND strpos(data, '"fallback_agent"') > 0;
`),
]

/** The version this code writes and understands. */
export const schemaVersion = migrations.length

import { breaking, type Migration } from '../migration.ts'
import { parts, steps } from './steps.ts'

/** The tables, as migrations in order; a database's `user_version` says how many it has had. The views `tasks` and `leases` give names to people. */
export const migrations: readonly Migration[] = [
  breaking(`${parts.tables}
CREATE TABLE wait (
  task INTEGER NOT NULL,
  key TEXT NOT NULL,
  position INTEGER NOT NULL CHECK (position >= 0),
  kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 1),
  name TEXT,
  due_at INTEGER,
  PRIMARY KEY (task, key),
  CHECK ((kind = 1) = (name IS NOT NULL)),
  CHECK (kind = 1 OR due_at IS NOT NULL)
) STRICT, WITHOUT ROWID;
${parts.moreTables}
CREATE VIEW tasks AS
  SELECT task.id, stream.type,
    CASE stream.lane_rank WHEN 0 THEN 'interactive' WHEN 1 THEN 'normal' WHEN 2 THEN 'batch' END AS lane,
    CASE state WHEN 0 THEN 'queued' WHEN 1 THEN 'running' WHEN 2 THEN 'waiting' WHEN 3 THEN 'completed'
      WHEN 4 THEN 'failed' WHEN 5 THEN 'canceled' ELSE 'rejected' END AS state,
    attempt, crashes, steps, submitted_at, due_at, started_at, finished_at, explicit_id
  FROM task LEFT JOIN stream ON stream.id = task.stream;

CREATE VIEW leases AS
  SELECT lease.id AS dispatch, task, worker.worker_id, attempt, fence,
    CASE state WHEN 0 THEN 'running' WHEN 1 THEN 'completed' WHEN 2 THEN 'failed' ELSE 'canceled' END AS status,
    acquired_at, expires_at, last_heartbeat_at, ended_at, end_reason
  FROM lease JOIN worker ON worker.id = lease.worker;

CREATE VIEW steps AS
  SELECT task, json_extract(data, '$.key') AS step_key, json_extract(data, '$.position') AS position, seq, at,
    json_extract(data, '$.result') AS result
  FROM event WHERE type IN ('step.completed', 'step.inherited');
`),
  breaking(`
ALTER TABLE wait RENAME TO wait_before;
CREATE TABLE wait (
  task INTEGER NOT NULL,
  key TEXT NOT NULL,
  position INTEGER NOT NULL CHECK (position >= 0),
  kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3),
  name TEXT,
  due_at INTEGER,
  terms TEXT,
  PRIMARY KEY (task, key),
  CHECK ((kind = 0) = (name IS NULL)),
  CHECK (kind > 0 OR due_at IS NOT NULL),
  CHECK ((kind = 2) = (terms IS NOT NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO wait SELECT task, key, position, kind, name, due_at, NULL FROM wait_before;
DROP TABLE wait_before;
CREATE INDEX wait_approval ON wait (task) WHERE kind = 2;
${parts.schedulesAndChildren}`),
  breaking(`${parts.clientsToSwarms}
DROP VIEW leases;
CREATE VIEW leases AS
  SELECT lease.id AS dispatch, task, coalesce(worker.worker_id, 'caller') AS worker_id, attempt, fence,
    CASE state WHEN 0 THEN 'running' WHEN 1 THEN 'completed' WHEN 2 THEN 'failed' ELSE 'canceled' END AS status,
    acquired_at, expires_at, last_heartbeat_at, ended_at, end_reason
  FROM lease LEFT JOIN worker ON worker.id = lease.worker;
${parts.budgets}`),
  breaking(`${parts.pruned}
INSERT INTO meta SELECT 'pruned_unhashed_until', CAST(coalesce(max(number), 0) AS TEXT) FROM journal;
`),
  steps.rounds,
  breaking(`${parts.retired}
INSERT INTO meta VALUES ('journal_base', '0:' || lower(hex(zeroblob(32))));
`),
  steps.workerSettings,
  steps.ledger,
  steps.pipelines,
  steps.progressAt,
  steps.samples,
  steps.folded,
  steps.supervisors,
  steps.configurations,
  steps.accessTokens,
  steps.clientAsks,
  steps.fallbacks,
]

/** The version this code writes and understands. */
export const schemaVersion = migrations.length

/** Marks a SQLite file as a store of this runtime ("ku0r"). */
export const applicationId = 0x6b753072

/** Tasks that wait, found by the index `task_notable`: SQLite takes it only where the condition of the index stands in the query, word for word. */
export const WAITING_BY_INDEX = '(state > 3 OR state = 2) AND state = 2'

/** The same for submissions that were refused. */
export const REFUSED_BY_INDEX = '(state > 3 OR state = 2) AND state = 6'

/** The returns of tasks to the queue with another agent. SQLite would read the history of a task for them if the index had no name here. */
export const FALLBACKS = `event INDEXED BY event_fallback WHERE type = 'task.requeued' AND instr(data, '"fallback_agent"') > 0`

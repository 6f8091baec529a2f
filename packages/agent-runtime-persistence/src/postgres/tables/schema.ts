import { additive, breaking, type Migration } from '../../migration.ts'
import { parts, steps } from '../../sqlite/steps.ts'

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

/** A step of both databases. */
function here({ sql, isAdditive }: Migration): Migration {
  return { sql: ported(sql), isAdditive }
}

/** What makes tables in a file, in the words of PostgreSQL. Text sorts by its bytes, as it does there. */
function ported(sql: string): string {
  return sql
    .replaceAll(/\) STRICT(?:, WITHOUT ROWID)?;/g, ');')
    .replaceAll(/\b(?:INTEGER|REAL|TEXT|BLOB)\b/g, (type) => types[type] ?? type)
    .replaceAll('instr(', 'strpos(')
}

const types: Readonly<Record<string, string>> = {
  INTEGER: 'bigint',
  REAL: 'double precision',
  TEXT: 'text COLLATE "C"',
  BLOB: 'bytea',
}

/** What a file had got step by step when the first store was on PostgreSQL. */
const more = [
  parts.moreTables,
  parts.schedulesAndChildren,
  parts.clientsToSwarms,
  parts.budgets,
  parts.pruned,
  steps.rounds.sql,
]

/**
 * The tables on PostgreSQL, as migrations in order; `head.schema` says how many a store has had. They are those of SQLite, table by table and
 * column by column with the same numbers for states, so that one code reads both and a store can be copied from one to the other.
 * Besides there is `head`, the one row that a commit locks.
 */
export const migrations: readonly Migration[] = [
  breaking(`${ported(parts.tables)}
CREATE TABLE head (
  one boolean PRIMARY KEY CHECK (one),
  schema bigint NOT NULL,
  version bigint NOT NULL,
  number bigint NOT NULL,
  hash bytea NOT NULL,
  writer bigint NOT NULL
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
CREATE INDEX process_open ON process (id) WHERE ended_at IS NULL;
${more.map(ported).join('')}
INSERT INTO meta VALUES ('pruned_unhashed_until', '0');
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
  breaking(`${ported(parts.retired)}
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
  here(steps.workerSettings),
  here(steps.ledger),
  here(steps.pipelines),
  here(steps.progressAt),
  breaking(`
-- New rows fill half a page. A task's row changes with each step and a lease's with its end: the new row finds room where the old one is, so that a
-- step changes no index, and fewer pages are written. Source: docs/decisions/0053-another-primary-and-room-in-the-pages.md.
ALTER TABLE task SET (fillfactor = 50);
ALTER TABLE lease SET (fillfactor = 50);
`),
  here(steps.samples),
  here(steps.folded),
  here(steps.supervisors),
  here(steps.configurations),
  here(steps.accessTokens),
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
  here(steps.clientAsks),
  here(steps.fallbacks),
]

/** The version this code writes and understands. */
export const schemaVersion = migrations.length

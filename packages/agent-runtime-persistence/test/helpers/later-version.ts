import { additive, breaking, type Migration } from '../../src/migration.ts'
import { columns } from '../../src/sqlite/columns.ts'

const tables = Object.keys(columns)

/** What a later version may add without a stop: a column in every table, an index, and a table. */
export const addition: Migration = additive(
  [
    ...tables.map((table) => `ALTER TABLE ${table} ADD COLUMN novelty INTEGER NOT NULL DEFAULT 7;`),
    'CREATE INDEX novel ON task (novelty);',
    'CREATE TABLE novelty (id INTEGER PRIMARY KEY);',
  ].join('\n'),
)

/** What older programs would read wrongly. */
export const breach: Migration = breaking('ALTER TABLE task ADD COLUMN meaning INTEGER NOT NULL DEFAULT 1;')

/** Marks every row as changed by the later version. */
export const marking: string = tables.map((table) => `UPDATE ${table} SET novelty = 8;`).join('\n')

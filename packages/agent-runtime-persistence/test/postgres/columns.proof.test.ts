import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { columns } from '../../src/sqlite/columns.ts'
import { sharedServer } from '../helpers/postgres-server.ts'

const kinds: Readonly<Record<string, string>> = {
  bigint: 'integer',
  'double precision': 'real',
  'text C': 'text',
  bytea: 'blob',
}

test('the columns that the steps of a file make on PostgreSQL hold the same there, and texts sort by their bytes', async () => {
  const server = await sharedServer()
  const url = server.newStore()
  await (await openStore(url, { thread: false })).close()
  const client = await server.connect(url)
  onTestFinished(() => client.end())
  const { rows } = await client.query<{ table: string; name: string; type: string; isSure: boolean }>(
    `SELECT tables.relname AS table, it.attname AS name, concat_ws(' ', format_type(it.atttypid, NULL), collations.collname) AS type, it.attnotnull AS "isSure"
     FROM pg_attribute AS it JOIN pg_class AS tables ON tables.oid = it.attrelid LEFT JOIN pg_collation AS collations ON collations.oid = it.attcollation
     WHERE tables.relnamespace = current_schema()::regnamespace AND tables.relkind = 'r' AND tables.relname <> 'head' AND it.attnum > 0 ORDER BY it.attnum`,
  )
  const made: Record<string, string[]> = {}
  for (const { table, name, type, isSure } of rows)
    (made[table] ??= []).push(`${name} ${kinds[type] ?? type}${isSure ? '' : '?'}`)
  expect(made).toEqual(columns)
})

import { columns, namesOf, type TableName } from '../sqlite/columns.ts'

/** A statement of a flush. They are sent one after the other, without waiting. */
export interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

/** A row as a list, in the order of its columns. */
export type Row = readonly unknown[]

const typeNames = { integer: 'bigint', real: 'double precision', text: 'text', blob: 'bytea' } as const

/** New rows of a table, all in one statement. */
export function inserted(table: TableName, rows: readonly Row[], orElse = ''): Statement[] {
  if (rows.length === 0) return []
  const names = namesOf(table) as readonly string[]
  const text = `INSERT INTO ${table} (${names.join(', ')}) SELECT * FROM ${unnested(table, names)} ${orElse}`
  return [{ text, values: transposed(names.length, rows) }]
}

/** Rows of a table that are new or replace those with the same key. */
export function put(table: TableName, keys: readonly string[], rows: readonly Row[]): Statement[] {
  const set = (namesOf(table) as readonly string[])
    .filter((name) => !keys.includes(name))
    .map((name) => `${name} = excluded.${name}`)
  return inserted(table, rows, `ON CONFLICT (${keys.join(', ')}) DO UPDATE SET ${set.join(', ')}`)
}

/** What rows are to become, each only while it still has what is given under `before`: where one has not, the transaction ends. */
export interface Update {
  readonly table: TableName
  readonly key: string
  readonly before: string
  readonly set: readonly string[]
  /** Of each row its key, what it must have, and what it gets. */
  readonly rows: readonly Row[]
}

export function updated({ table, key, before, set, rows }: Update): Statement[] {
  if (rows.length === 0) return []
  const names = [key, before, ...set]
  const given = unnested(table, names, (_, at) => `p${at}`)
  const changes = set.map((name, at) => `${name} = given.p${at + 2}`).join(', ')
  const text = `WITH done AS (UPDATE ${table} AS old SET ${changes} FROM ${given} WHERE old.${key} = given.p0 AND old.${before} = given.p1 RETURNING 1)
    SELECT must_be((SELECT count(*) FROM done), $${names.length + 1}::bigint, '${table}')`
  return [{ text, values: [...transposed(names.length, rows), rows.length] }]
}

/** Deletes the rows with these keys. */
export function deleted(
  table: TableName,
  keys: readonly string[],
  rows: readonly Row[],
  compare = '=',
): Statement[] {
  if (rows.length === 0) return []
  const given = unnested(table, keys, (_, at) => `p${at}`)
  const same = keys.map((name, at) => `old.${name} ${at === keys.length - 1 ? compare : '='} given.p${at}`)
  return [
    {
      text: `DELETE FROM ${table} AS old USING ${given} WHERE ${same.join(' AND ')}`,
      values: transposed(keys.length, rows),
    },
  ]
}

function unnested(
  table: TableName,
  names: readonly string[],
  as: (name: string, at: number) => string = String,
): string {
  const arrays = names.map((name, at) => `$${at + 1}::${typeOf(table, name)}[]`).join(', ')
  return `unnest(${arrays}) AS given (${names.map(as).join(', ')})`
}

function typeOf(table: TableName, name: string): string {
  const found = (columns[table] as readonly string[]).find((column) => column.startsWith(`${name} `))
  if (found === undefined) throw new Error(`the table ${table} has no column ${name}`)
  return typeNames[found.slice(name.length + 1).replace('?', '') as keyof typeof typeNames]
}

/** One list a column. */
function transposed(width: number, rows: readonly Row[]): unknown[][] {
  return Array.from({ length: width }, (_, column) => rows.map((row) => row[column]))
}

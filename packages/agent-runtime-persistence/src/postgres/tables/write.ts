import { columns, namesOf, type TableName } from '../../sqlite/columns.ts'
import type { Statement } from '../connection/statement.ts'
import type { ParameterType } from '../connection/values.ts'
import { arrayParameter, parameter } from '../connection/parameters.ts'

/** A row as a list, in the order of its columns. */
export type Row = readonly unknown[]

const typeNames = { integer: 'bigint', real: 'double precision', text: 'text', blob: 'bytea' } as const

/** New rows of a table, all in one statement. */
export function inserted(table: TableName, rows: readonly Row[], orElse = ''): Statement[] {
  if (rows.length === 0) return []
  const names = namesOf(table) as readonly string[]
  const { each, from, values } = given(table, names, rows)
  const text = `INSERT INTO ${table} (${names.join(', ')}) SELECT ${each.join(', ')}${from === '' ? '' : ` FROM ${from}`} ${orElse}`
  return [{ text, values, isSilent: true }]
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
  const { each, from, values } = given(table, [key, before, ...set], rows)
  const changes = set.map((name, at) => `${name} = ${each[at + 2]}`).join(', ')
  const text = `WITH done AS (UPDATE ${table} AS old SET ${changes}${from === '' ? '' : ` FROM ${from}`} WHERE old.${key} = ${each[0]} AND old.${before} = ${each[1]} RETURNING 1)
    SELECT must_be((SELECT count(*) FROM done), $${values.length + 1}::bigint, '${table}')`
  return [{ text, values: [...values, String(rows.length)], isSilent: true }]
}

/** Deletes the rows with these keys. */
export function deleted(
  table: TableName,
  keys: readonly string[],
  rows: readonly Row[],
  compare = '=',
): Statement[] {
  if (rows.length === 0) return []
  const { each, from, values } = given(table, keys, rows)
  const same = keys.map((name, at) => `old.${name} ${at === keys.length - 1 ? compare : '='} ${each[at]}`)
  const text = `DELETE FROM ${table} AS old${from === '' ? '' : ` USING ${from}`} WHERE ${same.join(' AND ')}`
  return [{ text, values, isSilent: true }]
}

interface Given {
  /** Each column as the statement names it. */
  readonly each: readonly string[]
  /** Where the rows come from; empty for a single one. */
  readonly from: string
  readonly values: (Buffer | string | null)[]
}

/**
 * Rows as what a statement is given: a list for each column, and one value where all rows have the same. Most columns of a batch do, which
 * leaves a third of the bytes, and of what the server reads in.
 */
function given(table: TableName, names: readonly string[], rows: readonly Row[]): Given {
  const each: string[] = []
  const lists: string[] = []
  const listed: string[] = []
  const values: Given['values'] = []
  for (const [at, name] of names.entries()) {
    const type = typeOf(table, name)
    if (isSame(rows, at)) {
      each.push(`$${values.push(parameter(rows[0]?.[at]))}::${type}`)
      continue
    }
    const column = rows.map((row) => row[at])
    lists.push(`$${values.push(arrayParameter(type, column))}::${type}[]`)
    listed.push(`p${at}`)
    each.push(`given.p${at}`)
  }
  const from = lists.length === 0 ? '' : `unnest(${lists.join(', ')}) AS given (${listed.join(', ')})`
  return { each, from, values }
}

/** The first column is part of the key: it tells how many rows there are. */
function isSame(rows: readonly Row[], at: number): boolean {
  if (rows.length === 1) return true
  const first = rows[0]?.[at]
  return at > 0 && rows.every((row) => row[at] === first)
}

const types = new Map<string, ParameterType>()

function typeOf(table: TableName, name: string): ParameterType {
  const known = types.get(`${table}.${name}`)
  if (known !== undefined) return known
  const found = (columns[table] as readonly string[]).find((column) => column.startsWith(`${name} `))
  if (found === undefined) throw new Error(`the table ${table} has no column ${name}`)
  const type = typeNames[found.slice(name.length + 1).replace('?', '') as keyof typeof typeNames]
  types.set(`${table}.${name}`, type)
  return type
}

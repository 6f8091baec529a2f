import { listed, namesOf, type TableName } from './columns.ts'

/** A table with the columns that this version knows: a later one may have added more, which get their defaults. */
export function into(table: TableName): string {
  return `${table} (${listed(table)})`
}

/** Inserts a row. */
export function insertInto(table: TableName): string {
  return `INSERT INTO ${into(table)} VALUES (${places(table)})`
}

/** Inserts a row, or changes the one with this key, and leaves what a later version has added to it. */
export function putInto(table: TableName, key: readonly string[]): string {
  const set = (namesOf(table) as readonly string[]).filter((name) => !key.includes(name))
  return `${insertInto(table)} ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${set.map((name) => `${name} = excluded.${name}`).join(', ')}`
}

function places(table: TableName): string {
  return namesOf(table)
    .map(() => '?')
    .join(', ')
}

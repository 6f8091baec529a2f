import { RowValues } from './row-values.ts'
import type { Statements } from './statements.ts'

/**
 * Rows of one statement: in one of eight a row costs 1.45 microseconds instead of 1.9. They pass through a temporary table, which has to be
 * in memory (`temp_store`): in a file it costs twice what is saved.
 */
const rowsPerStatement = 8

/** What one update does to each of its rows. */
interface Update {
  readonly table: string
  /** By column: the value as it stands in the statement, or `?` for one that is given with the row. */
  readonly set: Readonly<Record<string, string>>
  /** The same for what the row must be; its key stands first. */
  readonly where: Readonly<Record<string, string>> & { readonly id: '?' }
  /** What is wrong when a row was not as it must be, by the values that were given for it. */
  readonly missed: (values: readonly unknown[]) => Error
}

/** Updates rows of one table, several to a statement. Rows are written by {@link Updater.flush} at the latest, each once. */
export interface Updater {
  /** The values of one row: those that are set, then those it must have. */
  add(...values: unknown[]): void
  /** Throws when a row was not as it must be. */
  flush(): void
  /** Forgets the rows that were not written. */
  drop(): void
}

export function prepareUpdate(db: Statements, { table, set, where, missed }: Update): Updater {
  const given = [...Object.values(set), ...Object.values(where)].filter((value) => value === '?').length
  const isSetHere = Object.values(set).filter((value) => value === '?').length
  const one = db.prepare(updateOf(table, set, where, () => '?'))
  const tuple = `(${Array.from({ length: given }, () => '?').join(', ')})`
  const tuples = Array.from({ length: rowsPerStatement }, () => tuple).join(', ')
  let column = 0
  const many = db.prepare(
    updateOf(table, set, where, () => `given.column${++column}`, ` FROM (VALUES ${tuples}) AS given`),
  )
  const stands = db.prepare(
    `SELECT 1 FROM ${table} WHERE ${conditions(table, set, () => '?', 'IS')} AND id = ?`,
  )
  const waiting = new RowValues(given * rowsPerStatement)

  return {
    add(...values) {
      const full = waiting.add(values)
      if (full === undefined) return
      if (many.run(...full).changes !== rowsPerStatement) throw missed(firstMissed(rowsOf(full)))
    },
    drop() {
      waiting.drop()
    },
    flush() {
      for (const row of rowsOf(waiting.takeRest())) if (one.run(...row).changes !== 1) throw missed(row)
    },
  }

  function rowsOf(values: readonly unknown[]): readonly (readonly unknown[])[] {
    return Array.from({ length: values.length / given }, (_, n) => values.slice(n * given, (n + 1) * given))
  }

  /** The statement says how many it changed, not which. */
  function firstMissed(rows: readonly (readonly unknown[])[]): readonly unknown[] {
    const found = rows.find((row) => stands.get(...row.slice(0, isSetHere + 1)) === undefined)
    return found ?? rows[0] ?? []
  }
}

function updateOf(
  table: string,
  set: Readonly<Record<string, string>>,
  where: Readonly<Record<string, string>>,
  bind: () => string,
  from = '',
): string {
  const changes = Object.entries(set).map(
    ([column, value]) => `${column} = ${value === '?' ? bind() : value}`,
  )
  return `UPDATE ${table} SET ${changes.join(', ')}${from} WHERE ${conditions(table, where, bind)}`
}

function conditions(
  table: string,
  columns: Readonly<Record<string, string>>,
  bind: () => string,
  equals = '=',
): string {
  return Object.entries(columns)
    .map(([column, value]) => `${table}.${column} ${equals} ${value === '?' ? bind() : value}`)
    .join(' AND ')
}

import type Database from 'better-sqlite3'
import type { Queries } from '../views/queries.ts'
import type { Db } from './open.ts'

/** What a prepared statement of better-sqlite3 does, as far as it is used here. */
type Statement<Given extends unknown[], Row> = Pick<
  Database.Statement<Given, Row>,
  'run' | 'get' | 'all' | 'iterate'
>

/**
 * The statements of a connection, each prepared when it is first run: there are some 180, of which a program runs a third, and to
 * prepare all of them was most of the time that opening a store took. Once it is prepared, one costs what it costs without this.
 */
export class Statements implements Queries {
  readonly #db: Db
  #transaction: (<T>(read: () => T) => T) | undefined

  constructor(db: Db) {
    this.#db = db
  }

  prepare<Given extends unknown[] = unknown[], Row = unknown>(sql: string): PreparedLater<Given, Row> {
    return new PreparedLater<Given, Row>(this.#db, sql)
  }

  /** See {@link Queries.ahead}. */
  ahead(): void {}

  /** What `read` reads is of one state, whatever other processes write meanwhile. */
  atOnce<T>(read: () => T): T {
    this.#transaction ??= this.#db.transaction(<R>(asked: () => R) => asked()) as <R>(asked: () => R) => R
    return this.#transaction(read)
  }
}

class PreparedLater<Given extends unknown[], Row> implements Statement<Given, Row> {
  readonly #db: Db
  readonly #sql: string
  #mode: 'raw' | 'pluck' | undefined
  #prepared: Database.Statement<Given, Row> | undefined

  constructor(db: Db, sql: string) {
    this.#db = db
    this.#sql = sql
  }

  /** Rows as lists. */
  raw(): this {
    this.#mode = 'raw'
    return this
  }

  /** The first column alone. */
  pluck(): this {
    this.#mode = 'pluck'
    return this
  }

  run(...given: Given): Database.RunResult {
    return this.#own.run(...given)
  }

  get(...given: Given): Row | undefined {
    return this.#own.get(...given)
  }

  all(...given: Given): Row[] {
    return this.#own.all(...given)
  }

  iterate(...given: Given): IterableIterator<Row> {
    return this.#own.iterate(...given)
  }

  get #own(): Database.Statement<Given, Row> {
    return (this.#prepared ??= this.#prepare())
  }

  #prepare(): Database.Statement<Given, Row> {
    const statement = this.#db.prepare<Given, Row>(preparedOnce(this.#sql)) as Database.Statement<Given, Row>
    return this.#mode === undefined ? statement : statement[this.#mode]()
  }
}

/**
 * SQLite prepares a statement anew at every run if it compares a column with a bare `?` and orders, groups or looks for the greatest: 9 µs of
 * processor time for a row, and 1.4 with a `+` before it, which changes no value. PostgreSQL has no such operator for a text, so it is put in here.
 */
export function preparedOnce(sql: string): string {
  return sql.trimStart().startsWith('SELECT') ? sql.replaceAll(/(=|\bIS) \?/g, '$1 +?') : sql
}

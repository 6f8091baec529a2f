/** A statement that reads: its rows as objects, as lists, or the first column alone. */
export interface Query<Given extends unknown[], Row> {
  /** Rows as lists. */
  raw(): this
  /** The first column alone. */
  pluck(): this
  get(...given: Given): Row | undefined
  all(...given: Given): Row[]
  iterate(...given: Given): IterableIterator<Row>
}

/**
 * A database that answers statements, in the SQL of SQLite. Everything that reads a store is written against it once: a SQLite file answers
 * at once; PostgreSQL is asked for what is missing, and the reading is run again with the answers.
 * Source: `docs/decisions/0026-commits-of-several-processes.md`.
 */
export interface Queries {
  prepare<Given extends unknown[] = unknown[], Row = unknown>(sql: string): Query<Given, Row>
  /** What `read` reads is of one state, whatever other processes write meanwhile. */
  atOnce<T>(read: () => T): T
  /** Says what will be read next. A database that is far away then asks for all of it at once; one that is near does nothing. */
  ahead<T>(items: readonly T[], read: (item: T) => unknown): void
}

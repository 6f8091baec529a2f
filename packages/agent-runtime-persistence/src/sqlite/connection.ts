/** A connection to the database, as far as a simulation needs it. */
export interface Connection {
  exec(sql: string): unknown
  pragma(source: string, options?: { readonly simple?: boolean }): unknown
}

/** What is asked of a database beside its engine. No type of the driver is in it, so a program that imports it compiles without those. */
export interface StoreDatabase {
  /** Other processes that have the store open, as of the last look. */
  readonly others: number
  readonly mayHaveForeignCommit: boolean
  /** Whether the commits of others are reported, so that an idle process may look for them less often. */
  isHeard: boolean
  readonly connection: Connection
  die(): void
}

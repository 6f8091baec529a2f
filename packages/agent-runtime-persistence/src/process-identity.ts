/** Identifies the process that opens a store: enough to tell two processes apart, even with the same pid. */
export interface ProcessIdentity {
  readonly processId: string
  readonly host: string
  readonly bootId: string
  readonly pid: number
}

/** The name of the row for all processes that have a line to a process of the store in place of the database. */
export const REMOTE = 'remote'

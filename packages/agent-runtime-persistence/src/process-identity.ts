/** Who opens a store: enough to tell two processes apart, even with the same pid. */
export interface ProcessIdentity {
  readonly processId: string
  readonly host: string
  readonly bootId: string
  readonly pid: number
}

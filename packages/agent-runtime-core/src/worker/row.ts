export interface WorkerRow {
  readonly id: number
  readonly workerId: string
  readonly process: number
  readonly capacity: number
  readonly draining: boolean
  readonly types: readonly string[]
  readonly lastSeenAt: number
  /** False once it has left the registry. */
  readonly registered: boolean
}

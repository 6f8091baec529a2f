export interface WorkerRow {
  readonly id: number
  readonly workerId: string
  readonly process: number
  readonly capacity: number
  /** Its owner drains it, and will remove it. */
  readonly draining: boolean
  /** Somebody outside drained it: it is given nothing until that is taken back. */
  readonly drainAsked: boolean
  readonly types: readonly string[]
  readonly lastSeenAt: number
  /** False once it has left the registry. */
  readonly registered: boolean
}

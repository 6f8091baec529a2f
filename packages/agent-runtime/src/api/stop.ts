export interface StopOptions {
  /** True by default. */
  readonly drain?: boolean | undefined
  /** A finite number of ms, 0 or more; `drainGraceMs` by default. */
  readonly graceMs?: number | undefined
}

/** The result of a stop. */
export interface StopReport {
  /** True if every running task ended by itself. */
  readonly drained: boolean
  /** Number of tasks that went back to the queue. */
  readonly released: number
}

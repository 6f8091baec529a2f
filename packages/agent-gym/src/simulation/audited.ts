import { type Write } from '@ku0/agent-runtime-core'

/** What the audit knows of a simulated process. */
export interface Audited {
  readonly name: string
  readonly processId: string
  readonly isDead: boolean
  /** Its wall clock, epoch ms. */
  wall(): number
  /** The furthest that it has shown. */
  furthest(): number
  /** What each of its workers may hold. */
  readonly capacity: number
  readonly workerIds: readonly string[]
}

/** A function of a step that begins. */
export interface StepRun {
  readonly taskId: string
  readonly key: string
  /** The fencing token of its pass. */
  readonly fence: number
  /** How many idempotency keys its runs have had so far. */
  readonly idempotencyKeys: number
  /** How long a holder may go on that has not heard of the end of its lease, and how long its process has been awake. */
  readonly graceMs: number
  readonly awakeMs: number
}

/** What one turn of a store's engine answered. */
export interface Answered {
  readonly operation: Write
  readonly value: unknown
}

import type { PoolMember, Replacement } from '@ku0/agent-runtime-core'

/** The workers of a pool: those of this process, or processes. */
export interface Crew {
  /** The workers that have not left, in the order in which they started. */
  members(): readonly CrewMember[]
  /** What all its workers have done so far, the ones that left included. */
  readonly totals: Tally
  /** Starts one more worker. Throws if it cannot; the pool logs that and tries again in a later pass. */
  start(): Promise<string>
  /** Resolves when the worker has ended its tasks and left. */
  drain(workerId: string): Promise<void>
}

export interface CrewMember extends PoolMember {
  readonly currentTask: string | null
  /** Somebody outside drained it: it keeps its place, and takes nothing. */
  readonly drainAsked: boolean
  readonly tally: Tally
}

/** Passes of tasks that ended. */
export interface Tally {
  readonly completed: number
  readonly failed: number
}

/** A worker ended by itself. */
export interface Death {
  readonly workerId: string
  readonly how: string
  /** When the next one may start. */
  readonly next: Replacement
}

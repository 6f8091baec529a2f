import type { SwarmTerms } from '../profile/schema.ts'

/** A swarm. Its agents are the usages that name it. */
export interface SwarmRow {
  readonly name: string
  readonly terms: SwarmTerms
  /** CPU time of agents that have ended. */
  readonly spentUs: number
  /** Agents that were ever spawned. */
  readonly spawned: number
  readonly createdAt: number
}

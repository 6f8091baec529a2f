import type { SwarmTerms } from '../profile/schema.ts'
import type { CircuitState } from '../route/circuit.ts'
import type { Lane } from '../task/lane.ts'

/** An agent of a swarm that has not ended. */
export interface AgentRecord {
  readonly agent: string
  readonly taskId: string
  readonly lane: Lane
  readonly pressure: number
  /** CPU time in all, and what it holds now, as it was reported. */
  readonly computeUs: number
  readonly memoryBytes: number
}

/** A swarm as it stands. Source: `docs/semantics.md 10.6`. */
export interface SwarmRecord {
  readonly name: string
  readonly terms: SwarmTerms
  readonly createdAt: number
  readonly spawned: number
  readonly agents: readonly AgentRecord[]
  readonly pressure: { readonly mean: number; readonly max: number }
  /** The rest of the shared budget; null without a limit. */
  readonly rest: { readonly cpuTimeUs: number | null; readonly memoryBytes: number | null }
  readonly circuit: CircuitState
}

/** Writes about swarms. */
export interface SwarmWrites {
  /** Source: `docs/semantics.md 10.6`. */
  putSwarm: {
    fields: { readonly name: string; readonly terms: SwarmTerms }
    outcome:
      | { readonly as: 'created' | 'joined' }
      | { readonly as: 'other_terms'; readonly terms: SwarmTerms }
  }
  closeSwarm: {
    fields: { readonly name: string }
    outcome: { readonly closed: boolean; readonly canceled: number }
  }
}

/** Reads about swarms. */
export interface SwarmReads {
  /** One by its name, or all. */
  swarms: { fields: { readonly name?: string }; answer: readonly SwarmRecord[] }
}

import type { BudgetField } from '../budget/budget.ts'
import type { CircuitState } from '../route/circuit.ts'

/**
 * The facts of a refusal at that instant. A refusal by the entry point (`unknown_task_type`,
 * `invalid_payload`) has none: its message says everything. Source: `docs/semantics.md 1.5, 2.1`.
 */
export type AdmissionVerdict =
  /** A limit of the configuration: `value` had reached `max`. */
  | {
      readonly by: 'limit'
      readonly limit: 'queueDepthLimit' | 'batchBackpressureThreshold' | 'maxDelayed' | 'maxClients'
      readonly max: number
      readonly value: number
    }
  /** A limit of a quota. `value` is what counted without this task; of `tokensPerWindow` it asked for so many. Times are epoch ms. */
  | {
      readonly by: 'quota'
      readonly key: string
      readonly limit: QuotaLimitName
      readonly max: number
      readonly value: number
      readonly asked: number
      /** When the window ends; absent for `maxInFlight`, which no time frees. */
      readonly resetsAt?: number
    }
  /** A provider had said that nothing of this key is to start before. */
  | { readonly by: 'block'; readonly key: string; readonly blockedUntil: number }
  /** Nothing was left of the budget of a task above it. */
  | {
      readonly by: 'budget'
      readonly taskId: string
      readonly field: BudgetField
      readonly limit: number
      readonly used: number
    }
  /** The credits of its client did not cover its estimate. */
  | { readonly by: 'credits'; readonly client: string; readonly credits: number; readonly asked: number }
  /** The circuit of a route, or of a swarm as a whole. `retryAfterMs` is 0 while a probe decides. */
  | ({ readonly by: 'circuit'; readonly route: string } & CircuitStanding)
  | ({ readonly by: 'circuit'; readonly swarm: string } & CircuitStanding)
  /** `maxAgents`: so many are alive; `threshold`: their mean pressure. */
  | {
      readonly by: 'swarm'
      readonly swarm: string
      readonly limit: 'maxAgents' | 'threshold'
      readonly max: number
      readonly value: number
    }
  /** The limits that the agents of a swarm share; `asked` is absent without a reservation. */
  | {
      readonly by: 'swarm'
      readonly swarm: string
      readonly limit: 'cpuTimeUs' | 'memoryBytes'
      readonly left: number
      readonly asked?: number
    }

/** The limits that a quota key can have. */
export type QuotaLimitName = 'maxInFlight' | 'perWindow' | 'tokensPerWindow'

interface CircuitStanding {
  readonly state: CircuitState
  readonly scar: number
  readonly retryAfterMs: number
}

/** Why something is refused: in words, and what it was decided on. */
export interface Objection {
  readonly message: string
  readonly verdict: AdmissionVerdict
  /** As things are set there will never be room for it. */
  readonly forGood?: true
}

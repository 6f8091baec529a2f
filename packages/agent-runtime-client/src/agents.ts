import type { ReputationRecord, RouteRecord, SwarmRecord } from '@ku0/agent-runtime-core'
import type { Transport } from './transport.ts'
import { unlessUnknown } from './unless-unknown.ts'

/** A judgement of an agent's work, as it is stored. */
export interface Evaluation {
  readonly seq: number
  readonly [more: string]: unknown
}

/** Judgements of agents, and what follows from them. */
export interface Evaluations {
  /** Adds a judgement: a score for each dimension, and options as in the runtime. */
  record(
    agent: string,
    scores: Readonly<Record<string, number>>,
    options?: Readonly<Record<string, unknown>>,
  ): Promise<Evaluation>
  /** Undefined for an agent without evaluations. */
  reputation(agent: string): Promise<Readonly<Record<string, unknown>> | undefined>
  /** A page of the agents that were evaluated, by their names. The next page begins after the last name. */
  agents(page?: {
    readonly after?: string | undefined
    readonly limit?: number | undefined
  }): Promise<readonly ReputationRecord[]>
  /** Newest first. */
  history(
    agent: string,
    page?: { readonly before?: number | undefined; readonly limit?: number | undefined },
  ): Promise<readonly Evaluation[]>
  /** The agents with the most similar average scores, the nearest first. */
  similar(
    agent: string,
    options?: { readonly limit?: number | undefined; readonly domain?: string | undefined },
  ): Promise<readonly Readonly<Record<string, unknown>>[]>
  /** Whether an agent's latest work differs from its earlier work; undefined if there is too little of it. */
  drift(
    agent: string,
  ): Promise<
    { readonly drifted: boolean; readonly distance: number; readonly [more: string]: unknown } | undefined
  >
}

/** The calls about agents. */
export interface Agents {
  readonly evaluations: Evaluations
  /** The pressure, resistance, scar and circuit of every route. */
  routes(): Promise<readonly RouteRecord[]>
  /** The swarms of the store with their agents. */
  swarms(): Promise<readonly SwarmRecord[]>
}

/** The calls about agents, on a transport. */
export function agentsOn(transport: Transport): Agents {
  const of = (agent: string, what: string) => `/agents/${encodeURIComponent(agent)}/${what}`
  return {
    evaluations: {
      async record(agent, scores, options = {}) {
        const body = { scores, ...options }
        const method = 'POST'
        const repeatable = options['key'] !== undefined
        const path = of(agent, 'evaluations')
        return (await transport.json({ method, path, body, repeatable })) as Evaluation
      },
      reputation: (agent) => unlessUnknown(transport.json({ path: of(agent, 'reputation') })),
      async agents(query = {}) {
        const { agents } = (await transport.json({ path: '/agents', query })) as {
          readonly agents: readonly ReputationRecord[]
        }
        return agents
      },
      async history(agent, query = {}) {
        const { evaluations } = (await transport.json({ path: of(agent, 'evaluations'), query })) as {
          readonly evaluations: readonly Evaluation[]
        }
        return evaluations
      },
      async similar(agent, query = {}) {
        const { agents } = (await transport.json({ path: of(agent, 'similar'), query })) as {
          readonly agents: readonly Readonly<Record<string, unknown>>[]
        }
        return agents
      },
      drift: (agent) => unlessUnknown(transport.json({ path: of(agent, 'drift') })),
    },
    async routes() {
      return ((await transport.json({ path: '/routes' })) as { readonly routes: readonly RouteRecord[] })
        .routes
    },
    async swarms() {
      return ((await transport.json({ path: '/swarms' })) as { readonly swarms: readonly SwarmRecord[] })
        .swarms
    },
  }
}

import { z } from '../wire/zod.ts'
import { dimensions, RuntimeError } from '@ku0/agent-runtime-core'
import { problemOf } from '../problem/problem.ts'
import { answer } from '../serving.ts'
import { LimitText, wholeText } from '../wire/parameters.ts'
import { endpoint } from './endpoint.ts'
import { KeyHeader, ownKeyOf } from './idempotency-key.ts'

const AgentPath = z.strictObject({ agent: z.string().min(1).max(255) })
const agents = { tag: 'agents', bound: 'none' } as const
const reading = { ...agents, method: 'get', scope: 'read' } as const

export const listRoutes = endpoint({
  ...reading,
  path: '/routes',
  id: 'listRoutes',
  summary: 'The pressure, resistance, scar and circuit of every route',
  answers: {
    200: {
      description: 'All routes',
      schema: z.object({ routes: z.array(z.looseObject({}).openapi('Route')) }),
    },
  },
  run: async ({ serving }) => answer(serving, { routes: await serving.runtime.routes() }),
})

export const listSwarms = endpoint({
  ...reading,
  path: '/swarms',
  id: 'listSwarms',
  summary: 'The swarms of the store with their agents',
  answers: {
    200: {
      description: 'All swarms',
      schema: z.object({ swarms: z.array(z.looseObject({}).openapi('Swarm')) }),
    },
  },
  run: async ({ serving }) => answer(serving, { swarms: await serving.runtime.swarms() }),
})

export const showReputation = endpoint({
  ...reading,
  path: '/agents/{agent}/reputation',
  id: 'showReputation',
  summary: "An agent's reputation",
  params: AgentPath,
  answers: { 200: { description: 'The reputation', schema: z.looseObject({}).openapi('Reputation') } },
  problems: [404],
  async run({ serving, params: { agent } }) {
    const reputation = await serving.runtime.evaluations.reputation(agent)
    if (reputation === undefined) throw neverEvaluated(agent)
    return answer(serving, reputation)
  },
})

export const listAgents = endpoint({
  ...reading,
  path: '/agents',
  id: 'listAgents',
  summary: 'The agents that were evaluated, by their names, with their reputations',
  query: z.strictObject({ after: z.string().min(1).max(255).optional(), limit: LimitText }),
  answers: {
    200: {
      description: 'A page of agents; the next one begins after the last name',
      schema: z.object({ agents: z.array(z.looseObject({ agentId: z.string() })) }),
    },
  },
  run: async ({ serving, query }) =>
    answer(serving, { agents: await serving.runtime.evaluations.agents(query) }),
})

const EvaluationSchema = z.looseObject({ seq: z.int() }).openapi('Evaluation')

export const listEvaluations = endpoint({
  ...reading,
  path: '/agents/{agent}/evaluations',
  id: 'listEvaluations',
  summary: "An agent's evaluations, newest first",
  params: AgentPath,
  query: z.strictObject({ before: wholeText(1, Number.MAX_SAFE_INTEGER), limit: LimitText }),
  answers: {
    200: {
      description: 'A page of evaluations',
      schema: z.object({ evaluations: z.array(EvaluationSchema) }),
    },
  },
  run: async ({ serving, params: { agent }, query }) =>
    answer(serving, { evaluations: await serving.runtime.evaluations.history(agent, query) }),
})

export const recordEvaluation = endpoint({
  ...agents,
  method: 'post',
  path: '/agents/{agent}/evaluations',
  id: 'recordEvaluation',
  repeat: 'keyed',
  summary: "Add a judgement of an agent's work",
  scope: 'operate',
  params: AgentPath,
  headers: KeyHeader,
  body: z.strictObject({
    scores: z.strictObject(Object.fromEntries(dimensions.map((name) => [name, z.number().optional()]))),
    entry: z.enum(['raw', 'normalised']).optional(),
    maxRevisions: z.number().min(0).optional(),
    domain: z.string().min(1).max(255).optional(),
    weights: z
      .strictObject(Object.fromEntries(dimensions.map((name) => [name, z.number().optional()])))
      .optional(),
    taskId: z.string().min(1).max(255).optional(),
    key: z.string().min(1).max(255).optional(),
    strict: z.boolean().optional(),
  }),
  answers: { 201: { description: 'It is recorded', schema: EvaluationSchema } },
  problems: [409],
  async run({ serving, request, params: { agent }, body: { scores, key, ...rest } }) {
    const options = { ...rest, ...ownKeyOf(key, request.header('idempotency-key')) }
    return answer(serving, await serving.runtime.evaluations.record(agent, scores, options), 201)
  },
})

export const similarAgents = endpoint({
  ...reading,
  path: '/agents/{agent}/similar',
  id: 'similarAgents',
  summary: 'The agents with the most similar average scores',
  params: AgentPath,
  query: z.strictObject({ limit: LimitText, domain: z.string().min(1).max(255).optional() }),
  answers: {
    200: { description: 'The nearest first', schema: z.object({ agents: z.array(z.looseObject({})) }) },
  },
  problems: [404],
  run: async ({ serving, params: { agent }, query }) =>
    answer(serving, { agents: await serving.runtime.evaluations.similar(agent, query) }),
})

export const showDrift = endpoint({
  ...reading,
  path: '/agents/{agent}/drift',
  id: 'showDrift',
  summary: "Whether an agent's latest work differs from its earlier work",
  params: AgentPath,
  answers: {
    200: {
      description: 'How far it is from the average before',
      schema: z.looseObject({ drifted: z.boolean(), distance: z.number() }).openapi('Drift'),
    },
  },
  problems: [404],
  async run({ serving, params: { agent } }) {
    const drift = await serving.runtime.evaluations.drift(agent)
    if (drift === undefined) throw neverEvaluated(agent)
    return answer(serving, drift)
  },
})

function neverEvaluated(agent: string) {
  return problemOf(new RuntimeError('not_found', `agent ${agent} was never evaluated`))
}

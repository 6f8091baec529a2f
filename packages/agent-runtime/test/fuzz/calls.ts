import fc from 'fast-check'
import {
  fields,
  hostile,
  listOf,
  mostly,
  type Piece,
  piece,
  values,
} from '../../../agent-runtime-core/test/fuzz/pieces.ts'
import {
  agentState,
  checkDeploy,
  findStuck,
  compareOversight,
  compose,
  createAgentRegistry,
  createClient,
  createPool,
  createRuntime,
  createWorker,
  defineAgent,
  defineAgreement,
  defineCodec,
  defineComposition,
  combineRecovery,
  defineContract,
  defineDomain,
  defineGraph,
  defineMarketplace,
  definePipeline,
  defineSupervisor,
  defineTask,
  edge,
  identityEdge,
  passThrough,
  toAgentView,
  typedTaskId,
} from '../../src/index.ts'
import type { World } from './world.ts'

/** How a call is made, and with what. */
export interface Door<W = World> {
  readonly given: readonly fc.Arbitrary<Piece>[]
  readonly open: (world: W, ...given: never[]) => unknown
  /** After it has succeeded: what a following read gives is what was given, or it throws. */
  readonly keeps?: (world: W, answer: never, ...given: never[]) => Promise<void>
}

const schema = piece('anything', () => ({
  '~standard': { version: 1, vendor: 'fuzz', validate: (value: unknown) => ({ value }) },
}))
const anySchema = mostly(fc.constant(schema))
const handler = mostly(fc.constant(piece('() => 1', () => () => 1)))
const signal = mostly(
  fc.constant(piece('a signal', () => new AbortController().signal)),
  fc.constant(piece('an aborted signal', () => AbortSignal.abort())),
)
const id = values('ended', 'failed', 'parked', 'delayed', 'mine', 'nobody', 'x:1')
const receipt = fc
  .constantFrom('ended', 'nobody')
  .map((taskId) =>
    piece(`a receipt of ${taskId}`, () => ({ accepted: true, taskId, sequence: 1, deduplicated: false })),
  )
const task = mostly(id, id, receipt)
const name = mostly(values('a', 'b', 'agent', 'ended'))
const type = mostly(
  values('echo', 'echo', 'waits', 'fails', 'nobody runs this'),
  fc.constant(piece('the definition of echo', () => echo)),
)
const contract = defineContract({ type: 'echo', input: schema.make() as never })
/** For a definition: the world defines it by this name. */
const echo = defineTask(
  { type: 'echo', input: schema.make() as never, retry: { attempts: 1 } },
  (_, input) => input,
)
const ms = mostly(values(0, 1, 20, 3_600_000))
const count = mostly(values(1, 2, 1_000))
const share = mostly(values(0, 0.5, 1))
const flag = mostly(values(true, false))
const text = mostly(values('because', '', '\n'))
const names = mostly(listOf(name))
const lane = mostly(values('interactive', 'normal', 'batch'))
const amountsOf = { tokens: count, money: share, cost: share, wallMs: count, steps: count }
const budget = fields({ ...amountsOf, soft: mostly(share, fields(amountsOf)) })
const labels = fields({ team: text, a: text })
const dueAt = mostly(values(0, 1_900_000_000_000), fc.constant(piece('a date', () => new Date(4e12))))
const submitOptions = fields({
  lane,
  taskId: mostly(values('mine', 'another')),
  idempotencyKey: name,
  client: name,
  model: name,
  tools: names,
  labels,
  dueAt,
  delayMs: ms,
  timeoutMs: mostly(values(1_000)),
  tokens: count,
  cost: share,
  budget,
  onReject: mostly(values('return', 'throw')),
})
const limits = fields({
  soft: fields({ cpuTimeUs: count, memoryBytes: count, durationMs: count }),
  hard: fields({ cpuTimeUs: count, memoryBytes: count, durationMs: count }),
})
const profile = mostly(
  values('LIGHT', 'STANDARD', 'HEAVY', 'EXTREME', 'CUSTOM'),
  fields({
    profile: mostly(values('LIGHT', 'CUSTOM')),
    config: fields({
      baselineLatencyMs: count,
      baselineComputeUs: count,
      baselineMemoryBytes: count,
      maxDurationMs: count,
      heartbeatRequired: flag,
    }),
    limits,
  }),
)
const controller = mostly(fc.constant(piece('a controller', () => new AbortController())))
const measure = mostly(
  fc.constant(piece('a probe', () => () => ({ computeUs: 1 }))),
  hostile.map(({ text: told, make }) => piece(`() => ${told}`, () => make)),
)
const amounts = { computeUs: count, errorRate: share, saturation: share }
const dimensions = ['quality', 'adherence', 'speed', 'cost', 'errors', 'revisions']
const scores = fields(Object.fromEntries(dimensions.map((it) => [it, share])), ...dimensions)
const weights = mostly(values({ quality: 1 }), scores)
const timing = mostly(
  fields({ everyMs: mostly(values(1_000, 3_600_000)) }),
  fields({
    cron: mostly(values('@daily', '0 0 * * *', '61 * * * *', '* * * * * * *')),
    timeZone: mostly(values('Europe/Zurich', 'Nowhere/Land')),
  }),
)
const choices = mostly(values('restart', 'retry_with_backoff', 'fallback_agent', 'human_escalation', 'fail'))
const recovery = fields({
  crash: choices,
  timeout: choices,
  resource_exhaustion: choices,
  invalid_output: choices,
  human_rejection: choices,
  fallbackModels: names,
})
const retry = fields({ attempts: count, backoff: fields({ initialMs: ms, maxMs: ms, factor: count }) })
const taskOptions = {
  type: mostly(values('new')),
  input: anySchema,
  output: anySchema,
  lane,
  timeoutMs: ms,
  profile,
  limits,
  model: name,
  tools: names,
  budget,
  retry,
  recovery,
  domain: mostly(fields({ name, recovery }, 'name', 'recovery')),
  replay: mostly(values('by-key', 'strict')),
  errors: mostly(fc.constant(piece('[TypeError]', () => [TypeError]))),
  oversight: mostly(values('spot_check', 'supervised')),
}
const node = fields({
  task: type,
  input: hostile,
  inputFrom: mostly(values('a', 'b')),
  after: mostly(listOf(values('a', 'b'))),
  options: submitOptions,
})
const graph = fields({
  nodes: fields({ a: node, b: node }),
  concurrency: count,
  onFailure: mostly(values('stop', 'finish')),
  type: mostly(values('graph')),
  input: anySchema,
})
const restart = mostly(values('permanent', 'transient', 'temporary'))
const startOptions = fields({ lane, restart, labels, timeoutMs: ms })
const supervised = fields(
  { task: mostly(fc.constant(piece('echo', () => echo))), input: handler, restart },
  'task',
)
const supervisor = fields({
  type: mostly(values('supervisor')),
  input: anySchema,
  strategy: mostly(values('one_for_one', 'one_for_all', 'rest_for_one')),
  maxRestarts: count,
  periodMs: count,
  endsWith: mostly(values('children', 'cancel')),
  results: flag,
  children: fields({ a: supervised, b: supervised }),
})
const stageOf = fields(
  {
    name: mostly(values('a', 'b')),
    task: mostly(fc.constant(piece('echo', () => echo))),
    input: handler,
    publishes: mostly(fields({ x: anySchema })),
    subscribes: mostly(listOf(mostly(values('x', 'y')))),
    partitions: count,
  },
  'name',
  'task',
)
const pipeline = fields(
  { name: mostly(values('line')), input: anySchema, maxUnread: count, stages: mostly(listOf(stageOf)) },
  'name',
  'stages',
)
const part = mostly(
  fc.constant(piece('echo', () => echo)),
  fc.constant(piece('identityEdge()', () => identityEdge())),
)
const marketplace = fields(
  {
    name: mostly(values('market')),
    input: anySchema,
    output: anySchema,
    agents: mostly(listOf(hostile)),
    contracted: mostly(listOf(values('a', 'b'))),
    ranking: mostly(fields({ weights: hostile, beta: count, exploration: count })),
    stages: mostly(fields({ propose: part, evaluate: hostile })),
    weights: hostile,
  },
  'name',
  'agents',
)
const followed = fields({ after: mostly(values(0, 1)), signal })

/** Calls of a runtime, by name. */
export const doors: Readonly<Record<string, Door>> = {
  submit: {
    given: [type, hostile, submitOptions],
    open: ({ runtime }, ...given: [never, unknown, never]) => runtime.submit(...given),
    keeps: (world, answer, _, input, options) => world.keepsInput(answer, input, options),
  },
  submitMany: {
    given: [mostly(listOf(fields({ task: type, input: hostile, options: submitOptions })))],
    open: ({ runtime }, items: never) => runtime.submitMany(items),
  },
  submitGraph: {
    given: [graph, submitOptions],
    open: ({ runtime }, ...given: [never, never]) => runtime.submitGraph(...given),
  },
  status: { given: [task], open: ({ runtime }, it: never) => runtime.status(it) },
  result: {
    given: [task, fields({ timeoutMs: mostly(values(0, 5)), signal })],
    open: ({ runtime }, it: never, options: never) => runtime.result(it, options),
  },
  cancel: {
    given: [mostly(values('delayed', 'mine', 'nobody')), fields({ reason: text })],
    open: ({ runtime }, it: never, options: never) => runtime.cancel(it, options),
  },
  cancelMany: {
    given: [
      // What the world has is left alone: nothing has this type.
      fields(
        {
          types: values(['nobody has this type'], 5, null),
          states: mostly(listOf(mostly(values('queued', 'running', 'waiting')))),
          lanes: mostly(listOf(lane)),
          parent: name,
          client: name,
          agreement: name,
          labels,
        },
        'types',
      ),
      fields({ expect: count, reason: text }),
    ],
    open: ({ runtime }, ...given: [never, never]) => runtime.cancelMany(...given),
  },
  prune: {
    given: [fields({ dryRun: mostly(values(true, false)), signal: hostile })],
    open: ({ runtime }, options: never) => runtime.prune(options),
  },
  signal: {
    given: [mostly(values('parked', 'delayed', 'ended')), name, hostile],
    open: ({ runtime }, ...given: [never, never, unknown]) => runtime.signal(...given),
  },
  retry: {
    given: [task, fields({ taskId: name, idempotencyKey: name, budget })],
    open: ({ runtime }, it: never, options: never) => runtime.retry(it, options),
  },
  retryMany: {
    given: [
      fields(
        {
          types: values(['nobody has this type'], 5, null),
          states: mostly(listOf(mostly(values('failed', 'canceled')))),
          lanes: mostly(listOf(lane)),
          parent: name,
          client: name,
          agreement: name,
          labels,
        },
        'types',
      ),
      fields({ expect: count, children: mostly(values(true, false)), again: mostly(values(true, false)) }),
    ],
    open: ({ runtime }, ...given: [never, never]) => runtime.retryMany(...given),
  },
  fork: {
    given: [
      task,
      fields({
        taskId: name,
        idempotencyKey: name,
        budget,
        fromStep: mostly(values('one', 'two')),
        edits: fields({ one: hostile, two: hostile }),
      }),
    ],
    open: ({ runtime }, it: never, options: never) => runtime.fork(it, options),
    keeps: (world, answer, _, options) => world.keepsEdits(answer, options),
  },
  resume: { given: [task], open: ({ runtime }, it: never) => runtime.resume(it) },
  replay: {
    given: [task, fields({ mode: mostly(values('verify')), timeoutMs: mostly(values(5)) }, 'mode')],
    open: ({ runtime }, it: never, options: never) => runtime.replay(it, options),
  },
  list: {
    given: [
      fields({
        states: mostly(listOf(mostly(values('queued', 'failed', 'cancelled')))),
        types: names,
        lanes: mostly(listOf(lane)),
        parent: name,
        limit: count,
        cursor: mostly(values(0, 3)),
        client: name,
        labels,
      }),
    ],
    open: ({ runtime }, filter: never) => runtime.list(filter),
  },
  events: {
    given: [task, followed],
    open: (world, it: never, options: never) => world.someOf(world.runtime.events(it, options)),
  },
  output: {
    given: [task, followed],
    open: (world, it: never, options: never) => world.someOf(world.runtime.output(it, options)),
  },
  count: {
    given: [
      fields({
        states: mostly(listOf(mostly(values('queued', 'failed', 'cancelled')))),
        types: names,
        lanes: mostly(listOf(lane)),
        parent: name,
        client: name,
        labels,
      }),
    ],
    open: ({ runtime }, filter: never) => runtime.count(filter),
  },
  history: {
    given: [task, fields({ after: count, limit: count })],
    open: ({ runtime }, it: never, page: never) => runtime.history(it, page),
  },
  emitted: {
    given: [task, fields({ after: count, limit: count })],
    open: ({ runtime }, it: never, page: never) => runtime.emitted(it, page),
  },
  checkpoint: { given: [task], open: ({ runtime }, it: never) => runtime.checkpoint(it) },
  steps: {
    given: [task, fields({ after: count, limit: count })],
    open: ({ runtime }, it: never, page: never) => runtime.steps(it, page),
  },
  stats: { given: [], open: ({ runtime }) => runtime.stats() },
  pipeline: {
    given: [
      task,
      fields({
        after: mostly(values(0, 1)),
        types: mostly(listOf(mostly(values('x')))),
        check: mostly(values(true, false)),
        signal,
      }),
    ],
    open: (world, it: never, options: never) => world.someOf(world.runtime.pipeline(it).events(options)),
  },
  pipelines: {
    given: [fields({ limit: count, cursor: count })],
    open: ({ runtime }, page: never) => runtime.pipelines(page),
  },
  explain: { given: [task], open: ({ runtime }, it: never) => runtime.explain(it) },
  explainQueue: { given: [], open: ({ runtime }) => runtime.explainQueue() },
  series: {
    given: [fields({ windowMs: count, stepMs: count, type: name })],
    open: ({ runtime }, filter: never) => runtime.series(filter),
  },
  keepSeries: {
    given: [],
    open: ({ runtime }) => runtime.keepSeries()[Symbol.dispose](),
  },
  keepRetention: {
    given: [],
    open: ({ runtime }) => runtime.keepRetention()[Symbol.dispose](),
  },
  workers: { given: [], open: ({ runtime }) => runtime.workers() },
  drainWorker: { given: [name], open: ({ runtime }, it: never) => runtime.drainWorker(it) },
  undrainWorker: { given: [name], open: ({ runtime }, it: never) => runtime.undrainWorker(it) },
  pauseQueue: {
    given: [fields({ types: mostly(listOf(name)) }, 'types')],
    open: ({ runtime }, it: never) => runtime.pauseQueue(it),
  },
  resumeQueue: {
    given: [fields({ types: mostly(listOf(name)), lanes: mostly(listOf(lane)) }, 'types')],
    open: ({ runtime }, it: never) => runtime.resumeQueue(it),
  },
  leases: {
    given: [task, fields({ limit: count })],
    open: ({ runtime }, it: never, options: never) => runtime.leases(it, options),
  },
  setRouteProfile: {
    given: [name, profile],
    open: ({ runtime }, route: never, it: never) => runtime.setRouteProfile(route, it),
  },
  route: {
    given: [
      name,
      fields({ ...amounts, memoryBytes: count, latencyMs: ms, progress: share, heartbeatAge: ms }),
      fields({ profile }),
    ],
    open: ({ runtime }, ...given: [never, never, never]) => runtime.route(...given),
  },
  routes: { given: [], open: ({ runtime }) => runtime.routes() },
  acquireLease: { given: [task], open: ({ runtime }, it: never) => runtime.acquireLease(it) },
  heartbeatLease: {
    given: [task, hostile],
    open: ({ runtime }, it: never, progress: unknown) => runtime.heartbeatLease(it, progress),
  },
  releaseLease: {
    given: [task, fields({ output: hostile }, 'output')],
    open: ({ runtime }, it: never, outcome: never) => runtime.releaseLease(it, outcome),
  },
  startTask: {
    given: [
      name,
      fields({
        profile,
        limits,
        timeout: count,
        abortController: controller,
        measure,
        lane,
        taskId: mostly(values('held')),
        labels,
      }),
      fields({ ...amounts, progress: hostile, memoryUsed: count }),
      mostly(
        hostile.map(({ text: told, make }) => piece(`{ output: ${told} }`, () => ({ output: make() }))),
        hostile.map(({ text: told, make }) => piece(`{ error: ${told} }`, () => ({ error: make() }))),
        fields({ output: hostile, error: hostile }),
      ),
    ],
    open: async ({ runtime }, route: never, options: never, report: never, outcome: never) => {
      const lease = await runtime.startTask(route, options)
      try {
        lease.budget()
        lease.telemetry()
        await lease.heartbeat(report)
        await lease.release(outcome)
      } finally {
        // One that could not be stored released nothing.
        await lease.release({ output: null })
      }
    },
  },
  createSwarm: {
    given: [
      name,
      fields({
        profile,
        limits,
        name,
        maxAgents: count,
        sharedBudget: fields({ totalCpuTimeUs: count, totalMemoryBytes: count }),
        threshold: share,
      }),
      name,
      fields({
        lane,
        share: fields({ cpuTimeUs: count, memoryBytes: count }),
        task: type,
        input: hostile,
        abortController: controller,
        timeout: count,
        measure,
      }),
    ],
    open: async ({ runtime }, route: never, options: never, agent: never, spawned: never) => {
      const swarm = await runtime.createSwarm(route, options)
      try {
        await swarm.spawnAgent(agent, spawned)
        await swarm.status()
      } finally {
        await swarm.close()
      }
    },
  },
  swarms: { given: [], open: ({ runtime }) => runtime.swarms() },
  observe: {
    given: [
      mostly(
        fc.constant(
          piece('an observer that throws', () => ({
            onLeaseAcquired: () => {
              throw new Error('theirs')
            },
            onHeartbeat: () => {
              throw new Error('theirs')
            },
            onLeaseReleased: () => {
              throw new Error('theirs')
            },
          })),
        ),
      ),
    ],
    open: ({ runtime }, observer: never) => runtime.observe(observer),
  },
  leaked: { given: [], open: ({ runtime }) => runtime.leaked() },
  on: {
    given: [
      mostly(values('*', 'task.*', 'task:*', 'task.completed', 'nope')),
      mostly(
        fc.constant(
          piece('a listener that throws', () => () => {
            throw new Error('theirs')
          }),
        ),
      ),
    ],
    open: ({ runtime }, pattern: never, listener: never) => runtime.on(pattern, listener),
  },
  start: { given: [], open: ({ runtime }) => runtime.start() },
  'pool.stats': { given: [], open: ({ runtime }) => runtime.pool.stats() },
  'pool.resize': {
    given: [
      fields({ min: mostly(values(1)), max: mostly(values(1, 2)), growAt: count, idleMs: ms, everyMs: ms }),
    ],
    open: ({ runtime }, settings: never) => runtime.pool.resize(settings),
  },
  'pool.drain': { given: [name], open: ({ runtime }, it: never) => runtime.pool.drain(it) },
  'pool.on': { given: [hostile], open: ({ runtime }, listener: never) => runtime.pool.on(listener) },
  'approvals.list': {
    given: [fields({ task, children: flag, limit: count, cursor: mostly(values(0, 2)) })],
    open: ({ runtime }, filter: never) => runtime.approvals.list(filter),
  },
  'approvals.approve': {
    given: [
      mostly(fc.constant(piece('a pending one', () => 'PENDING')), values('parked:99', 'nobody:1')),
      fields({ by: name, feedback: text, value: hostile }),
    ],
    open: async (world, it: never, verdict: never) =>
      world.runtime.approvals.approve(it === 'PENDING' ? await world.pending() : it, verdict),
    keeps: (world, answer, _, verdict) => world.keepsVerdict(answer, verdict),
  },
  'approvals.reject': {
    given: [
      mostly(fc.constant(piece('a pending one', () => 'PENDING')), values('parked:99', 'nobody:1')),
      fields({ by: name, feedback: text, value: hostile }),
    ],
    open: async (world, it: never, verdict: never) =>
      world.runtime.approvals.reject(it === 'PENDING' ? await world.pending() : it, verdict),
    keeps: (world, answer, _, verdict) => world.keepsVerdict(answer, verdict),
  },
  'approvals.trail': { given: [task], open: ({ runtime }, it: never) => runtime.approvals.trail(it) },
  'budgets.get': { given: [task], open: ({ runtime }, it: never) => runtime.budgets.get(it) },
  'budgets.list': {
    given: [fields({ limit: count, cursor: mostly(values(0)) })],
    open: ({ runtime }, filter: never) => runtime.budgets.list(filter),
  },
  'budgets.continue': {
    given: [task, fields({ raise: fields(amountsOf) })],
    open: ({ runtime }, it: never, options: never) => runtime.budgets.continue(it, options),
  },
  'budgets.stop': { given: [task], open: ({ runtime }, it: never) => runtime.budgets.stop(it) },
  'supervisors.list': {
    given: [fields({ limit: count, cursor: count, supervising: mostly(values(true, false)) })],
    open: ({ runtime }, page: never) => runtime.supervisors.list(page),
  },
  'supervisors.which': { given: [task], open: ({ runtime }, it: never) => runtime.supervisors.which(it) },
  'supervisors.count': { given: [task], open: ({ runtime }, it: never) => runtime.supervisors.count(it) },
  'supervisors.start': {
    given: [task, name, type, hostile, startOptions],
    open: ({ runtime }, ...given: [never, never, never, unknown, never]) =>
      runtime.supervisors.start(...given),
  },
  'supervisors.stop': {
    given: [task, name],
    open: ({ runtime }, it: never, child: never) => runtime.supervisors.stop(it, child),
  },
  'supervisors.restart': {
    given: [task, name],
    open: ({ runtime }, it: never, child: never) => runtime.supervisors.restart(it, child),
  },
  'schedules.put': {
    given: [
      name,
      timing,
      type,
      hostile,
      fields({
        lane,
        client: name,
        model: name,
        tools: names,
        labels,
        timeoutMs: count,
        tokens: count,
        cost: share,
        budget,
        catchUp: mostly(values('skip', 'one', 'all')),
        graceMs: ms,
        overlap: mostly(values('skip', 'allow')),
      }),
    ],
    open: ({ runtime }, ...given: [never, never, never, unknown, never]) => runtime.schedules.put(...given),
    keeps: (world, _, it, __, ___, input) => world.keepsSchedule(it, input),
  },
  'schedules.list': { given: [], open: ({ runtime }) => runtime.schedules.list() },
  'schedules.get': { given: [name], open: ({ runtime }, it: never) => runtime.schedules.get(it) },
  'schedules.upcoming': {
    given: [name, count],
    open: ({ runtime }, it: never, many: never) => runtime.schedules.upcoming(it, many),
  },
  'schedules.remove': { given: [name], open: ({ runtime }, it: never) => runtime.schedules.remove(it) },
  'schedules.pause': { given: [name], open: ({ runtime }, it: never) => runtime.schedules.pause(it) },
  'schedules.resume': { given: [name], open: ({ runtime }, it: never) => runtime.schedules.resume(it) },
  'schedules.trigger': {
    given: [name, fields({ idempotencyKey: name })],
    open: ({ runtime }, it: never, options: never) => runtime.schedules.trigger(it, options),
  },
  'accessTokens.put': {
    given: [
      name,
      fields(
        {
          hash: mostly(values('ab'.repeat(32), 'AB'.repeat(32))),
          scopes: mostly(values(['read'], ['submit', 'submit'], [])),
          client: name,
          types: mostly(values(['report'], [])),
          expiresAt: count,
        },
        'hash',
        'scopes',
      ),
    ],
    open: ({ runtime }, it: never, terms: never) => runtime.accessTokens.put(it, terms),
  },
  'accessTokens.list': { given: [], open: ({ runtime }) => runtime.accessTokens.list() },
  'accessTokens.revoke': { given: [name], open: ({ runtime }, it: never) => runtime.accessTokens.revoke(it) },
  'clients.set': {
    given: [name, fields({ credits: count, tier: mostly(values('contracted', 'marketplace')) })],
    open: ({ runtime }, it: never, settings: never) => runtime.clients.set(it, settings),
  },
  'agreements.get': { given: [name], open: ({ runtime }, it: never) => runtime.agreements.get(it) },
  'agreements.list': { given: [], open: ({ runtime }) => runtime.agreements.list() },
  'clients.get': { given: [name], open: ({ runtime }, it: never) => runtime.clients.get(it) },
  'clients.list': {
    given: [fields({ after: name, limit: count })],
    open: ({ runtime }, page: never) => runtime.clients.list(page),
  },
  'clients.remove': { given: [name], open: ({ runtime }, it: never) => runtime.clients.remove(it) },
  'credits.purchase': {
    given: [name, count, fields({ key: name, note: name })],
    open: ({ runtime }, it: never, amount: never, options: never) =>
      runtime.credits.purchase(it, amount, options),
  },
  'credits.balance': { given: [name], open: ({ runtime }, it: never) => runtime.credits.balance(it) },
  'credits.entries': {
    given: [name, fields({ after: count, limit: count })],
    open: ({ runtime }, it: never, page: never) => runtime.credits.entries(it, page),
  },
  'evaluations.record': {
    given: [
      name,
      scores,
      fields({
        entry: mostly(values('raw', 'normalised')),
        maxRevisions: count,
        domain: name,
        weights,
        taskId: name,
        key: name,
        strict: flag,
      }),
    ],
    open: ({ runtime }, ...given: [never, never, never]) => runtime.evaluations.record(...given),
  },
  'evaluations.reputation': {
    given: [name],
    open: ({ runtime }, it: never) => runtime.evaluations.reputation(it),
  },
  'evaluations.agents': {
    given: [fields({ limit: count, after: name })],
    open: ({ runtime }, page: never) => runtime.evaluations.agents(page),
  },
  'evaluations.history': {
    given: [name, fields({ limit: count, before: count })],
    open: ({ runtime }, it: never, page: never) => runtime.evaluations.history(it, page),
  },
  'evaluations.similar': {
    given: [name, fields({ limit: count, domain: name, weights })],
    open: ({ runtime }, it: never, options: never) => runtime.evaluations.similar(it, options),
  },
  'evaluations.drift': {
    given: [name, fields({ threshold: share })],
    open: ({ runtime }, it: never, options: never) => runtime.evaluations.drift(it, options),
  },
}

/** Left to other tests: it ends the runtime, which is done once here. */
export const endings: Readonly<Record<string, Door>> = {
  stop: {
    given: [fields({ drain: flag, graceMs: mostly(values(0, 1)) })],
    open: ({ runtime }, options: never) => runtime.stop(options),
  },
  close: { given: [], open: ({ runtime }) => runtime.close() },
}

const stuckLimits = { queuedMs: ms, runningMs: ms, overdueMs: ms }
const runtimeOptions = {
  store: mostly(values('sqlite::memory:')),
  tasks: mostly(fc.constant(piece('[]', () => []))),
  config: fields({
    leaseTtlMs: count,
    heartbeatIntervalMs: count,
    schedulerTickMs: count,
    maxInFlightPerWorker: count,
    queueDepthLimit: count,
    batchBackpressureThreshold: count,
    quotaConfig: fields({
      models: fields({ a: fields({ maxInFlight: count, perWindow: count, tokensPerWindow: count }) }),
      windowMs: count,
      defaults: fields({ model: fields({ maxInFlight: count }), nope: count }),
    }),
    maxPayloadBytes: count,
    shares: fields({ ledger: flag, reputationBeta: share }),
    agingMs: count,
  }),
  workers: mostly(
    values(0, 1),
    fields({ count: mostly(values(0, 2)), capacity: count, types: names, ids: names }),
  ),
  durability: mostly(values('full', 'normal')),
  acceptLoss: flag,
  existing: flag,
  thread: mostly(values(false)),
  signals: mostly(values(false)),
  watchdog: fields({ ...stuckLimits, everyMs: ms }),
  evaluation: fields({ domains: fields({ a: weights }), driftThreshold: share }),
  telemetry: mostly(values(false), fields({ logPayloads: flag, meterProvider: hostile, logger: hostile })),
  logger: mostly(values(false)),
  start: flag,
  environment: hostile,
  onFailure: handler,
}

/** What the package exports besides types, by name. */
export const exported: Readonly<Record<string, Door>> = {
  // A store in memory is none for processes: this one starts no process, whatever else it is given.
  createPool: {
    given: [
      fields(
        {
          store: mostly(values('sqlite::memory:')),
          module: mostly(values('file:///tasks.ts')),
          min: count,
          max: count,
          capacity: count,
          types: names,
          config: runtimeOptions.config,
          durability: runtimeOptions.durability,
        },
        'store',
        'module',
      ),
    ],
    open: async (_, options: never) => {
      const pool = await createPool(options)
      await pool.stop({ drain: false })
    },
  },
  defineCodec: {
    given: [mostly(values(null).map(() => piece('a codec', () => ({ class: Date, name: 'a' }))))],
    // It answers what it was given, and a revoked proxy cannot be awaited.
    open: (_, codec: never) => void defineCodec(codec),
  },
  createRuntime: {
    given: [fields(runtimeOptions, 'store', 'tasks', 'logger')],
    open: async (_, options: never) => {
      const runtime = await createRuntime(options)
      await runtime.stats()
      await runtime.stop({ drain: false })
    },
  },
  createClient: {
    given: [
      fields(
        {
          ...runtimeOptions,
          tasks: mostly(fc.constant(piece('[the contract of echo]', () => [contract])), runtimeOptions.tasks),
          trace: flag,
        },
        'store',
        'logger',
      ),
    ],
    open: async (_, options: never) => {
      const client = await createClient(options)
      await client.stats()
      await client.close()
    },
  },
  createWorker: {
    given: [fields(runtimeOptions, 'store', 'tasks', 'logger')],
    open: async (_, options: never) => {
      const worker = await createWorker(options)
      await worker.stop({ drain: false })
    },
  },
  checkDeploy: {
    given: [
      fields({
        store: mostly(values('sqlite::memory:', 'sqlite:/nowhere/at/all.db')),
        tasks: mostly(fc.constant(piece('[echo]', () => [echo]))),
        timeoutMs: ms,
        maxListed: count,
        thread: mostly(values(false)),
      }),
    ],
    open: (_, check: never) => checkDeploy(check),
  },
  findStuck: {
    given: [fields({ ...stuckLimits, types: mostly(fields({ echo: fields(stuckLimits) })) }), ms],
    open: ({ runtime }, wanted: never, now: never) => findStuck(runtime, wanted, now),
  },
  defineTask: {
    given: [fields(taskOptions, 'type', 'input'), handler],
    open: (_, options: never, it: never) => defineTask(options, it),
  },
  combineRecovery: {
    given: [recovery, recovery],
    open: (_, one: never, other: never) => combineRecovery(one, other),
  },
  defineDomain: {
    given: [fields({ name, recovery }, 'name', 'recovery')],
    open: (_, domain: never) => defineDomain(domain),
  },
  defineContract: {
    given: [fields(taskOptions, 'type', 'input')],
    open: (_, options: never) => defineContract(options),
  },
  defineAgent: {
    given: [
      fields(
        { ...taskOptions, name: mostly(values('new')), capabilities: names, domain: names, mode: text },
        'name',
        'capabilities',
        'domain',
        'input',
        'output',
      ),
      handler,
    ],
    open: (_, options: never, it: never) => toAgentView(defineAgent(options, it) as never),
  },
  defineAgreement: {
    given: [
      fields(
        {
          name,
          client: name,
          lane: mostly(values('batch')),
          timeoutMs: count,
          deadlineMs: count,
          latencyMs: count,
          oversight: text,
          outOfCredits: mostly(values('park')),
        },
        'name',
        'client',
      ),
    ],
    open: (_, terms: never) => defineAgreement(terms),
  },
  createAgentRegistry: {
    given: [listOf(hostile)],
    open: (_, agents: never) => createAgentRegistry(agents),
  },
  defineGraph: { given: [graph], open: (_, options: never) => defineGraph(options) },
  defineMarketplace: { given: [marketplace], open: (_, options: never) => defineMarketplace(options) },
  definePipeline: { given: [pipeline], open: (_, options: never) => definePipeline(options) },
  defineSupervisor: { given: [supervisor], open: (_, options: never) => defineSupervisor(options) },
  compose: { given: [part, part, part], open: (_, ...parts: [never, never, never]) => compose(...parts) },
  edge: {
    given: [fields({ validate: anySchema, metadata: handler, map: handler })],
    open: (_, options: never) => edge(options),
  },
  identityEdge: { given: [], open: () => identityEdge() },
  passThrough: { given: [], open: () => passThrough() },
  defineComposition: {
    given: [
      fields({ ...taskOptions, metadata: hostile }, 'type'),
      mostly(
        fc.constant(piece('a composition', () => compose(echo, identityEdge(), echo))),
        fc.constant(piece('passThrough()', () => passThrough())),
      ),
    ],
    open: (_, options: never, composition: never) => defineComposition(options, composition),
  },
  toAgentView: {
    given: [mostly(fc.constant(piece('echo', () => echo))), hostile],
    open: (_, ...given: [never, never]) => toAgentView(...given),
  },
  typedTaskId: {
    given: [mostly(fc.constant(piece('echo', () => echo))), name],
    open: (_, ...given: [never, never]) => typedTaskId(...given),
  },
  agentState: {
    given: [mostly(values('queued', 'running', 'parked')), hostile],
    open: (_, ...given: [never]) => agentState(...given),
  },
  compareOversight: {
    given: [mostly(values('spot_check', 'supervised')), mostly(values('supervised', 'nope'))],
    open: (_, ...given: [never, never]) => compareOversight(...given),
  },
}

import {
  accessScopes,
  approvalTimeouts,
  budgetFields,
  canonical,
  catchUps,
  childPolicies,
  childRestarts,
  type Sibling,
  siblingStates,
  clientTiers,
  dimensions,
  failureCategories,
  failureKinds,
  outOfCreditsChoices,
  isPipelineMemo,
  KEY_HASHES,
  MAX_PARTITIONS,
  oversightModes,
  overlaps,
  recoveryStrategies,
  rejectionPolicies,
  taskStates,
  type ApprovalRequest,
  type BackOff,
  type BudgetTerms,
  type ReadKind,
  HOUR_MS,
  MINUTE_MS,
  WAIT_CLASSES,
  type Recovered,
  type Sample,
  type Reads,
  type RetentionCount,
  type RetentionCutoff,
  type RetentionDue,
  type RetentionGroup,
  prunableStates,
  type PipelineTerms,
  type ScheduledRun,
  type ScheduleDefinition,
  type ScheduleFilter,
  type SeriesFilter,
  type Settlement,
  type Submission,
  type TaskFilter,
  type UsageSample,
  type UsageSum,
  type Write,
  type WriteKind,
  type Writes,
} from '@ku0/agent-runtime-core'
import { Divergence, Lane, ProfileTerms, SwarmTerms } from '@ku0/agent-runtime-core/schemas'
import { z } from 'zod'

/** A field for each field of the port, so that a new one cannot go unchecked. */
export type Shape<T> = { readonly [F in keyof T]-?: z.ZodType }
type Ended<As extends Settlement['as']> = Extract<Settlement, { readonly as: As }>

/** What Date can show, and what is counted: whole numbers that SQLite and JSON keep as they are. */
const whole = z.int({ error: 'a whole number, 0 or more' }).min(0, { error: 'a whole number, 0 or more' })
const time = z
  .int({ error: 'epoch ms, a whole number' })
  .min(0, { error: 'epoch ms, 0 or more' })
  .max(8.64e15, { error: 'epoch ms, at most 8.64e15' })
/** Of a schedule, which may begin before 1970. */
const instant = z.int({ error: 'epoch ms, a whole number' })
const amount = z.number({ error: 'a number, 0 or more' }).min(0, { error: 'a number, 0 or more' })
const ms = amount.max(8.64e15, { error: 'ms, at most 8.64e15' })
const share = amount.max(1, { error: 'a number from 0 to 1' })
const flag = z.boolean({ error: 'true or false' })
/** SQLite keeps well-formed text only. */
const text = z
  .string({ error: 'a string' })
  .refine((it) => it.isWellFormed(), { error: 'no lone surrogates' })
const name = text.min(1, { error: '1 to 255 characters' }).max(255, { error: '1 to 255 characters' })
/** Tasks without a client have one without a name. */
const client = text.max(255, { error: 'at most 255 characters' })
/** The key of a step or wait may be any text, a lone surrogate in it too. */
const key = z.string({ error: 'a string' })
/** By its key verification knows the memo of a call of a pipeline. */
const pipelineKeyText = 'a key of a pipeline, as publicationKey and receiptKey make it'
const pipelineKey = z.string({ error: pipelineKeyText }).refine(isPipelineMemo, { error: pipelineKeyText })
const id = z.string({ error: 'an id' })
const codecForm = "a JSON text in the codec's form, as `encode` makes it"
const json = z.string({ error: codecForm }).refine(isEncoded, { error: codecForm })
/** What is asked beyond the bounds of a page is cut to them. */
const page = z.int({ error: 'a whole number' })

const hash = z.string({ error: 'a hash' }).regex(/^[\w-]+$/, { error: 'a hash, of letters and digits' })
const usage = z.strictObject({ tokens: whole, money: whole, cost: whole } satisfies Shape<UsageSum>)
/** Limits or lines of a budget. */
export const budgetSum = z.strictObject(optionalEach(budgetFields, whole))
const budget = z.strictObject({
  limits: budgetSum,
  soft: budgetSum,
  cut: flag.optional(),
} satisfies Shape<BudgetTerms>)
const texts = z.record(name, text)
const backOff = z.strictObject({ keys: z.array(text), retryAfterMs: ms } satisfies Shape<BackOff>)
const scores = z.strictObject(each(dimensions, share))
const timing = z.union([
  z.strictObject({ cron: text, timeZone: text }),
  z.strictObject({ everyMs: ms.min(1, { error: '1 or more' }), anchorAt: instant }),
])
const atOnce = z.undefined({ error: 'not for a lease, which begins at once' }).optional()
const storesOwn = z.undefined({ error: 'set by the store itself' }).optional()

const submitted = {
  type: name,
  lane: Lane,
  input: json,
  taskId: name.optional(),
  idempotencyKey: name.optional(),
  client: name.optional(),
  model: name.optional(),
  tools: z.array(name).optional(),
  labels: texts.optional(),
  dueAt: time.optional(),
  delayMs: ms.optional(),
  timeoutMs: amount.gt(0, { error: 'above 0' }).optional(),
  tokens: whole.optional(),
  cost: amount.max(1e9, { error: 'at most 1e9' }).optional(),
  oversight: z.enum(oversightModes).optional(),
  outOfCredits: z.enum(outOfCreditsChoices).optional(),
  profile: ProfileTerms.optional(),
  swarm: name.optional(),
  agent: name.optional(),
  share: z.strictObject({ cpuTimeUs: whole.optional(), memoryBytes: whole.optional() }).optional(),
  held: storesOwn,
  budget: budget.optional(),
  trace: z.record(z.string(), text).optional(),
  forkOf: storesOwn,
  asRetry: storesOwn,
  forkedAt: storesOwn,
  schedule: storesOwn,
  scheduledFor: storesOwn,
  parentId: storesOwn,
  refused: z
    .strictObject({ reason: z.enum(['unknown_task_type', 'invalid_payload']), message: text })
    .optional(),
} satisfies Shape<Submission>

const partitionsText = `2 to ${MAX_PARTITIONS}`
const keyHashText = `0 to ${KEY_HASHES - 1}`
const sampleStep = z.literal([MINUTE_MS, HOUR_MS], { error: 'a minute or an hour in ms' })
/** A step that ends at a multiple of its length. */
const sample = z
  .strictObject({
    stepMs: sampleStep,
    at: time,
    type: text,
    lane: Lane,
    queued: whole.optional(),
    running: whole,
    started: whole,
    completed: whole,
    failed: whole,
    waits: z.array(whole).max(WAIT_CLASSES),
  } satisfies Shape<Sample>)
  .refine(({ at, stepMs }) => at % stepMs === 0, { error: 'a step that ends at a multiple of its length' })

/** The terms of a pipeline; the store itself says which of its stages are wrong. */
export const pipelineTerms = z.strictObject({
  stages: z
    .array(
      z.strictObject({
        stage: name,
        publishes: z.array(name),
        subscribes: z.array(name),
        partitions: whole
          .min(2, { error: partitionsText })
          .max(MAX_PARTITIONS, { error: partitionsText })
          .optional(),
      }),
    )
    .min(1),
  maxUnread: whole.min(1, { error: '1 or more' }),
} satisfies Shape<PipelineTerms>)

/** What a schedule is to do, and when. */
export const scheduleDefinition = z.strictObject({
  timing,
  run: z.strictObject({
    type: submitted.type,
    lane: submitted.lane,
    input: submitted.input,
    client: submitted.client,
    model: submitted.model,
    tools: submitted.tools,
    labels: submitted.labels,
    timeoutMs: submitted.timeoutMs,
    tokens: submitted.tokens,
    cost: submitted.cost,
    budget: submitted.budget,
    oversight: submitted.oversight,
    outOfCredits: submitted.outOfCredits,
  } satisfies Shape<ScheduledRun>),
  catchUp: z.enum(catchUps),
  graceMs: ms,
  overlap: z.enum(overlaps),
} satisfies Shape<ScheduleDefinition>)

const completed = { as: z.literal('completed'), output: json } satisfies Shape<Ended<'completed'>>
const failed = {
  as: z.literal('failed'),
  kind: z.enum(failureKinds).exclude(['poisoned', 'lease_lost'], {
    error: 'why it failed; the store itself sets the reason for crashes',
  }),
  error: json,
  waits: z.array(key).optional(),
  breach: z.enum(['deadline', 'hard']).optional(),
  spent: z.literal(true).optional(),
  refused: z.literal(true).optional(),
} satisfies Shape<Ended<'failed'>>
const again = { error: json, delayMs: ms }
const retry = {
  as: z.literal('retry'),
  ...again,
  breach: z.enum(['deadline', 'hard']).optional(),
  recovery: z
    .strictObject({
      category: z.enum(failureCategories),
      kind: z.enum(failureKinds),
      strategy: z.enum(recoveryStrategies),
      model: name.optional(),
      task: name.optional(),
      taskModel: name.optional(),
      taskCost: amount.max(1e9, { error: 'at most 1e9' }).optional(),
    } satisfies Shape<Recovered>)
    .optional(),
  interrupted: z.literal(true).optional(),
} satisfies Shape<Ended<'retry'>>
const limited = { as: z.literal('rate_limited'), ...again } satisfies Shape<Ended<'rate_limited'>>
const settlement = z.discriminatedUnion('as', [
  z.strictObject(completed),
  z.strictObject(failed),
  z.strictObject(retry),
  z.strictObject(limited),
])

const asked = { key, position: whole, dueAt: time.optional(), delayMs: ms.optional() }
const wait = z.discriminatedUnion('kind', [
  z
    .strictObject({ ...asked, kind: z.literal('timer') })
    .refine(({ dueAt, delayMs }) => (dueAt === undefined) !== (delayMs === undefined), {
      error: 'a timer has dueAt or delayMs',
    }),
  z.strictObject({ ...asked, kind: z.literal('signal'), name: text }),
  z.strictObject({ ...asked, kind: z.literal('child'), name: text }),
  z.strictObject({
    ...asked,
    kind: z.literal('approval'),
    name: text.optional(),
    approval: z.strictObject({
      artifact: json,
      mode: z.enum(oversightModes),
      asked: flag,
      draw: share.optional(),
      maxRetries: whole,
      onReject: z.enum(rejectionPolicies),
      onTimeout: z.enum(approvalTimeouts),
      escalates: z.literal(true).optional(),
    } satisfies Shape<ApprovalRequest>),
  }),
])

const numbers = z.array(whole).max(1_000)

const ruleGroup = {
  state: z.enum(prunableStates),
  type: text.optional(),
  except: z.array(text).optional(),
} satisfies Shape<RetentionGroup>

const sibling = z.strictObject({
  id: name,
  restart: z.enum(childRestarts),
  until: z.enum(siblingStates),
} satisfies Shape<Sibling>)

const leaseId = id
const taskId = id

const writes: { readonly [K in WriteKind]: Shape<Writes[K]['fields']> } = {
  submit: { tasks: z.array(z.strictObject(submitted)) },
  recordStep: {
    leaseId,
    key,
    position: whole,
    durationMs: amount,
    result: json,
    charged: usage.optional(),
    inputHash: hash.optional(),
    branches: z.enum(['race', 'all']).optional(),
    branchKeys: z.array(key).optional(),
    nested: flag.optional(),
    drops: z.array(key).optional(),
    dropsChildren: z.array(key).optional(),
  },
  startStep: { leaseId, key, position: whole, inputHash: hash.optional() },
  failStep: {
    leaseId,
    key,
    position: whole,
    durationMs: amount,
    error: json,
    charged: usage.optional(),
    backOff: backOff.optional(),
    retry: whole.optional(),
    drops: z.array(key).optional(),
    dropsChildren: z.array(key).optional(),
  },
  spawn: {
    leaseId,
    key,
    position: whole,
    policy: z.enum(childPolicies),
    submission: z.strictObject({ ...submitted, idempotencyKey: storesOwn }),
    retryOf: name.optional(),
    inLine: flag.optional(),
    after: z.array(sibling).min(1).optional(),
    drops: key.optional(),
  },
  startChild: {
    taskId,
    id: name,
    restart: z.enum(childRestarts),
    submission: z.strictObject({ ...submitted, idempotencyKey: storesOwn }),
  },
  restartChild: { taskId, id: name },
  sample: { samples: z.array(sample).min(1).max(1_000) },
  openPipeline: { leaseId, key: pipelineKey, position: whole, terms: pipelineTerms },
  publish: {
    leaseId,
    key: pipelineKey,
    position: whole,
    type: z.union([name, z.array(name).min(1)], { error: 'a type, or a list with the type of each event' }),
    events: z.array(json).min(1),
    keyHashes: z.array(whole.max(KEY_HASHES - 1, { error: keyHashText }).nullable()).optional(),
  },
  receive: {
    leaseId,
    key: pipelineKey,
    position: whole,
    types: z
      .array(name)
      .min(1)
      .refine((it) => new Set(it).size === it.length, { error: 'types of events, each once' }),
    max: whole.min(1),
  },
  checkpoint: { leaseId, data: json },
  appendOutput: { leaseId, chunks: z.array(json), round: whole.optional() },
  progress: { leaseId, progress: json },
  settle: { leaseId, settlement, charged: usage.optional(), backOff: backOff.optional() },
  suspend: { leaseId, waits: z.array(wait), stay: flag, charged: usage.optional() },
  diverge: { leaseId, divergence: Divergence, charged: usage.optional() },
  resume: { taskId },
  answerBudget: {
    taskId,
    answer: z.discriminatedUnion('as', [
      z.strictObject({ as: z.literal('continue'), raise: budgetSum }),
      z.strictObject({ as: z.literal('stop') }),
    ]),
  },
  signal: { taskId, name, value: json },
  resolveApproval: { taskId, request: whole, verdict: z.enum(['approved', 'rejected']), value: json },
  fork: {
    taskId,
    fromStep: key.optional(),
    edits: z.record(z.string(), json),
    onlyOver: flag,
    change: z.strictObject({
      taskId: submitted.taskId,
      input: json.optional(),
      lane: Lane.optional(),
      labels: submitted.labels,
      trace: submitted.trace,
      idempotencyKey: submitted.idempotencyKey,
      budget: submitted.budget,
    } satisfies Shape<Write<'fork'>['change']>),
  },
  retryMany: {
    taskIds: z.array(id),
    states: z.array(z.enum(taskStates)).optional(),
    again: flag.optional(),
  },
  release: { leaseId, reason: z.enum(['yielded', 'drained']), charged: usage.optional() },
  cancel: { taskId, reason: text.optional() },
  cancelMany: {
    taskIds: z.array(id),
    states: z.array(z.enum(taskStates)).optional(),
    reason: text.optional(),
  },
  prune: {
    tasks: numbers,
    newest: z
      .array(z.strictObject({ ...ruleGroup, count: whole, from: whole } satisfies Shape<RetentionCutoff>))
      .optional(),
    dryRun: flag.optional(),
  },
  abortSettled: {
    leaseId,
    how: z.enum(['acknowledged', 'leaked', 'killed']),
    afterMs: amount,
    charged: usage.optional(),
  },
  putSchedule: { name, definition: scheduleDefinition, nextAt: instant.nullable() },
  pauseSchedule: { name },
  resumeSchedule: { name, timing, nextAt: instant.nullable() },
  removeSchedule: { name },
  fireSchedule: {
    name,
    timing,
    dueAt: instant,
    runs: z.array(instant),
    missed: whole,
    nextAt: instant.nullable(),
  },
  triggerSchedule: { name, idempotencyKey: submitted.idempotencyKey },
  putClient: {
    name: client,
    credits: amount.max(1e9, { error: 'at most 1e9' }).optional(),
    tier: z.enum(clientTiers).optional(),
  },
  removeClient: { name: client },
  putAccessToken: {
    name,
    hash: z.string().regex(/^[\da-f]{64}$/, { error: 'the SHA-256 of a token, 64 hex digits' }),
    scopes: z.array(z.enum(accessScopes)).min(1).max(accessScopes.length),
    client: name.optional(),
    types: z.array(name).min(1).max(1_000).optional(),
    expiresAt: instant.optional(),
  },
  revokeAccessToken: { name },
  purchaseCredits: {
    name: client,
    amount: amount.positive({ error: 'more than 0' }).max(1e9, { error: 'at most 1e9' }),
    key: name.optional(),
    note: name.optional(),
  },
  foldLedger: {
    client: client.optional(),
    seq: whole.optional(),
    until: instant,
    dryRun: flag.optional(),
  },
  evaluate: {
    agentId: name,
    domain: name,
    weights: scores,
    scores,
    missing: z.array(z.enum(dimensions)),
    taskId: taskId.optional(),
    key: name.optional(),
  },
  report: {
    leaseId,
    terms: ProfileTerms,
    sample: z.strictObject({
      computeUs: amount.optional(),
      memoryBytes: amount.optional(),
      errorRate: share.optional(),
      saturation: share.optional(),
    } satisfies Shape<UsageSample>),
    heartbeat: flag,
    progress: json.optional(),
    share: share.optional(),
  },
  scar: {
    leaseId,
    cause: z.discriminatedUnion('as', [
      z.strictObject({ as: z.literal('slow'), actualMs: amount, baselineMs: amount }),
      z.strictObject({ as: z.literal('overrun'), overrunMs: amount, grantedMs: amount }),
      z.strictObject({ as: z.literal('silent') }),
    ]),
  },
  observeRoute: {
    route: name,
    baselineMs: amount.gt(0, { error: 'above 0' }),
    latencyMs: amount.optional(),
  },
  // Its caller runs it, and at once.
  startLease: {
    submission: z.strictObject({ ...submitted, profile: ProfileTerms, dueAt: atOnce, delayMs: atOnce }),
  },
  putSwarm: { name, terms: SwarmTerms },
  closeSwarm: { name },
  registerWorkers: {
    workers: z.array(
      z.strictObject({
        workerId: name,
        capacity: whole,
        types: z.array(name),
        lanes: z.array(Lane).min(1).optional(),
        settings: z.record(name, z.record(text, text)).optional(),
      }),
    ),
    remote: storesOwn,
  },
  drainWorkers: { workerIds: z.array(name) },
  claimTask: { taskId: id, workerId: name },
  pauseQueue: { types: z.array(name), lanes: z.array(Lane), paused: z.boolean() },
  askDrain: { workerId: name, draining: z.boolean() },
  removeWorkers: { workerIds: z.array(name) },
}

const filter = z.strictObject({
  states: z.array(z.enum(taskStates)).optional(),
  types: z.array(text).optional(),
  lanes: z.array(Lane).optional(),
  parent: id.nullable().optional(),
  client: text.optional(),
  labels: texts.optional(),
  values: flag.optional(),
  limit: page.optional(),
  cursor: whole.optional(),
} satisfies Shape<TaskFilter>)

const reads: { readonly [K in ReadKind]: Shape<Reads[K]['fields']> } = {
  task: { taskId },
  tasks: { filter },
  taskIds: { filter },
  taskCount: { filter },
  events: { taskId, after: whole, limit: page },
  steps: { taskId, after: whole, limit: page },
  checkpoint: { taskId },
  integrity: { taskId },
  memos: { taskId },
  approvals: { taskId: taskId.optional(), children: flag.optional(), limit: page, after: whole.optional() },
  budget: { taskId },
  budgets: { limit: page, after: whole.optional() },
  output: { taskId, after: whole, limit: page },
  schedules: {
    filter: z.strictObject({
      name: text.optional(),
      after: text.optional(),
      dueBy: amount.optional(),
      limit: page.optional(),
    } satisfies Shape<ScheduleFilter>),
  },
  accessTokens: {},
  clients: { name: text.optional(), after: text.optional(), limit: page.optional() },
  ledger: { name: text, after: whole.optional(), limit: page.optional() },
  reputation: { agentId: text },
  agents: { after: text.optional(), limit: page },
  evaluations: { agentId: text, limit: page, before: whole.optional() },
  similar: { agentId: text, weights: scores, limit: page },
  leases: { taskId, limit: page.optional() },
  workers: {},
  routes: {},
  supervisor: { taskId },
  supervisors: { limit: page, before: whole.optional(), supervising: flag.optional() },
  pipeline: { taskId },
  pipelines: { limit: page, before: whole.optional() },
  pipelineEvents: {
    taskId,
    after: whole,
    limit: page,
    ranges: z
      .array(z.tuple([whole.min(1), whole.min(1)]))
      .max(1_000)
      .optional(),
  },
  swarms: { name: text.optional() },
  newestKept: {
    groups: z.array(
      z.strictObject({
        ...ruleGroup,
        count: whole,
        left: whole,
        from: whole.optional(),
      } satisfies Shape<RetentionCount>),
    ),
    before: whole.optional(),
  },
  prunable: {
    groups: z.array(
      z.strictObject({
        ...ruleGroup,
        until: instant.optional(),
        below: whole.optional(),
      } satisfies Shape<RetentionDue>),
    ),
    keysUntil: instant,
    after: whole,
  },
  stats: {},
  explain: { taskId },
  waits: {},
  runs: {
    after: whole.optional(),
    before: whole.optional(),
    these: numbers.optional(),
    limit: page,
  },
  samples: { stepMs: sampleStep, from: instant, to: instant, type: text.optional(), lane: Lane.optional() },
  lastSample: { stepMs: sampleStep },
  series: {
    filter: z.strictObject({
      windowMs: amount.optional(),
      stepMs: amount.optional(),
      type: text.optional(),
      lane: Lane.optional(),
    } satisfies Shape<SeriesFilter>),
  },
}

/** What a write, or a read, of each kind has to be. Nothing else may stand in it. */
export const operations: ReadonlyMap<unknown, z.ZodObject> = schemasOf(writes)
export const queries: ReadonlyMap<unknown, z.ZodObject> = schemasOf(reads)

/** What a write of a kind has to be as a whole: why it is not, or undefined. */
export function contradictionIn(operation: Write): string | undefined {
  if (operation.kind === 'publish') {
    const { type, events } = operation
    return typeof type === 'string' || type.length === events.length
      ? undefined
      : `type: one for each of the ${events.length} events, not ${type.length}`
  }
  if (operation.kind !== 'suspend') return undefined
  const { waits } = operation
  if (new Set(waits.map((it) => it.key)).size < waits.length) return 'waits: each with a key of its own'
  return undefined
}

export const demand = z.strictObject({ workerId: name, credit: whole })
export const interest = z.strictObject({
  types: z.union([z.literal('all'), z.array(text)], { error: "'all' or a list of event names" }),
  tasks: z.array(id),
})

function schemasOf(shapes: Readonly<Record<string, Readonly<Record<string, z.ZodType>>>>) {
  return new Map(
    Object.entries(shapes).map(([kind, shape]): [unknown, z.ZodObject] => [
      kind,
      z.strictObject({ kind: z.literal(kind), ...shape }),
    ]),
  )
}

function each<N extends string, T extends z.ZodType>(names: readonly N[], of: T): Record<N, T> {
  return Object.fromEntries(names.map((it) => [it, of])) as Record<N, T>
}

function optionalEach<N extends string, T extends z.ZodType>(names: readonly N[], of: T) {
  return each(names, of.optional())
}

function isEncoded(it: string): boolean {
  try {
    return canonical(JSON.parse(it)) === it
  } catch {
    return false
  }
}

import { exceeds, isChildName, labelQuotaKey } from '@ku0/agent-runtime-core/transition'
import {
  addUse,
  budgetFields,
  type BudgetUse,
  noUse,
  canonical,
  type ExecutionConfig,
  type Digest,
  type EventData,
  type EventType,
  type OutputChunk,
  type StoredEvent,
  CHAIN_START,
  chainText,
  lanes,
  type QuotaWindow,
  type QuotaConfig,
  type QuotaLimit,
  type ExecutionLease,
  runKeyOf,
  isFinal,
  isVoid,
  outlivesRejection,
  type StepRecord,
  type ExecutionStore,
  type PerState,
  type StoreStats,
  type Totals,
  type SwarmRecord,
  type TaskRecord,
  type WaitRecord,
  usageOf,
  type UsageSum,
  type WorkerStatus,
  foldEvents,
  pastFailure,
  PIPELINE_KEY,
} from '@ku0/agent-runtime-core'
import { blobReference } from '@ku0/agent-runtime-core/transition'
import { stepsOf } from './steps-of.ts'

/** All that a store says of one task. */
export interface TaskSnapshot {
  readonly record: TaskRecord
  readonly events: readonly StoredEvent[]
  readonly steps: readonly StepRecord[]
  readonly waits: readonly WaitRecord[]
  readonly leases: readonly ExecutionLease[]
  readonly output: readonly OutputChunk[]
}

/** All that a store says, at one moment in which nothing is written. Tasks are in the order of their submission. */
export interface StoreSnapshot {
  readonly tasks: readonly TaskSnapshot[]
  readonly stats: StoreStats
  readonly workers: readonly WorkerStatus[]
  readonly swarms: readonly SwarmRecord[]
}

/** The inputs of the invariants. */
export interface InvariantCase {
  readonly config: ExecutionConfig
  readonly digest: Digest
  /** An earlier snapshot of the same store: what was final or recorded then must be so still. */
  readonly before?: StoreSnapshot
}

/** Reads everything there is. */
export async function takeSnapshot(store: Pick<ExecutionStore, 'read'>): Promise<StoreSnapshot> {
  const tasks: TaskSnapshot[] = []
  for (let cursor: number | undefined, more = true; more; more = cursor !== undefined) {
    const page = await store.read({
      kind: 'tasks',
      filter: { limit: 1_000, ...(cursor === undefined ? {} : { cursor }) },
    })
    const look = async (record: TaskRecord): Promise<TaskSnapshot> => {
      const { taskId } = record
      const events = (await store.read({ kind: 'events', taskId, after: 0, limit: 1_000_000 })) ?? []
      // Steps and waits are what events say: most tasks have none.
      const isPlain = events.every(({ type }) => plainEvents.has(type))
      return {
        record,
        events,
        steps: isPlain ? [] : await stepsOf(store, taskId),
        waits: isPlain ? [] : (await store.read({ kind: 'memos', taskId })).waits,
        leases: await store.read({ kind: 'leases', taskId }),
        output: (await store.read({ kind: 'output', taskId, after: 0, limit: 1_000_000 })) ?? [],
      }
    }
    tasks.push(...(await Promise.all(page.tasks.map(look))))
    cursor = page.cursor
  }
  const stats = await store.read({ kind: 'stats' })
  const workers = await store.read({ kind: 'workers' })
  const swarms = await store.read({ kind: 'swarms' })
  return { tasks: tasks.toReversed(), stats, workers, swarms }
}

/** Events that say nothing of a step or a wait. */
const plainEvents: ReadonlySet<string> = new Set<EventType>([
  'task.queued',
  'task.rejected',
  'task.started',
  'task.requeued',
  'task.completed',
  'task.failed',
  'task.canceled',
])

/**
 * Every rule that the snapshot breaks, one line each; none when all is well. Rows are compared with what their events say,
 * counters with counts. Source: `docs/reliability.md` 3.1, I1-I6, I10, I11, I14-I17, I19, I22.
 */
export function violationsIn(snapshot: StoreSnapshot, it: InvariantCase): readonly string[] {
  return [
    ...snapshot.tasks.flatMap((task) =>
      [...eventRules(task, it), ...leaseRules(task), ...memoRules(task), ...outputRules(task)].map(
        (line) => `task ${task.record.sequence}: ${line}`,
      ),
    ),
    ...familyRules(snapshot),
    ...budgetRules(snapshot),
    ...countRules(snapshot),
    ...keyRules(snapshot),
    ...workerRules(snapshot),
    ...swarmRules(snapshot),
    ...quotaRules(snapshot, it.config),
    ...(it.before === undefined ? [] : lastingRules(it.before, snapshot)),
  ]
}

/** I13: what the store itself refused says what that was decided on, and nothing below a limit was refused for it. */
function* verdictRules({ data }: StoredEvent): Iterable<string> {
  const { reason, verdict } = JSON.parse(data) as EventData['task.rejected']
  const atDoor = reason === 'unknown_task_type' || reason === 'invalid_payload'
  if (atDoor !== (verdict === undefined))
    yield `I13 a rejection by ${reason} has the verdict ${textOf(verdict)}`
  if (verdict?.by === 'limit' && verdict.value < verdict.max)
    yield `I13 ${verdict.limit} ${verdict.max} refused at ${verdict.value}`
  if (verdict?.by === 'quota' && verdict.value + verdict.asked <= verdict.max)
    yield `I13 ${verdict.key} ${verdict.limit} ${verdict.max} refused ${verdict.asked} at ${verdict.value}`
}

/** I4, I10, I15, I16: the chain of events holds, takes legal moves only, and makes the record. */
function* eventRules({ record, events }: TaskSnapshot, it: InvariantCase): Iterable<string> {
  const [first] = events
  if (first?.type !== 'task.queued' && first?.type !== 'task.rejected')
    yield `I15 the first event is ${first?.type ?? 'missing'}`
  if (first?.type === 'task.rejected') yield* verdictRules(first)
  let tail: Uint8Array = CHAIN_START
  for (const [index, event] of events.entries()) {
    if (event.seq !== index + 1) yield `I15 event ${index + 1} has seq ${event.seq}`
    if (event.taskId !== record.taskId) yield `I15 event ${event.seq} belongs to ${event.taskId}`
    const data: unknown = JSON.parse(event.data)
    tail = chained(tail, record.sequence, event, data as Record<string, unknown>, it)
    if (hex(tail) !== event.hash) yield `I15 the chain breaks at ${event.seq} (${event.type})`
    if (event.data !== canonical(data))
      yield `I15 the data of event ${event.seq} (${event.type}) is not canonical`
  }
  const folded = foldEvents(events)
  yield* folded.problems
  for (const [key, value] of Object.entries(folded.row)) {
    if (key === 'startedAt' && record.state === 'queued') continue
    const actual = (record as unknown as Record<string, unknown>)[key]
    if (textOf(actual) !== textOf(value))
      yield `I16 ${key} is ${textOf(actual)}, its events say ${textOf(value)}`
  }
  if (record.state === 'waiting') {
    const { waits, moreWaits = 0 } = record
    const keys = new Set(waits.map(({ key }) => key))
    const named = moreWaits === 0 ? folded.waits : folded.waits.filter(({ key }) => keys.has(key))
    const more = folded.waits.length - named.length
    const [actual, expected] = [canonical({ waits, more: moreWaits }), canonical({ waits: named, more })]
    if (actual !== expected || (moreWaits > 0 && waits.length < mostNamed))
      yield `I16 it waits for ${actual}, its events say ${expected}`
  }
}

/** A record that leaves waits out names so many, and the wait of a supervisor. */
const mostNamed = 100

/** I5, I10: one live lease if and only if it runs; leases and starts are one to one. */
function* leaseRules({ record, events, leases }: TaskSnapshot): Iterable<string> {
  const live = leases.filter(({ status }) => status === 'running')
  if (live.length !== (record.state === 'running' ? 1 : 0))
    yield `I5 ${record.state} with ${live.length} live leases`
  if (record.state === 'running' && live[0]?.leaseId !== record.lease.leaseId)
    yield `I5 runs under ${record.lease.leaseId}, but ${live[0]?.leaseId ?? 'none'} is live`
  const starts = events.filter(({ type }) => type === 'task.started')
  if (starts.length !== leases.length) yield `I10 ${starts.length} starts, ${leases.length} leases`
  for (const [index, lease] of leases.entries()) {
    const started = JSON.parse(starts[index]?.data ?? '{}') as Partial<EventData['task.started']>
    if (
      lease.leaseId !== started.leaseId ||
      lease.dispatch !== started.dispatch ||
      lease.fencingToken !== index + 1
    )
      yield `I10 lease ${lease.dispatch} is not that of start ${index + 1}`
    if ((lease.workerId === 'caller') !== (record.held === true))
      yield `10.1 lease ${lease.dispatch} is of ${lease.workerId}, and the task is ${record.held === true ? '' : 'not '}its caller's`
    if ((lease.status === 'running') !== (lease.endedAt === undefined && lease.endReason === undefined))
      yield `I5 lease ${lease.dispatch} is ${lease.status} and ended by ${lease.endReason ?? 'nothing'}`
  }
}

/** The rejections that sent the task back, as its events say. */
function rejectionsIn(events: TaskSnapshot['events']): { since: number; seq: number }[] {
  return events.flatMap(({ type, seq, data }) => {
    if (type !== 'task.resumed' && type !== 'wait.inherited') return []
    const { since } = JSON.parse(data) as EventData['wait.resolved']
    return since === undefined ? [] : [{ since, seq }]
  })
}

/** I6: a key has one memo, and the memos are what their events say. */
function* memoRules({ events, steps }: TaskSnapshot): Iterable<string> {
  const sentBack = rejectionsIn(events)
  const recorded = events.filter(
    ({ type, seq, data }) =>
      (type === 'step.completed' || type === 'step.inherited') &&
      (!isVoid(seq, sentBack) ||
        outlivesRejection({ key: (JSON.parse(data) as { key: string }).key, kind: 'step', seq })),
  )
  if (steps.length !== recorded.length) yield `I6 ${steps.length} memos, ${recorded.length} events`
  const keys = new Set(steps.map(({ key }) => key))
  if (keys.size !== steps.length)
    yield `I6 two memos of one key among ${steps.map(({ key }) => key).join(', ')}`
  for (const [index, step] of steps.entries()) {
    const event = recorded[index]
    const data = JSON.parse(event?.data ?? '{}') as Partial<EventData['step.completed']>
    if (event?.seq !== step.seq || data.key !== step.key || canonical(data.result ?? null) !== step.result)
      yield `I6 memo ${step.key} is not what event ${event?.seq ?? 0} says`
  }
}

function* outputRules({ output, steps }: TaskSnapshot): Iterable<string> {
  // In the log of a pipeline each chunk has the attempt of its stage.
  const isLog = steps.some(({ key }) => key === PIPELINE_KEY)
  for (const [index, { seq, attempt }] of output.entries()) {
    if (seq !== index + 1) yield `9 chunk ${index + 1} has seq ${seq}`
    if (!isLog && attempt < (output[index - 1]?.attempt ?? 1))
      yield `9.3 chunk ${seq} is of an earlier attempt`
  }
}

/** I2, I22: every child was spawned; none that ends with its parent outlives it, and each end is delivered. */
function* familyRules({ tasks }: StoreSnapshot): Iterable<string> {
  const byId = new Map(tasks.map((task) => [task.record.taskId, task]))
  const spawned = new Set<string>()
  for (const { record, events } of tasks) {
    const ended = new Set<string>()
    const ofChildren = events.filter(({ type }) => type.startsWith('child.'))
    for (const { type, data } of ofChildren) {
      const { taskId, policy } = JSON.parse(data) as EventData['child.spawned']
      if (type === 'child.ended') ended.add(taskId)
      if (type !== 'child.spawned') continue
      spawned.add(taskId)
      const child = byId.get(taskId)?.record
      if (child?.parent !== record.taskId)
        yield `I22 task ${record.sequence} has a child ${taskId} of parent ${child?.parent ?? 'none'}`
      else if (isFinal(record.state) && policy === 'cancel' && !isFinal(child.state))
        yield `I22 task ${record.sequence} is ${record.state}, its child ${taskId} is ${child.state}`
    }
    if (ofChildren.length === 0) continue
    for (const { key, taskId } of foldEvents(events).children.values()) {
      const state = byId.get(taskId)?.record.state
      if (state !== undefined && isFinal(state) && !ended.has(taskId))
        yield `I22 task ${record.sequence} does not know that its child ${key} is ${state}`
    }
  }
  for (const { record } of tasks)
    if (record.parent !== undefined && !spawned.has(record.taskId))
      yield `I2 task ${record.sequence} is not a child of ${record.parent}`
}

/** I25: a budget's use is what the task and those below it charged and recorded; nothing parks for one that does not ask. */
function* budgetRules({ tasks }: StoreSnapshot): Iterable<string> {
  const used = new Map<string, BudgetUse>()
  const parked = new Map<string, number>()
  const budgets = new Map(
    tasks.flatMap(({ record: { taskId, budget } }) => (budget?.taskId === taskId ? [[taskId, budget]] : [])),
  )
  for (const { record, events } of tasks) {
    const spent = record.budget === undefined ? noUse : events.reduce(addSpent, noUse)
    let asks = false
    for (let next = record.budget?.taskId; next !== undefined; next = budgets.get(next)?.above) {
      used.set(next, addUse(used.get(next) ?? noUse, spent))
      if (record.state === 'waiting' && record.waitingFor === 'budget')
        parked.set(next, (parked.get(next) ?? 0) + 1)
      asks ||= budgets.get(next)?.asks !== undefined
    }
    if (record.state === 'waiting' && record.waitingFor === 'budget' && !asks)
      yield `I25 task ${record.sequence} is parked, and no budget above it asks`
  }
  for (const [taskId, budget] of budgets) {
    const sum = used.get(taskId) ?? noUse
    const expected = { ...usageOf(sum), steps: sum.steps }
    const { wallMs: _, ...actual } = budget.used
    if (canonical(actual) !== canonical(expected))
      yield `I25 the budget of task ${taskId} has used ${canonical(actual)}, its tree ${canonical(expected)}`
    if (budget.parked !== (parked.get(taskId) ?? 0))
      yield `I25 ${budget.parked} are parked for the budget of task ${taskId}, counted ${parked.get(taskId) ?? 0}`
  }
  for (const { record } of tasks) {
    const { limits, used: spent } = budgets.get(record.taskId) ?? {}
    if (limits === undefined || spent === undefined || isFinal(record.state)) continue
    const crossed = budgetFields.find((field) => spent[field] > (limits[field] ?? Number.POSITIVE_INFINITY))
    if (crossed !== undefined && crossed !== 'wallMs')
      yield `I25 task ${record.sequence} is ${record.state} although its budget of ${crossed} is crossed`
  }
}

function addSpent(use: BudgetUse, { type, data }: StoredEvent): BudgetUse {
  if (type === 'step.inherited') return use
  const { charged } = JSON.parse(data) as { charged?: UsageSum }
  return addUse(use, { ...noUse, ...charged, steps: type === 'step.completed' ? 1 : 0 })
}

/** I1, I2, I14: counters are counts. */
function* countRules({ tasks, stats }: StoreSnapshot): Iterable<string> {
  const count = (test: (record: TaskRecord) => boolean) => tasks.filter(({ record }) => test(record)).length
  const isDelayed = (record: TaskRecord) => record.state === 'queued' && record.dueAt !== undefined
  for (const lane of lanes) {
    const depth = count((it) => it.state === 'queued' && it.lane === lane && !isDelayed(it))
    if (stats.depth[lane] !== depth) yield `I14 depth of ${lane} is ${stats.depth[lane]}, ${depth} are queued`
  }
  const states = {
    delayed: count(isDelayed),
    running: count((it) => it.state === 'running'),
    waiting: count((it) => it.state === 'waiting'),
  }
  for (const [name, number] of Object.entries(states))
    if (stats[name as keyof typeof states] !== number)
      yield `I14 ${name} is ${stats[name as keyof typeof states]}, counted ${number}`

  const requeues = tasks.flatMap(({ events }) =>
    events.flatMap(({ type, data }) =>
      type === 'task.requeued' ? [(JSON.parse(data) as EventData['task.requeued']).reason] : [],
    ),
  )
  const poisoned = count(
    (it) => it.state === 'failed' && (it.kind === 'poisoned' || it.kind === 'lease_lost'),
  )
  const totals: Partial<Totals> = {
    submitted: count((it) => it.state !== 'rejected'),
    completed: count((it) => it.state === 'completed'),
    failed: count((it) => it.state === 'failed'),
    canceled: count((it) => it.state === 'canceled'),
    requeued: requeues.length,
    expired: requeues.filter((reason) => reason === 'expired' || reason === 'owner_dead').length + poisoned,
    preempted: requeues.filter((reason) => reason === 'yielded').length,
  }
  const { deleted } = stats
  const allDeleted = deleted.completed + deleted.failed + deleted.canceled
  for (const [name, number] of Object.entries(totals)) {
    const gone = name === 'submitted' ? allDeleted : (deleted[name as keyof PerState] ?? 0)
    // How often deleted tasks were requeued is not told.
    if (allDeleted > 0 && (name === 'requeued' || name === 'expired' || name === 'preempted')) continue
    if (stats.totals[name as keyof Totals] !== number + gone)
      yield `I16 totals.${name} is ${stats.totals[name as keyof Totals]}, counted ${number}`
  }
  const rejected = count((it) => it.state === 'rejected')
  if (stats.totals.rejected < rejected)
    yield `I16 totals.rejected is ${stats.totals.rejected}, there are ${rejected}`
  const sequences = tasks.map(({ record }) => record.sequence)
  if (new Set(sequences).size !== sequences.length) yield 'I2 two tasks of one sequence'
  const ids = new Set(tasks.map(({ record }) => record.taskId))
  if (ids.size !== tasks.length) yield 'I2 two tasks of one id'
}

/** I17: one task per idempotency key. */
function* keyRules({ tasks }: StoreSnapshot): Iterable<string> {
  const bound = new Set<string>()
  for (const { events } of tasks) {
    const submission = JSON.parse(events[0]?.data ?? '{}') as Partial<EventData['task.queued']>
    const { idempotencyKey: key, schedule, scheduledFor } = submission
    if (scheduledFor !== undefined && key !== runKeyOf(schedule ?? '', scheduledFor))
      yield `I17 the run of schedule ${String(schedule)} for ${scheduledFor} has the key ${String(key)}`
    if (key === undefined) continue
    if (bound.has(key)) yield `I17 two tasks of key ${key}`
    bound.add(key)
  }
}

/** I11: a worker's inFlight is the number of its live leases, and no more than its capacity. */
function* workerRules({ tasks, workers }: StoreSnapshot): Iterable<string> {
  const live = tasks.flatMap(({ leases }) => leases.filter(({ status }) => status === 'running'))
  for (const workerId of new Set(workers.map((worker) => worker.workerId))) {
    const rows = workers.filter((worker) => worker.workerId === workerId)
    const inFlight = rows.reduce((sum, worker) => sum + worker.inFlight, 0)
    const held = live.filter((lease) => lease.workerId === workerId).length
    if (inFlight > held) yield `I11 worker ${workerId} says ${inFlight} in flight, ${held} leases are live`
    for (const { capacity, inFlight: own, state } of rows) {
      if (own > capacity) yield `I11 worker ${workerId} of capacity ${capacity} has ${own} in flight`
      if (state !== 'draining' && state !== 'silent' && (state === 'busy') !== own > 0)
        yield `C6 worker ${workerId} is ${state} with ${own} in flight`
    }
  }
}

/** The agents of a swarm are its tasks that have not ended, and no more than it holds. Source: `docs/semantics.md 10.6`. */
function* swarmRules({ tasks, swarms }: StoreSnapshot): Iterable<string> {
  for (const { name, terms, agents } of swarms) {
    const living = tasks.filter(({ record }) => record.swarm === name && !isFinal(record.state))
    const [said, counted] = [
      agents.map(({ agent, taskId }) => `${agent} ${taskId}`),
      living.map(({ record }) => `${String(record.agent)} ${record.taskId}`),
    ]
    if (canonical(said.toSorted()) !== canonical(counted.toSorted()))
      yield `10.6 the swarm ${name} has ${said.join(', ')}, its tasks say ${counted.join(', ')}`
    if (agents.length > terms.maxAgents)
      yield `10.6 the swarm ${name} has ${agents.length} agents of ${terms.maxAgents}`
  }
}

/** I19: quota counters are the holders, and no maximum is exceeded. */
function* quotaRules({ tasks, stats }: StoreSnapshot, config: ExecutionConfig): Iterable<string> {
  const { quotaConfig } = config
  const holders = new Map<string, { queued: number; running: number; returned: number }>()
  // Keys that are held without a limit.
  const blocked = new Set([
    ...tasks.flatMap(({ events }) => events.flatMap(blockedBy)),
    ...Object.keys(config.shares?.dominant ?? {}),
  ])
  if (quotaConfig !== undefined || blocked.size > 0)
    for (const { record, events } of tasks) {
      if (record.state !== 'queued' && record.state !== 'running') continue
      const resumed = events.some(({ type }) => type === 'task.resumed')
      const limits = limitsOn(namesIn(events), quotaConfig ?? { windowMs: 60_000 }, blocked)
      for (const [key, limit] of limits) {
        const held = holders.get(key) ?? { queued: 0, running: 0, returned: 0 }
        held[record.state] += 1
        if (resumed) held.returned += 1
        holders.set(key, held)
        // A task that waited gave its place up and comes back past the limit; it starts when there is room.
        const counted =
          limit.onExceeded === 'reject'
            ? Math.max(held.queued + held.running - held.returned, held.running)
            : held.running
        if (limit.maxInFlight !== undefined && counted > limit.maxInFlight)
          yield `I19 quota ${key} is held ${counted} times, its maximum is ${limit.maxInFlight}`
      }
    }
  for (const { key, queued, running, window } of stats.quotas) {
    if (window !== undefined && quotaConfig !== undefined) yield* windowRules(key, window, quotaConfig, tasks)
    const held = holders.get(key) ?? { queued: 0, running: 0, returned: 0 }
    if (queued !== held.queued || running !== held.running)
      yield `I19 quota ${key} counts ${queued} queued and ${running} running, held by ${held.queued} and ${held.running}`
    holders.delete(key)
  }
  for (const key of holders.keys()) yield `I19 quota ${key} is held and not counted`
}

/** I19: a window holds what its tasks reserved in it, what they charged beyond that in it, less what they gave back. */
function* windowRules(
  key: string,
  window: QuotaWindow,
  config: QuotaConfig,
  tasks: readonly TaskSnapshot[],
): Iterable<string> {
  const isIn = (at: number | undefined) => at !== undefined && at >= window.startedAt && at < window.resetsAt
  let started = 0
  let tokens = 0
  for (const { record, events } of tasks) {
    if (record.state === 'rejected') continue
    const submission = submissionIn(events)
    const limitOf = (model: string | undefined) =>
      limitsOn(withModel(submission, model), config).find(([name]) => name === key)?.[1]
    let limit = limitOf(submission.model)
    const { tokens: estimate = 0 } = submission
    let used = 0
    /** When it was counted first. */
    let counted: number | undefined
    let hasStarted = false
    for (const { type, at, data } of events) {
      const it = JSON.parse(data) as Partial<EventData['task.requeued']>
      const first = events[0]?.type === type
      if (limit !== undefined && (limit.onExceeded === 'reject' ? first : type === 'task.started')) {
        started += Number(isIn(at))
        if (counted === undefined && isIn(at)) tokens += estimate
      }
      if (first || type === 'task.started')
        counted ??= limit?.onExceeded === 'reject' || !first ? at : undefined
      hasStarted ||= type === 'task.started'
      const charged = type === 'step.inherited' ? 0 : (it.charged?.tokens ?? 0)
      if (limit?.tokensPerWindow !== undefined && isIn(at))
        tokens += Math.max(0, used + charged - Math.max(estimate, used))
      used += charged
      const model = it.recovery?.model
      const isOver = isFinal(record.state) && type === `task.${record.state}`
      if (!isOver && model === undefined) continue
      const keeps = used === 0 && hasStarted
      if (limit?.tokensPerWindow !== undefined && !keeps && isIn(counted) && isIn(at))
        tokens -= Math.max(0, estimate - used)
      if (model === undefined) continue
      // What it may still use counts for the model that it has fallen back to.
      limit = limitOf(model)
      if (limit?.tokensPerWindow !== undefined && isIn(at)) tokens += Math.max(0, estimate - used)
    }
  }
  if (window.tasks !== started)
    yield `I19 the window of ${key} counts ${window.tasks} tasks, it had ${started}`
  if (window.tokens !== tokens)
    yield `I19 the window of ${key} counts ${window.tokens} tokens, it had ${tokens}`
}

function submissionIn(events: readonly StoredEvent[]): EventData['task.queued'] {
  return JSON.parse(events[0]?.data ?? '{}') as EventData['task.queued']
}

/** The submission that limits go by: as it was submitted, or with the model that it has fallen back to. */
function namesIn(events: readonly StoredEvent[]): EventData['task.queued'] {
  return withModel(submissionIn(events), pastFailure(events).model)
}

function withModel(
  submission: EventData['task.queued'],
  model: string | undefined,
): EventData['task.queued'] {
  return model === undefined ? submission : { ...submission, model }
}

/** The keys that a provider's refusal blocked: they are counted from then on, limited or not. */
function blockedBy({ data }: StoredEvent): readonly string[] {
  if (!data.includes('"backOff"')) return []
  return (JSON.parse(data) as { backOff?: { keys: string[] } }).backOff?.keys ?? []
}

/** The limits of a task, by key. */
function limitsOn(
  { model, tools, client, labels }: EventData['task.queued'],
  { models, tools: byTool, clients, labels: byLabel, defaults }: QuotaConfig,
  counted: ReadonlySet<string> = new Set(),
): readonly (readonly [key: string, limit: QuotaLimit])[] {
  const limits = new Map<string, QuotaLimit | undefined>()
  const own = (all: Readonly<Record<string, QuotaLimit>> | undefined, name: string) =>
    new Map(Object.entries(all ?? {})).get(name)
  if (model !== undefined) limits.set(`model:${model}`, own(models, model) ?? defaults?.model)
  for (const tool of tools ?? []) limits.set(`tool:${tool}`, own(byTool, tool) ?? defaults?.tool)
  if (client !== undefined) limits.set(`client:${client}`, own(clients, client) ?? defaults?.client)
  for (const [label, value] of Object.entries(labels ?? {})) {
    const values = new Map(Object.entries(byLabel ?? {})).get(label)
    limits.set(labelQuotaKey(label, value), own(values, value) ?? own(defaults?.labels, label))
  }
  return [...limits].flatMap(([key, limit]) => {
    if (limit !== undefined) return [[key, limit] as const]
    return counted.has(key) ? [[key, { onExceeded: 'defer' }] as const] : []
  })
}

/** I1, I3, I6, I15: what was true stays true. */
function* lastingRules(before: StoreSnapshot, now: StoreSnapshot): Iterable<string> {
  const later = new Map(now.tasks.map((task) => [task.record.taskId, task]))
  for (const { record, events, steps } of before.tasks) {
    const task = later.get(record.taskId)
    if (task === undefined) {
      if (record.state !== 'rejected') yield `I1 task ${record.sequence} is gone`
      continue
    }
    if (isFinal(record.state) && lasting(task.record) !== lasting(record))
      yield `I3 task ${record.sequence} was ${record.state} and changed`
    for (const [index, event] of events.entries())
      if (JSON.stringify(task.events[index]) !== JSON.stringify(event))
        yield `I15 event ${event.seq} of task ${record.sequence} changed`
    const sentBack = rejectionsIn(task.events)
    const standing = steps.filter(
      ({ key, seq }) => !isVoid(seq, sentBack) || outlivesRejection({ key, kind: 'step', seq }),
    )
    for (const [index, step] of standing.entries())
      if (JSON.stringify(task.steps[index]) !== JSON.stringify(step))
        yield `I6 memo ${step.key} of task ${record.sequence} changed`
  }
}

/** The physical stop comes after the final state, and those that a task left behind may draw on its budget still. */
function lasting(record: TaskRecord): string {
  return JSON.stringify({ ...record, abort: undefined, budget: undefined })
}

const valueKeys = ['input', 'result', 'output', 'error', 'value', 'artifact'] as const

/** The chain after one more event; a value that was too large to stand inline was hashed as its reference. */
function chained(
  tail: Uint8Array,
  task: number,
  event: StoredEvent,
  parsed: Readonly<Record<string, unknown>>,
  { config, digest }: InvariantCase,
): Uint8Array {
  const { seq, type, at } = event
  let { data } = event
  const ofChild = isChildName(parsed['name'])
  // A child's end stands in its parent's events with the blob that its own event has.
  const values = ofChild ? ((parsed['value'] ?? {}) as Record<string, unknown>) : parsed
  for (const key of valueKeys) {
    if (!(key in values)) continue
    const text = canonical(values[key])
    if (!exceeds(text, config.maxInlineBytes)) continue
    data = data.replace(
      `"${key}":${text}`,
      () => `"${key}":${blobReference(digest.sha256Hex(text), text.length)}`,
    )
  }
  const text = encoder.encode(chainText(task, seq, type, at, data))
  const bytes = new Uint8Array(tail.length + text.length)
  bytes.set(tail)
  bytes.set(text, tail.length)
  return digest.sha256(bytes)
}

const encoder = new TextEncoder()

const hexOf: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

function hex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += hexOf[byte]
  return text
}

/** The facts that a record or its events say; none, where they say nothing. */
function textOf(value: unknown): string {
  return value === undefined ? 'nothing' : canonical(value)
}

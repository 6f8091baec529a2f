import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  addUse,
  type ApprovalTerms,
  approvalTimeouts,
  canonical,
  childPolicies,
  CHAIN_START,
  chainText,
  type EventData,
  type ExecutionConfig,
  foldEvents,
  isFinal,
  type Lane,
  noUse,
  rejectionPolicies,
  taskStates,
  type TaskState,
  type UsageSum,
  waitKinds,
} from '@ku0/agent-runtime-core'
import { blobReference } from '@ku0/agent-runtime-core/transition'
import Database from 'better-sqlite3'
import { verifyStore } from '../../src/index.ts'

/** Rejects when anything is wrong with the tables of a store that is closed; the store's own verification must agree. */
export async function assertTables(path: string, config: ExecutionConfig): Promise<void> {
  assert.deepEqual(tableViolations(path, config), [])
  const { ok, faults } = await verifyStore(`sqlite:${path}`)
  assert.deepEqual({ ok, faults }, { ok: true, faults: [] })
}

/**
 * What is wrong with the tables of a store that is closed, one line each, read without the store's own code: rows against the
 * fold of their events, counters against counts, the chains against their bytes, admissions against the depth they met.
 */
export function tableViolations(path: string, config: ExecutionConfig): readonly string[] {
  const db = new Database(path, { readonly: true, fileMustExist: true })
  try {
    const tables = readTables(db)
    return [
      ...integrityRules(db),
      ...tables.tasks.flatMap((task) =>
        [...taskRules(tables, task)].map((line) => `task ${task.id}: ${line}`),
      ),
      ...counterRules(tables),
      ...journalRules(tables),
      ...admissionRules(tables, config),
      ...referenceRules(tables),
      ...scheduleRules(tables),
      ...evaluationRules(tables, config),
      ...usageRules(db, tables),
      ...budgetRules(tables),
    ]
  } finally {
    db.close()
  }
}

/** A schedule counts the tasks that say they are its runs; those of one that was removed before are not counted. */
function* scheduleRules({ schedules, eventsOf, tasks }: Tables): Iterable<string> {
  const runs = new Map<string, number>()
  for (const [first] of eventsOf.values()) {
    const { schedule } = JSON.parse(first?.data ?? '{}') as Partial<EventData['task.queued']>
    if (schedule !== undefined) runs.set(schedule, (runs.get(schedule) ?? 0) + 1)
  }
  for (const { name, last_task: last, runs: counted } of schedules) {
    if (counted > (runs.get(name) ?? 0))
      yield `schedule ${name} counts ${counted} runs, ${runs.get(name) ?? 0} tasks are its own`
    const task = tasks.find(({ id }) => id === last)
    const first = task === undefined ? undefined : eventsOf.get(task.id)?.[0]
    if (task === undefined || first?.type === 'task.rejected') continue
    if ((JSON.parse(first?.data ?? '{}') as Partial<EventData['task.queued']>).schedule !== name)
      yield `the last task ${task.id} of schedule ${name} is not its own`
  }
}

/** Where an agent stands is the fold of its evaluations, from the first that is kept on. */
function* evaluationRules({ reputations, evaluations }: Tables, config: ExecutionConfig): Iterable<string> {
  const isNear = (a: number, b: number) => Math.abs(a - b) < 1e-12
  const meanOf = (rows: readonly number[]) => rows.reduce((sum, value) => sum + value, 0) / rows.length
  for (const { agent, reputation, evaluations: count, average, latest, last_at: lastAt } of reputations) {
    const kept = evaluations.filter((row) => row.agent === agent)
    const last = kept.at(-1)
    if (last?.seq !== count || last.reputation !== reputation || last.scores !== latest || last.at !== lastAt)
      yield `agent ${agent} does not stand where its evaluation ${last?.seq ?? 'none'} left it`
    const expected = Math.min(count, config.maxEvaluationsKept)
    if (kept.length > expected || kept.some(({ seq }, index) => seq !== count - kept.length + index + 1))
      yield `agent ${agent} keeps ${kept.map(({ seq }) => seq).join()} of its ${count} evaluations`
    for (const [index, { seq, composite, reputation: after }] of kept.entries()) {
      const before = kept[index - 1]?.reputation ?? (seq === 1 ? composite : undefined)
      if (before !== undefined && !isNear(after, 0.3 * composite + 0.7 * before))
        yield `evaluation ${seq} of agent ${agent} leads from ${before} to ${after}`
    }
    if (kept.length < count) continue
    const scores = kept.map((row) => JSON.parse(row.scores) as number[])
    const means = (JSON.parse(average) as number[]).map((mean, n) => [
      mean,
      meanOf(scores.map((it) => it[n] ?? 0)),
    ])
    if (means.some(([mean = 0, told = 1]) => !isNear(mean, told)))
      yield `agent ${agent} has the average ${average}, which is not that of its evaluations`
  }
  const known = new Set(reputations.map(({ agent }) => agent))
  for (const { agent, seq } of evaluations)
    if (!known.has(agent)) yield `evaluation ${seq} of agent ${agent}, who stands nowhere`
}

/** Usages are of live leases, or of agents that have not ended; agents are of a swarm that there is, and no more than it holds. */
function* usageRules(db: Database.Database, { tasks, leases, eventsOf }: Tables): Iterable<string> {
  const usages = db
    .prepare<[], { task: number; lease: number | null; swarm: string | null }>(
      'SELECT task, lease, swarm FROM usage',
    )
    .all()
  const swarms = db.prepare<[], { name: string; terms: string }>('SELECT name, terms FROM swarm').all()
  for (const { task: id, lease, swarm } of usages) {
    const task = tasks.find((it) => it.id === id)
    const state = taskStates[task?.state ?? 6] as TaskState
    if (swarm === null && task?.lease !== lease)
      yield `10.7 task ${id}, ${state}, uses lease ${String(lease)}`
    if (lease !== null && leases.find((it) => it.id === lease)?.state !== 0)
      yield `10.7 task ${id} uses lease ${lease}, which has ended`
    if (isFinal(state)) yield `10.6 the agent ${id} is ${state}`
    if (swarm !== null && !swarms.some(({ name }) => name === swarm))
      yield `10.6 the agent ${id} is of a swarm '${swarm}', which is gone`
  }
  for (const [id, [first]] of eventsOf) {
    const { swarm, agent } = JSON.parse(first?.data ?? '{}') as { swarm?: string; agent?: string }
    const isOver = isFinal(taskStates[tasks.find((it) => it.id === id)?.state ?? 6] as TaskState)
    if (swarm !== undefined && !isOver && !usages.some((it) => it.task === id && it.swarm === swarm))
      yield `10.6 task ${id}, the agent ${String(agent)} of '${swarm}', uses nothing`
  }
  for (const { name, terms } of swarms) {
    const { maxAgents } = JSON.parse(terms) as { maxAgents: number }
    const agents = usages.filter(({ swarm }) => swarm === name).length
    if (agents > maxAgents) yield `10.6 the swarm '${name}' has ${agents} agents, maxAgents is ${maxAgents}`
  }
  const probes = db
    .prepare<[], { route: string; probe: number }>('SELECT route, probe FROM circuit WHERE probe IS NOT NULL')
    .all()
  for (const { route, probe } of probes) {
    const state = taskStates[tasks.find(({ id }) => id === probe)?.state ?? 6] as TaskState
    if (isFinal(state)) yield `10.3 the probe ${probe} of '${route}' is ${state}`
  }
}

/** I25: a budget's row adds up what the events of its tree charged, and no task is under a budget that is not there. */
function* budgetRules({ budgets, tasks, eventsOf }: Tables): Iterable<string> {
  const rows = new Map(budgets.map((row) => [row.task, row]))
  const sums = new Map(budgets.map(({ task }) => [task, { ...noUse }]))
  for (const task of tasks) {
    if (task.budget === null) continue
    if (!rows.has(task.budget)) yield `task ${task.id} is under the budget ${task.budget}, which is not there`
    let spent = noUse
    for (const { type, data } of eventsOf.get(task.id) ?? []) {
      const { charged } = JSON.parse(data) as { charged?: UsageSum }
      if (type === 'step.inherited') continue
      spent = addUse(spent, { ...noUse, ...charged, steps: type === 'step.completed' ? 1 : 0 })
    }
    for (let next: number | null = task.budget; next !== null; next = rows.get(next)?.above ?? null)
      sums.set(next, addUse(sums.get(next) ?? noUse, spent))
  }
  for (const { task, used, due_at: dueAt, started_at: startedAt } of budgets) {
    if (canonical(JSON.parse(used)) !== canonical(sums.get(task)))
      yield `the budget of task ${task} has used ${used}, its tree ${canonical(sums.get(task))}`
    if (dueAt !== null && startedAt === null) yield `the budget of task ${task} is due before it began`
  }
}

type Tables = ReturnType<typeof readTables>

interface TaskRow {
  id: number
  stream: number | null
  state: number
  attempt: number
  fence: number
  lease: number | null
  crashes: number
  steps: number
  waits: number
  seq: number
  tail: Buffer
  submitted_at: number
  due_at: number | null
  started_at: number | null
  finished_at: number | null
  explicit_id: string | null
  parent: number | null
  budget: number | null
}
interface EventRow {
  task: number
  seq: number
  type: keyof EventData
  at: number
  data: string
  blob: string | null
  hash: Buffer
}
interface LeaseRow {
  id: number
  task: number
  process: number
  fence: number
  state: number
  end_seq: number | null
}
interface WaitRow {
  task: number
  key: string
  position: number
  kind: number
  name: string | null
  due_at: number | null
  terms: string | null
}
interface ChildRow {
  parent: number
  key: string
  task: number
  position: number
  policy: number
  seq: number
  open: number
}
interface StreamRow {
  id: number
  lane_rank: number
  type: string
  quota_keys: string
  depth: number
  delayed: number
}

function readTables(db: Database.Database) {
  const all = <Row>(sql: string) => db.prepare<[], Row>(sql).all()
  const events = all<EventRow>('SELECT * FROM event ORDER BY task, seq')
  return {
    tasks: all<TaskRow>('SELECT * FROM task ORDER BY id'),
    events,
    eventsOf: Map.groupBy(events, ({ task }) => task),
    leases: all<LeaseRow>('SELECT * FROM lease ORDER BY id'),
    streams: all<StreamRow>('SELECT * FROM stream'),
    quotas: all<{ key: string; queued: number; running: number }>('SELECT * FROM quota'),
    keys: all<{ key: string; task: number; payload_hash: string }>('SELECT * FROM idempotency'),
    checkpoints: all<{ task: number; seq: number; data: string }>('SELECT * FROM checkpoint'),
    outputs: all<{ task: number; seq: number }>('SELECT task, seq FROM output ORDER BY task, seq'),
    waits: all<WaitRow>('SELECT * FROM wait ORDER BY task, position, key'),
    schedules: all<{ name: string; last_task: number | null; runs: number; last_due_at: number | null }>(
      'SELECT name, last_task, runs, last_due_at FROM schedule',
    ),
    reputations: all<{
      agent: string
      reputation: number
      evaluations: number
      average: string
      latest: string
      last_at: number
    }>('SELECT * FROM reputation ORDER BY agent'),
    evaluations: all<{
      agent: string
      seq: number
      at: number
      scores: string
      composite: number
      reputation: number
    }>('SELECT * FROM evaluation ORDER BY agent, seq'),
    budgets: all<{
      task: number
      above: number | null
      used: string
      started_at: number | null
      due_at: number | null
    }>('SELECT task, above, used, started_at, due_at FROM budget'),
    children: all<ChildRow>('SELECT * FROM child ORDER BY parent, key'),
    signals: all<{ task: number; seq: number; name: string }>('SELECT * FROM signal ORDER BY task, seq'),
    blobs: new Map(
      all<{ sha256: string; data: string }>('SELECT * FROM blob').map((it) => [it.sha256, it.data]),
    ),
    journal: all<{ number: number; at: number; touched: string; hash: Buffer }>(
      'SELECT * FROM journal ORDER BY number',
    ),
    totals: all<Record<string, number>>('SELECT * FROM totals')[0] ?? {},
    processes: all<{ id: number; ended_at: number | null }>('SELECT id, ended_at FROM process'),
    workers: all<{ process: number; registered: number }>('SELECT process, registered FROM worker'),
  }
}

function* integrityRules(db: Database.Database): Iterable<string> {
  const said = db.pragma('integrity_check', { simple: true })
  if (said !== 'ok') yield `integrity_check: ${String(said)}`
}

/** I5, I10, I15, I16: the row, its leases and its chain are what the events say. */
function* taskRules(tables: Tables, task: TaskRow): Iterable<string> {
  const { eventsOf, leases, blobs } = tables
  const events = eventsOf.get(task.id) ?? []
  let tail: Buffer = Buffer.from(CHAIN_START)
  for (const [index, { seq, type, at, data, hash }] of events.entries()) {
    if (seq !== index + 1) yield `I15 event ${index + 1} has seq ${seq}`
    tail = createHash('sha256')
      .update(tail)
      .update(chainText(task.id, seq, type, at, data))
      .digest()
    if (!tail.equals(hash)) yield `I15 the chain breaks at ${seq}`
  }
  if (task.seq !== events.length || !tail.equals(task.tail))
    yield `I16 the row is at seq ${task.seq} of ${events.length}`

  const folded = foldEvents(events.map((event) => ({ ...event, data: withBlob(event, blobs) })))
  const { row } = folded
  yield* folded.problems
  yield* waitRules(tables, task, folded)
  yield* childRules(tables, task, folded)
  const state = taskStates[task.state] as TaskState
  const expected = {
    state: row['state'],
    attempt: row['attempt'],
    crashes: row['crashes'],
    steps: row['steps'],
    submitted_at: events[0]?.at,
    started_at: row['startedAt'] ?? null,
    finished_at: row['finishedAt'] ?? null,
  }
  for (const [column, value] of Object.entries(expected)) {
    const actual = column === 'state' ? state : task[column as keyof TaskRow]
    if (actual !== value) yield `I16 ${column} is ${String(actual)}, its events say ${String(value)}`
  }
  const due =
    state === 'queued'
      ? (JSON.parse(lastQueuing(events)?.data ?? '{}') as { dueAt?: number }).dueAt
      : (folded.waitDueAt ?? undefined)
  if (task.due_at !== null && task.due_at !== due) yield `I16 due_at is ${task.due_at}, its events say ${due}`

  const own = leases.filter((lease) => lease.task === task.id)
  const live = own.filter((lease) => lease.state === 0)
  if (live.length !== (state === 'running' ? 1 : 0) || live[0]?.id !== (task.lease ?? undefined))
    yield `I5 ${state} under ${String(task.lease)}, live are ${live.map(({ id }) => id).join(', ') || 'none'}`
  if (task.fence !== own.length) yield `I10 fence is ${task.fence}, it had ${own.length} leases`
  for (const [index, lease] of own.entries()) {
    if (lease.fence !== index + 1) yield `I10 lease ${lease.id} has fence ${lease.fence}`
    const end = events.find(({ seq }) => seq === lease.end_seq)
    if (lease.state !== 0 && (end === undefined || end.type === 'task.started'))
      yield `I16 lease ${lease.id} was ended by event ${String(lease.end_seq)} (${end?.type ?? 'none'})`
  }
}

/** I16: the rows of open waits and unread signals are what the events say. */
function* waitRules(
  tables: Tables,
  { id, waits: count }: TaskRow,
  { waits, signals }: ReturnType<typeof foldEvents>,
): Iterable<string> {
  const open = tables.waits
    .filter(({ task }) => task === id)
    .map(({ key, position, kind, name, due_at: dueAt }) => ({
      key,
      position,
      kind: waitKinds[kind],
      ...(name === null ? {} : { name }),
      ...(dueAt === null ? {} : { dueAt }),
    }))
  yield* termsRules(tables, id)
  if (canonical(open) !== canonical(waits))
    yield `I16 open waits are ${canonical(open)}, its events say ${canonical(waits)}`
  const unread = tables.signals.filter(({ task }) => task === id).map(({ seq, name }) => [seq, name])
  if (canonical(unread) !== canonical([...signals]))
    yield `I16 unread signals are ${canonical(unread)}, its events say ${canonical([...signals])}`
  const children = tables.children.filter((it) => it.parent === id && it.open === 1).length
  if (count !== open.length + unread.length + children)
    yield `I14 waits is ${count}, there are ${open.length}, ${unread.length} and ${children} children`
}

/** I16, I22: each row of a child is the memo that spawned it, and open as long as the events say so. */
function* childRules(
  { children, tasks, eventsOf }: Tables,
  { id, parent }: TaskRow,
  folded: ReturnType<typeof foldEvents>,
): Iterable<string> {
  const own = children.filter((it) => it.parent === id)
  const open = own.filter((it) => it.open === 1).map(({ key }) => key)
  const expected = [...folded.children.keys()].toSorted((a, b) => (a < b ? -1 : 1))
  if (canonical(open.toSorted((a, b) => (a < b ? -1 : 1))) !== canonical(expected))
    yield `I22 open children are ${canonical(open)}, its events say ${canonical(expected)}`
  for (const { key, task, position, policy, seq } of own) {
    const event = eventsOf.get(id)?.[seq - 1]
    const data = JSON.parse(event?.data ?? '{}') as Partial<EventData['child.spawned']>
    if (data.key !== key || data.position !== position || data.policy !== childPolicies[policy])
      yield `I22 child ${key} is not what event ${seq} says (${event?.type ?? 'none'})`
    const child = tasks.find((it) => it.id === task)
    if (event?.type === 'child.spawned' && child?.parent !== id)
      yield `I22 child ${key} is task ${task} of parent ${String(child?.parent)}`
  }
  const parentId = (JSON.parse(eventsOf.get(id)?.[0]?.data ?? '{}') as { parentId?: string }).parentId
  if ((parent === null) !== (parentId === undefined))
    yield `I16 parent is ${String(parent)}, its events say ${String(parentId)}`
}

/** I16: what an approval waits with is what its request said. */
function* termsRules({ waits, eventsOf }: Tables, id: number): Iterable<string> {
  for (const { task, key, terms } of waits) {
    if (task !== id || terms === null) continue
    const { request, asked, maxRetries, onReject, onTimeout } = JSON.parse(terms) as ApprovalTerms
    const asks = (eventsOf.get(id) ?? []).filter(
      ({ type, data }) => type === 'approval.requested' && (JSON.parse(data) as { key: string }).key === key,
    )
    const said = JSON.parse(asks.at(-1)?.data ?? '{}') as Partial<EventData['approval.requested']>
    if (asks.at(-1)?.seq !== request || said.asked !== asked || said.maxRetries !== maxRetries)
      yield `I16 approval '${key}' waits with ${terms}, its last request is ${asks.at(-1)?.seq}: ${canonical(said)}`
    if (!rejectionPolicies.includes(onReject) || !approvalTimeouts.includes(onTimeout))
      yield `I16 approval '${key}' waits with policies that do not exist: ${terms}`
  }
}

function lastQueuing(events: readonly EventRow[]): EventRow | undefined {
  return events.findLast(
    ({ type }) => type === 'task.queued' || type === 'task.requeued' || type === 'task.resumed',
  )
}

/** I14, I17, I19: every counter is a count. */
function* counterRules({ tasks, streams, quotas, keys, totals, eventsOf, events }: Tables): Iterable<string> {
  const count = (state: TaskState) => tasks.filter((task) => taskStates[task.state] === state).length
  for (const stream of streams) {
    const queued = tasks.filter((task) => task.stream === stream.id && taskStates[task.state] === 'queued')
    const delayed = queued.filter(({ due_at }) => due_at !== null).length
    if (stream.depth !== queued.length - delayed || stream.delayed !== delayed)
      yield `I14 stream ${stream.id} counts ${stream.depth} and ${stream.delayed} delayed, ${queued.length} are queued, ${delayed} of them delayed`
  }
  const reasons = events.flatMap(({ type, data }) =>
    type === 'task.requeued' ? [(JSON.parse(data) as EventData['task.requeued']).reason] : [],
  )
  const poisoned = events.filter(
    ({ type, data }) =>
      type === 'task.failed' &&
      ['poisoned', 'lease_lost'].includes((JSON.parse(data) as { kind: string }).kind),
  ).length
  const expected: Record<string, number> = {
    submitted: tasks.length - count('rejected'),
    completed: count('completed'),
    failed: count('failed'),
    canceled: count('canceled'),
    running: count('running'),
    waiting: count('waiting'),
    requeued: reasons.length,
    expired: reasons.filter((reason) => reason === 'expired' || reason === 'owner_dead').length + poisoned,
    preempted: reasons.filter((reason) => reason === 'yielded').length,
  }
  for (const [name, number] of Object.entries(expected))
    if (totals[name] !== number) yield `I16 totals.${name} is ${totals[name]}, counted ${number}`
  const rejectedKept = (totals['rejected'] ?? 0) - (totals['rejected_pruned'] ?? 0)
  if (rejectedKept !== count('rejected'))
    yield `I16 ${rejectedKept} rejected should be kept, ${count('rejected')} are`

  for (const { key, queued, running } of quotas) {
    const holders = tasks.filter((task) => {
      const stream = streams.find(({ id }) => id === task.stream)
      return stream !== undefined && (JSON.parse(stream.quota_keys) as string[]).includes(key)
    })
    const held = (state: TaskState) => holders.filter((task) => taskStates[task.state] === state).length
    if (queued !== held('queued') || running !== held('running'))
      yield `I19 quota ${key} counts ${queued} and ${running}, held by ${held('queued')} and ${held('running')}`
  }
  const bound = new Map(
    tasks.flatMap(({ id }) => {
      const { idempotencyKey } = JSON.parse(eventsOf.get(id)?.[0]?.data ?? '{}') as {
        idempotencyKey?: string
      }
      return idempotencyKey === undefined ? [] : [[idempotencyKey, id] as const]
    }),
  )
  if (bound.size !== keys.length) yield `I17 ${keys.length} keys are bound, ${bound.size} were used`
  for (const { key, task } of keys)
    if (bound.get(key) !== task) yield `I17 key ${key} is bound to task ${task}`
}

/** The journal has every event once, its numbers have no gap, and its chain holds. */
function* journalRules({ journal, eventsOf, events }: Tables): Iterable<string> {
  let tail: Buffer = Buffer.alloc(32)
  let seen = 0
  for (const [index, { number, at, touched, hash }] of journal.entries()) {
    if (number !== index + 1) yield `the journal has number ${number} in place ${index + 1}`
    const digest = createHash('sha256').update(tail).update(`ku0.journal.1\n${number}\n${at}\n`)
    let isPruned = false
    for (const event of stretches(touched, eventsOf)) {
      if (event === undefined) isPruned = true
      else digest.update(event.hash)
      seen += event === undefined ? 0 : 1
    }
    const own = digest.digest()
    if (!isPruned && !own.equals(hash)) yield `the journal's chain breaks at ${number}`
    tail = hash
  }
  if (seen !== events.length) yield `the journal names ${seen} events, there are ${events.length}`
}

function* stretches(touched: string, eventsOf: Tables['eventsOf']): Iterable<EventRow | undefined> {
  for (const [task, first, last] of JSON.parse(touched) as [number, number, number][])
    for (let seq = first; seq <= last; seq++) yield eventsOf.get(task)?.[seq - 1]
}

/** I13: at the depth that each submission met, it was rightly accepted or refused. */
function* admissionRules(
  { journal, eventsOf, tasks, streams }: Tables,
  config: ExecutionConfig,
): Iterable<string> {
  const queued = new Map<number, number>()
  const depthAt = (now: number) => {
    let depth = 0
    for (const dueAt of queued.values()) if (dueAt <= now) depth += 1
    return depth
  }
  const laneOf = new Map(
    tasks.map((task) => [
      task.id,
      (['interactive', 'normal', 'batch'] as Lane[])[
        streams.find(({ id }) => id === task.stream)?.lane_rank ?? 0
      ],
    ]),
  )
  for (const { number, touched } of journal)
    for (const event of stretches(touched, eventsOf)) {
      if (event === undefined) continue
      const {
        dueAt = 0,
        reason,
        held,
      } = JSON.parse(event.data) as {
        dueAt?: number
        reason?: string
        held?: true
      }
      const isSubmission = event.type === 'task.queued' || event.type === 'task.rejected'
      const depth = isSubmission ? depthAt(event.at) : 0
      if (event.type === 'task.queued' && dueAt <= event.at && held !== true) {
        if (depth >= config.queueDepthLimit)
          yield `I13 commit ${number} accepted task ${event.task} at depth ${depth}`
        if (depth >= config.batchBackpressureThreshold && laneOf.get(event.task) === 'batch')
          yield `I13 commit ${number} accepted batch task ${event.task} at depth ${depth}`
      }
      if (
        event.type === 'task.rejected' &&
        reason === 'backpressure' &&
        depth < config.batchBackpressureThreshold
      )
        yield `I13 commit ${number} refused task ${event.task} by backpressure at depth ${depth}`
      if (event.type === 'task.queued' || event.type === 'task.requeued' || event.type === 'task.resumed')
        queued.set(event.task, dueAt)
      else if (leavesQueue.has(event.type)) queued.delete(event.task)
    }
}

/** A task that fails in the queue did so for its budget. */
const leavesQueue: ReadonlySet<string> = new Set(['task.started', 'task.canceled', 'task.failed'])

/** What is named exists: blobs, checkpoints, output, processes. */
function* referenceRules({
  events,
  blobs,
  checkpoints,
  outputs,
  processes,
  workers,
  leases,
  eventsOf,
}: Tables): Iterable<string> {
  for (const { task, seq, data, blob } of events) {
    if (blob === null) continue
    const text = blobs.get(blob)
    if (text === undefined || createHash('sha256').update(text).digest('hex') !== blob)
      yield `event ${task}:${seq} names blob ${blob}, which is not there or another`
    else if (!data.includes(blobReference(blob, text.length)))
      yield `event ${task}:${seq} has no reference to its blob`
  }
  const used = new Set(events.map(({ blob }) => blob))
  for (const sha256 of blobs.keys()) if (!used.has(sha256)) yield `blob ${sha256} belongs to nothing`
  for (const { task, seq, data } of checkpoints) {
    const last = eventsOf.get(task)?.findLast(({ type }) => type === 'checkpoint.created')
    const { hash } = JSON.parse(last?.data ?? '{}') as { hash?: string }
    if (last?.seq !== seq || hash !== createHash('sha256').update(data).digest('hex'))
      yield `the checkpoint of task ${task} is not that of its last event`
  }
  for (const [index, { task, seq }] of outputs.entries()) {
    const before = outputs[index - 1]
    if (seq !== (before?.task === task ? before.seq + 1 : 1)) yield `output ${task}:${seq} leaves a gap`
  }
  const open = new Set(processes.filter(({ ended_at }) => ended_at === null).map(({ id }) => id))
  if (open.size > 0) yield `processes ${[...open].join(', ')} have not ended`
  for (const { process, registered } of workers)
    if (registered === 1 && !open.has(process))
      yield `a worker of process ${process} is registered, which has ended`
  const known = new Set(processes.map(({ id }) => id))
  for (const { id, process } of leases)
    if (!known.has(process)) yield `lease ${id} belongs to process ${process}`
}

function withBlob({ data, blob }: EventRow, blobs: Tables['blobs']): string {
  const text = blob === null ? undefined : blobs.get(blob)
  return blob === null || text === undefined
    ? data
    : data.replace(blobReference(blob, text.length), () => text)
}

import {
  addUse,
  fieldOver,
  runKeyOf,
  noUse,
  type BudgetUse,
  type Submission,
  type Write,
} from '@ku0/agent-runtime-core'
import {
  childKey,
  evaluationKey,
  type BudgetRow,
  type LeaseRow,
  type UsageRow,
} from '@ku0/agent-runtime-core/transition'
import type { Cache } from './cache.ts'
import type { SqliteTables } from './sqlite/tables.ts'

// What a flush will touch is read before anything is folded: each of these puts rows into the cache, unless they are there.

export function loadHeads(tables: SqliteTables, cache: Cache, stream: number, limit: number): void {
  const after = cache.heads.get(stream)?.upTo ?? 0
  const found = tables.load.heads(stream, after, limit)
  const rows = found.map(({ task }) => task)
  for (const { task, submission } of found)
    if (submission !== null) cache.submissions.set(task.id, submission)
  const complete = rows.length < limit
  cache.addHeads(stream, {
    rows,
    upTo: complete ? Number.MAX_SAFE_INTEGER : (rows.at(-1)?.id ?? after),
    complete,
  })
}

/** One head of each of these streams: of clients there may be many, and each has few tasks that are next. */
export function loadFirstHeads(tables: SqliteTables, cache: Cache, streams: readonly number[]): void {
  const after = new Map(streams.map((stream) => [stream, cache.heads.get(stream)?.upTo ?? 0]))
  for (const { task, submission } of tables.load.firstHeads([...after])) {
    const { stream } = task
    if (stream === null) continue
    if (submission !== null) cache.submissions.set(task.id, submission)
    cache.addHeads(stream, { rows: [task], upTo: task.id, complete: false })
    after.delete(stream)
  }
  for (const stream of after.keys())
    cache.addHeads(stream, { rows: [], upTo: Number.MAX_SAFE_INTEGER, complete: true })
}

/** Loads what the operations name, as far as it is not kept. */
export function loadNamed(tables: SqliteTables, cache: Cache, operations: readonly Write[]): void {
  // Whether they have begun decides on what their routes take.
  for (const { probe } of cache.circuits.values()) if (probe !== null) loadNumbered(tables, cache, probe)
  for (const operation of operations) {
    switch (operation.kind) {
      case 'submit':
        for (const task of operation.tasks) {
          if (task.idempotencyKey !== undefined) loadKey(tables, cache, task.idempotencyKey)
          if (task.taskId !== undefined) loadExplicit(tables, cache, task.taskId)
          loadAgent(tables, cache, task)
        }
        break
      case 'startLease':
        if (operation.submission.taskId !== undefined)
          loadExplicit(tables, cache, operation.submission.taskId)
        loadAgent(tables, cache, operation.submission)
        break
      case 'closeSwarm':
        loadAgents(tables, cache, agentsOf(cache, operation.name))
        break
      case 'fork':
        loadHistory(tables, cache, operation.taskId)
        if (operation.change.taskId !== undefined) loadExplicit(tables, cache, operation.change.taskId)
        if (operation.change.idempotencyKey !== undefined)
          loadKey(tables, cache, operation.change.idempotencyKey)
        break
      case 'putSchedule':
        cache.scheduleCount = tables.load.scheduleCount()
        loadSchedule(tables, cache, operation.name)
        break
      case 'fireSchedule':
        for (const dueAt of operation.runs) loadKey(tables, cache, runKeyOf(operation.name, dueAt))
        loadSchedule(tables, cache, operation.name)
        break
      case 'pauseSchedule':
      case 'resumeSchedule':
      case 'removeSchedule':
      case 'triggerSchedule':
        loadSchedule(tables, cache, operation.name)
        break
      case 'evaluate':
        loadEvaluation(tables, cache, operation)
        break
      case 'cancel': {
        const task = loadTask(tables, cache, operation.taskId)
        if (task !== undefined) loadFamily(tables, cache, task)
        break
      }
      case 'answerBudget': {
        const task = loadTask(tables, cache, operation.taskId)
        if (task !== undefined) loadTrees(tables, cache, task)
        break
      }
      case 'signal':
      case 'resolveApproval':
      case 'resume':
        loadTask(tables, cache, operation.taskId)
        break
      case 'putClient':
      case 'removeClient':
        loadClient(tables, cache, operation.name)
        break
      case 'observeRoute':
      case 'putSwarm':
      case 'registerWorkers':
      case 'drainWorkers':
      case 'removeWorkers':
        break
      default: {
        const lease = loadLease(tables, cache, operation.leaseId)
        if (lease === undefined) break
        if (operation.kind === 'recordStep') loadMemo(tables, cache, lease.task, operation.key)
        loadWaits(tables, cache, lease.task)
        // One that begins may be over at once.
        if (operation.kind === 'suspend' && operation.waits.some(({ kind }) => kind === 'approval'))
          loadVerdicts(tables, cache, lease.task)
        if (operation.kind === 'suspend') loadSignalValues(tables, cache, lease.task, operation.waits)
        if (operation.kind === 'spawn') {
          loadChild(tables, cache, lease.task, operation.key)
          if (operation.submission.taskId !== undefined)
            loadExplicit(tables, cache, operation.submission.taskId)
        }
        if (operation.kind === 'settle' || operation.kind === 'report') loadFamily(tables, cache, lease.task)
        if (operation.kind === 'settle' && operation.settlement.as === 'failed' && operation.settlement.spent)
          loadTree(tables, cache, lease.task)
        if ('backOff' in operation) loadNaming(tables, cache, operation.backOff?.keys ?? [])
        if ('dropsChildren' in operation) loadDescendants(tables, cache, lease.task)
        if (operation.kind === 'appendOutput' && !cache.outputs.has(lease.task))
          cache.outputs.set(lease.task, tables.load.outputs(lease.task))
        if (operation.kind === 'settle' && lease.endSeq !== null)
          loadEvent(tables, cache, lease.task, lease.endSeq)
      }
    }
  }
}

/** All of them are kept where there are shares. */
function loadClient(tables: SqliteTables, cache: Cache, name: string): void {
  if (cache.clients.has(name)) return
  cache.next.client = Math.max(cache.next.client, tables.load.nextClient())
  const row = tables.load.client(name)
  if (row !== undefined) cache.clients.set(name, row)
}

/** The living agents of a swarm, in the order in which they would be shed. */
function agentsOf(cache: Cache, swarm: string): readonly UsageRow[] {
  return [...cache.usages.values()]
    .filter((usage) => usage.swarm === swarm)
    .toSorted((a, b) => b.laneRank - a.laneRank || b.order - a.order)
}

function loadAgents(tables: SqliteTables, cache: Cache, agents: readonly UsageRow[]): void {
  for (const { task } of agents) {
    loadNumbered(tables, cache, task)
    loadFamily(tables, cache, task)
  }
}

/** The one that has the name already. */
function loadAgent(tables: SqliteTables, cache: Cache, { swarm, agent }: Submission): void {
  if (swarm === undefined) return
  const taken = agentsOf(cache, swarm).find((usage) => usage.agent === agent)
  if (taken !== undefined) loadNumbered(tables, cache, taken.task)
}

/** What agents report may cost others their lives: one for each report, and others may have ended before. `ending`: by the store itself. */
export function loadSheddable(
  tables: SqliteTables,
  cache: Cache,
  operations: readonly Write[],
  ending: number,
): void {
  if (cache.swarms.size === 0) return
  const swarms = new Set<string>()
  for (const operation of operations) {
    if (operation.kind !== 'report') continue
    const lease = loadLease(tables, cache, operation.leaseId)
    const swarm = lease === undefined ? null : (cache.usages.get(lease.task)?.swarm ?? null)
    if (swarm !== null) swarms.add(swarm)
  }
  const most = operations.length + ending
  for (const swarm of swarms) loadAgents(tables, cache, agentsOf(cache, swarm).slice(0, most))
}

/** A key that was never blocked may be one that nothing limits, and that no stream has. */
function loadNaming(tables: SqliteTables, cache: Cache, keys: readonly string[]): void {
  const fresh = keys.filter(
    (key) => (cache.quotas.get(key)?.blockedUntil ?? 0) === 0 && !cache.naming.has(key),
  )
  if (fresh.length === 0) return
  const naming = tables.load.naming(new Set(fresh))
  for (const key of fresh) {
    const tasks = naming.get(key) ?? []
    cache.naming.set(key, tasks)
    for (const task of tasks) if (!cache.tasks.has(task)) cache.lookUp(tables.load.task(task))
  }
}

/** With its last run, which may be under way. */
function loadSchedule(tables: SqliteTables, cache: Cache, name: string): void {
  const row = cache.schedules.get(name) ?? tables.load.schedule(name)
  if (row === undefined) return
  cache.schedules.set(name, row)
  if (row.lastTask !== null && !cache.tasks.has(row.lastTask)) cache.lookUp(tables.load.task(row.lastTask))
}

/** What its key stands for, and how many agents there are when it is the first of its own. */
function loadEvaluation(tables: SqliteTables, cache: Cache, { agentId, key }: Write<'evaluate'>): void {
  const { byKey, agents } = tables.load.evaluations
  const row = key === undefined ? undefined : byKey(agentId, key)
  if (key !== undefined && row !== undefined) cache.evaluations.set(evaluationKey(agentId, key), row)
  if (cache.reputationOf(agentId) === undefined) cache.agentCount = agents()
}

function loadHistory(tables: SqliteTables, cache: Cache, taskId: string): void {
  const number = loadTask(tables, cache, taskId)
  const task = number === undefined ? undefined : cache.tasks.get(number)
  if (task === undefined) return
  const { id } = task
  const fault = tables.faultOf(task)
  if (fault !== undefined) {
    cache.histories.set(id, { fault })
    return
  }
  const submission = tables.event(id, 1) ?? '{}'
  const [memos, doubts] = [tables.load.memos(id), tables.doubts(id)]
  cache.histories.set(id, { submission, memos, doubts, ...tables.load.failure(id) })
  for (const child of tables.load.children(id)) cache.childKeys.set(childKey(id, child.key), child)
}

function loadKey(tables: SqliteTables, cache: Cache, key: string): void {
  const row = tables.load.key(key)
  if (row === undefined) return
  cache.keys.set(key, row)
  if (!cache.tasks.has(row.task)) cache.lookUp(tables.load.task(row.task))
}

function loadExplicit(tables: SqliteTables, cache: Cache, taskId: string): void {
  const number = tables.load.explicit(taskId)
  if (number !== undefined) cache.explicitIds.set(taskId, number)
}

/** The number of the task. */
function loadTask(tables: SqliteTables, cache: Cache, taskId: string): number | undefined {
  loadExplicit(tables, cache, taskId)
  const number = cache.explicitIds.get(taskId) ?? tables.ids.taskNumber(taskId)
  if (number !== undefined) loadNumbered(tables, cache, number)
  return number
}

function loadNumbered(tables: SqliteTables, cache: Cache, number: number): void {
  if (!cache.tasks.has(number)) cache.lookUp(tables.load.task(number))
  loadWaits(tables, cache, number)
  const lease = cache.tasks.get(number)?.lease ?? null
  if (lease !== null && !cache.leases.has(lease)) cache.lookUp(undefined, tables.load.lease(lease))
}

function loadLease(tables: SqliteTables, cache: Cache, leaseId: string): LeaseRow | undefined {
  const number = tables.ids.leaseNumber(leaseId)
  if (number === undefined) return undefined
  const known = cache.leases.get(number)
  if (known !== undefined && cache.tasks.has(known.task)) return known
  const lease = known ?? tables.load.lease(number)
  if (lease !== undefined) lookUpLease(tables, cache, lease)
  return lease
}

export function lookUpLease(tables: SqliteTables, cache: Cache, lease: LeaseRow): void {
  cache.lookUp(cache.tasks.has(lease.task) ? undefined : tables.load.task(lease.task), lease)
  loadWaits(tables, cache, lease.task)
}

/** What the end of a task touches: its parent hears of it, and what is below it may end too. */
export function loadFamily(tables: SqliteTables, cache: Cache, task: number): void {
  const parent = cache.tasks.get(task)?.parent ?? null
  if (parent !== null) loadNumbered(tables, cache, parent)
  loadDescendants(tables, cache, task)
}

/** Open children, and theirs, as far as they end with the task. */
function loadDescendants(tables: SqliteTables, cache: Cache, task: number): void {
  const stack = [task]
  for (let next = stack.pop(); next !== undefined; next = stack.pop())
    for (const child of cache.children.get(next)?.values() ?? []) {
      if (child.policy !== 'cancel') continue
      loadNumbered(tables, cache, child.task)
      stack.push(child.task)
    }
}

function loadChild(tables: SqliteTables, cache: Cache, parent: number, key: string): void {
  const child = tables.load.child(parent, key)
  if (child === undefined) return
  cache.childKeys.set(childKey(parent, key), child)
  loadNumbered(tables, cache, child.task)
}

/** The budgets that a task draws on, with the tasks that they were given to. Most tasks have none, and their row says so. */
export function loadBudgets(tables: SqliteTables, cache: Cache, budget: number | null): void {
  let next = budget
  while (next !== null && !cache.budgets.has(next)) {
    const row = tables.load.budget(next)
    if (row === undefined) return
    cache.budgets.set(next, row)
    if (!cache.tasks.has(next)) cache.lookUp(tables.load.task(next))
    next = row.above
  }
}

/** Budgets whose wall time has reached a line, with all that may end of it. Nothing is asked of the tables before the first is due. */
export function loadDueBudgets(
  tables: SqliteTables,
  cache: Cache,
  at: number,
  limit: number,
): readonly BudgetRow[] {
  if (cache.budgetAt === undefined || cache.budgetAt > at) return []
  const due = tables.load.budgetsDue(at, limit)
  for (const { task } of due) {
    loadNumbered(tables, cache, task)
    loadTree(tables, cache, task)
  }
  return due
}

/** Where what is used in this flush may cross a hard line, all that may end of it is loaded. */
export function loadCrossings(tables: SqliteTables, cache: Cache, operations: readonly Write[]): void {
  if (cache.budgets.size === 0) return
  const spending = new Map<number, { use: BudgetUse; readonly by: Set<number> }>()
  for (const operation of operations) {
    const charged = 'charged' in operation ? operation.charged : undefined
    const steps = operation.kind === 'recordStep' ? 1 : 0
    if (!('leaseId' in operation) || (charged === undefined && steps === 0)) continue
    const number = tables.ids.leaseNumber(operation.leaseId)
    const lease = number === undefined ? undefined : cache.leases.get(number)
    const task = lease === undefined ? undefined : cache.tasks.get(lease.task)
    if (task === undefined) continue
    for (let next = task.budget; next !== null; next = cache.budgets.get(next)?.above ?? null) {
      const known = spending.get(next) ?? { use: noUse, by: new Set<number>() }
      known.use = addUse(known.use, { tokens: 0, money: 0, cost: 0, ...charged, steps })
      known.by.add(task.id)
      spending.set(next, known)
    }
  }
  for (const [budget, { use, by }] of spending) {
    const row = cache.budgets.get(budget)
    if (row === undefined || fieldOver(row.limits, addUse(row.used, use)) === undefined) continue
    // Where its task is over, those that outlived it end by themselves.
    for (const task of [budget, ...by]) loadTree(tables, cache, task)
  }
}

/** What the end of a task for its budget touches: what its own end does, and what it had done by then. */
function loadTree(tables: SqliteTables, cache: Cache, task: number): void {
  loadWaits(tables, cache, task)
  loadNumbered(tables, cache, task)
  loadFamily(tables, cache, task)
  const known = cache.histories.get(task)
  const memos = known === undefined || 'fault' in known ? tables.load.memos(task) : known.memos
  if (known === undefined)
    cache.histories.set(task, { submission: '', memos, doubts: [], failedOf: [], lastFailure: 0 })
  for (const { blob } of memos) if (blob !== null) cache.blobs.set(blob, tables.load.blob(blob) ?? '')
}

/** What the answer to a budget may resume or end. */
function loadTrees(tables: SqliteTables, cache: Cache, task: number): void {
  let next = cache.tasks.get(task)?.budget ?? null
  while (next !== null) {
    const row = cache.budgets.get(next)
    if (row?.asked) {
      loadTree(tables, cache, next)
      const parked = tables.load.parked(next)
      cache.parked.set(next, parked)
      for (const id of parked) loadTree(tables, cache, id)
    }
    next = row?.above ?? null
  }
}

/** Most tasks have none, and their row says so. */
export function loadWaits(tables: SqliteTables, cache: Cache, task: number): void {
  loadBudgets(tables, cache, cache.tasks.get(task)?.budget ?? null)
  if ((cache.tasks.get(task)?.waits ?? 0) === 0 || cache.waits.has(task)) return
  const waits = tables.load.waits(task)
  cache.waits.set(task, waits)
  cache.signals.set(task, tables.load.signals(task))
  const children = tables.load.openChildren(task)
  if (children.length > 0) cache.children.set(task, new Map(children.map((child) => [child.task, child])))
  if (waits.some(({ kind }) => kind === 'approval')) loadVerdicts(tables, cache, task)
}

/** A rejection makes the memos and children since the last approval void, whichever they are, or ends the task. */
function loadVerdicts(tables: SqliteTables, cache: Cache, task: number): void {
  if (cache.verdicts.has(task)) return
  cache.verdicts.set(task, tables.load.verdicts(task))
  loadMemos(tables, cache, task)
  for (const child of tables.load.children(task)) {
    cache.childKeys.set(childKey(task, child.key), child)
    loadNumbered(tables, cache, child.task)
  }
  loadFamily(tables, cache, task)
}

/** What may be taken now: those that an open wait, or one that is asked for, is for. */
function loadSignalValues(
  tables: SqliteTables,
  cache: Cache,
  task: number,
  asked: readonly { readonly name?: string | null }[],
): void {
  const unread = cache.signals.get(task) ?? []
  if (unread.length === 0) return
  const names = new Set([...(cache.waits.get(task) ?? []), ...asked].map(({ name }) => name))
  const signals = unread.map((signal) =>
    signal.value === null && names.has(signal.name) ? tables.load.signalValue(signal) : signal,
  )
  cache.signals.set(task, signals)
  for (const { blob } of signals) if (blob !== null) cache.blobs.set(blob, tables.load.blob(blob) ?? '')
}

function loadMemo(tables: SqliteTables, cache: Cache, task: number, key: string): void {
  const seq = loadMemos(tables, cache, task)?.get(key) ?? 0
  if (seq > 0) loadEvent(tables, cache, task, seq)
}

function loadMemos(
  tables: SqliteTables,
  cache: Cache,
  task: number,
): ReadonlyMap<string, number> | undefined {
  const known = cache.memos.get(task)
  if (known !== undefined || (cache.tasks.get(task)?.steps ?? 0) === 0) return known
  const memos = tables.load.memoKeys(task)
  cache.memos.set(task, memos)
  return memos
}

function loadEvent(tables: SqliteTables, cache: Cache, task: number, seq: number): void {
  const event = tables.event(task, seq)
  if (event !== undefined) cache.events.set(`${task}:${seq}`, event)
}

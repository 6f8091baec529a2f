import { type Claim, type OutcomeOf, type Write, type WriteKind } from '@ku0/agent-runtime-core'
import {
  beginBudgets,
  ClaimRound,
  flushRank,
  fold,
  lastRank,
  leftOf,
  promote,
  promoteBudgets,
  renew,
  sweep,
  takeOver,
  WorkingSet,
  type Demander,
  type Grant,
  type Instant,
  type LeaseRow,
  type Surroundings,
} from '@ku0/agent-runtime-core/transition'
import type { Cache } from './cache.ts'
import {
  loadBudgets,
  loadCrossings,
  loadDueBudgets,
  loadFamily,
  loadFirstHeads,
  loadHeads,
  loadNamed,
  loadSheddable,
  loadWaits,
  lookUpLease,
} from './load-rows.ts'
import type { SqliteTables } from './sqlite/tables.ts'

/** What one flush is to do, besides what is always done. */
export interface FlushWork {
  readonly operations: readonly Write[]
  /** Extend this process's leases and show its workers alive. */
  readonly renew: boolean
  /** Leases whose handlers were told that they are lost: they are not renewed any more, and so expire. */
  readonly abandoned: ReadonlySet<number>
  /** Processes proven gone: their leases end. */
  readonly gone: readonly number[]
  /** By worker: how many tasks it may have been given in all, and how many it was given. */
  readonly demand: ReadonlyMap<string, Credit>
  /** How far ahead to read the heads of a stream. */
  readonly readAhead: number
}

export interface Credit {
  readonly credit: number
  readonly given: number
}

export interface Flushed {
  readonly outcomes: readonly OutcomeOf<WriteKind>[]
  readonly claims: readonly Claim[]
  readonly ws: WorkingSet
  /** Whether anything was written. */
  readonly wrote: boolean
}

/** Lapsed leases and due tasks handled in one flush; more of them follow in the next. */
const sweepLimit = 1000

/**
 * One flush, inside the store's transaction: lapsed leases swept, due tasks promoted, operations folded by rank, freed slots
 * filled; each final row written once, one journal row. Throws as the database does; nothing has happened then.
 * Source: `docs/ARCHITECTURE.md`, A flush.
 */
export function flush(
  tables: SqliteTables,
  cache: Cache,
  around: Surroundings,
  now: Instant,
  work: FlushWork,
): Flushed {
  const { load } = tables
  loadNamed(tables, cache, work.operations)
  const lapsed = load.lapsed(now.leaseAt, sweepLimit)
  const due = load.due(now.at, sweepLimit)
  const orphans = work.gone.flatMap((process) => load.running(process))
  for (const lease of [...lapsed, ...orphans]) {
    lookUpLease(tables, cache, lease)
    loadFamily(tables, cache, lease.task)
  }
  for (const task of due) {
    cache.lookUp(task)
    loadWaits(tables, cache, task.id)
  }
  loadSheddable(tables, cache, work.operations, lapsed.length + orphans.length)

  const dueBudgets = loadDueBudgets(tables, cache, now.at, sweepLimit)
  loadCrossings(tables, cache, work.operations)

  const ws = new WorkingSet(cache, now, around)
  takeOver(ws, orphans)
  sweep(ws, lapsed)
  promote(ws, due)
  if (dueBudgets.length > 0) promoteBudgets(ws, dueBudgets)
  if (work.renew) renew(ws, kept(cache, work.abandoned), cache.workers.values())
  const outcomes = foldByRank(ws, work.operations, cache)
  const grants = claim(tables, cache, ws, work)
  const yields = beginGranted(tables, cache, ws, grants)

  const wrote = hasChanges(ws)
  const submissions = freshSubmissions(tables, ws, grants)
  for (const { task } of grants) {
    const known = cache.submissions.get(task.id)
    if (known !== undefined) submissions.set(task.id, known)
    cache.submissions.delete(task.id)
  }
  const claims = grants.map((grant) => claimOf(tables, ws, grant, submissions, yields))
  if (wrote) tables.write(ws, work.operations.length > 0)
  return { outcomes, claims, ws, wrote }
}

function kept(cache: Cache, abandoned: ReadonlySet<number>): Iterable<LeaseRow> {
  if (abandoned.size === 0) return cache.running.values()
  return [...cache.running.values()].filter(({ id }) => !abandoned.has(id))
}

function foldByRank(ws: WorkingSet, operations: readonly Write[], cache: Cache): OutcomeOf<WriteKind>[] {
  const outcomes: OutcomeOf<WriteKind>[] = Array.from({ length: operations.length })
  for (let rank = 0; rank <= lastRank; rank++)
    for (const [index, operation] of operations.entries())
      if (flushRank[operation.kind] === rank) outcomes[index] = fold(ws, operation, cache.running.values())
  return outcomes
}

function claim(tables: SqliteTables, cache: Cache, ws: WorkingSet, work: FlushWork): readonly Grant[] {
  const round = new ClaimRound(ws, demanders(ws, work.demand, cache.running.values()), cache.running)
  if (ws.depth === 0 || (round.freeSlots === 0 && !ws.config.preemption)) return round.grants
  for (let need = round.run(); need !== undefined; need = round.run()) {
    const byClient = need.filter((stream) => ws.stream(stream).client !== '')
    if (byClient.length > 0) loadFirstHeads(tables, cache, byClient)
    for (const stream of need)
      if (ws.stream(stream).client === '')
        loadHeads(tables, cache, stream, Math.max(work.readAhead, round.freeSlots))
    round.loaded(need)
  }
  round.preempt()
  return round.grants
}

/** This process's workers with their demand as of this flush. */
function demanders(
  ws: WorkingSet,
  demand: ReadonlyMap<string, Credit>,
  running: Iterable<LeaseRow>,
): Demander[] {
  const found: Demander[] = []
  const live = liveByWorker(ws, running)
  const rows = new Map([...ws.base.workers, ...ws.workers])
  for (const row of rows.values()) {
    const credit = demand.get(row.workerId)
    if (!row.registered || row.process !== ws.base.process || credit === undefined) continue
    const free = Math.max(0, credit.credit - credit.given)
    found.push({
      worker: row.id,
      workerId: row.workerId,
      capacity: row.capacity,
      inFlight: Math.max(0, row.capacity - free, live.get(row.id) ?? 0),
      lastSeenAt: row.lastSeenAt,
      draining: row.draining,
      types: row.types,
    })
  }
  return found
}

/** Live leases by worker: a worker never holds more than its capacity, whatever was demanded. */
function liveByWorker(ws: WorkingSet, running: Iterable<LeaseRow>): ReadonlyMap<number, number> {
  const live = new Map<number, number>()
  for (const { id, worker } of running)
    if (ws.lease(id)?.state === 'running') live.set(worker, (live.get(worker) ?? 0) + 1)
  return live
}

/** Tasks of a budget that were just claimed. */
function beginGranted(
  tables: SqliteTables,
  cache: Cache,
  ws: WorkingSet,
  grants: readonly Grant[],
): ReadonlySet<number> {
  if (grants.every(({ task }) => task.budget === null)) return noTasks
  const tasks = grants.map(({ task }) => task)
  for (const { budget } of tasks) loadBudgets(tables, cache, budget)
  return beginBudgets(ws, tasks)
}

function hasChanges(ws: WorkingSet): boolean {
  return (
    ws.events.length > 0 ||
    ws.tasks.size > 0 ||
    ws.leases.size > 0 ||
    ws.workers.size > 0 ||
    ws.outputs.length > 0 ||
    ws.schedules.size > 0 ||
    ws.clients.size > 0 ||
    ws.droppedClients.size > 0 ||
    ws.evaluations.length > 0 ||
    ws.circuits.size + ws.usages.size + ws.swarms.size > 0 ||
    ws.budgets.size > 0 ||
    ws.quotas.size > 0 ||
    ws.checkpoints.size > 0
  )
}

function claimOf(
  tables: SqliteTables,
  ws: WorkingSet,
  { task, lease, workerId }: Grant,
  submissions: ReadonlyMap<number, string>,
  yields: ReadonlySet<number>,
): Claim {
  const stream = ws.stream(task.stream as number)
  const fresh = ws.checkpoints.get(task.id)?.data
  const checkpoint = fresh ?? (lease.fence > 1 ? tables.checkpoint(task.id) : undefined)
  const usage = ws.usage(task.id)
  return {
    taskId: task.explicitId ?? ws.ids.task(task.id),
    leaseId: ws.ids.lease(lease.id),
    workerId,
    sequence: task.id,
    type: stream.type,
    lane: laneOf(stream.laneRank),
    attempt: task.attempt,
    crashes: task.crashes,
    fencingToken: lease.fence,
    dispatch: lease.id,
    acquiredAt: lease.acquiredAt,
    expiresAt: lease.expiresAt,
    steps: task.steps,
    replays: task.seq > 2,
    submission: submissions.get(task.id) ?? tables.event(task.id, 1) ?? '{}',
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...(yields.has(task.id) ? { yields: true } : {}),
    ...(usage === undefined || usage.swarm === null ? {} : { left: leftOf(ws, usage) }),
  }
}

function laneOf(rank: number): Claim['lane'] {
  return rank === 0 ? 'interactive' : rank === 1 ? 'normal' : 'batch'
}

/** The submissions among the grants that are not in the tables yet, since they came in this very flush. */
function freshSubmissions(
  tables: SqliteTables,
  ws: WorkingSet,
  grants: readonly Grant[],
): Map<number, string> {
  const fresh = new Map<number, string>()
  if (!grants.some((grant) => grant.task.id >= ws.base.next.task)) return fresh
  for (const { task, seq, data, blob } of ws.events)
    if (seq === 1)
      fresh.set(task, blob === null ? data : tables.withBlob(data, blob, ws.blobs.get(blob) ?? ''))
  return fresh
}

const noTasks: ReadonlySet<number> = new Set()

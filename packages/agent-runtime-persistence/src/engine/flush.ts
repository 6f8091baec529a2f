import { type Claim, type OutcomeOf, type Write, type WriteKind } from '@ku0/agent-runtime-core'
import {
  beginBudgets,
  blobReference,
  ClaimRound,
  fold,
  foldOrder,
  isOwn,
  leftOf,
  NeedsRound,
  promote,
  promoteBudgets,
  removeGone,
  renew,
  settleSupervisors,
  sweep,
  takeOver,
  openWorkingSet,
  type WorkingSet,
  type Demander,
  type Duties,
  type Grant,
  type Instant,
  type LeaseRow,
  type Surroundings,
  type WorkerRow,
} from '@ku0/agent-runtime-core/transition'
import type { Cache } from './cache.ts'
import type { Database } from './database.ts'
import type { LineAnswers, LineCall, Recalled } from './line-answers.ts'
import { got, type Steps } from './steps.ts'

/** What one flush is to do, besides what is always done. */
export interface FlushWork {
  readonly operations: readonly Write[]
  /** Of each operation: which call of a line it is. */
  readonly calls: readonly (LineCall | undefined)[]
  /** Extend this process's leases and show its workers alive. */
  readonly renew: boolean
  /** Leases whose handlers were told that they are lost: they are not renewed any more, and so expire. */
  readonly abandoned: ReadonlySet<number>
  /** Workers of this process that another one has unregistered, since it took this process for dead: they are registered again. */
  readonly returning: readonly WorkerRow[]
  /** Processes proven gone: their leases end. */
  readonly gone: readonly number[]
  /** By worker: how many tasks it may have been given in all, and how many it was given. */
  readonly demand: ReadonlyMap<string, Credit>
  /** How far ahead to read the heads of a stream. */
  readonly readAhead: number
  /** Whether nothing is written, whatever is decided. */
  readonly looks: boolean
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
 * One flush, inside the store's transaction: what it needs is loaded, then lapsed leases swept, due tasks promoted, operations folded
 * by rank, freed slots filled; each final row written once, one journal row. Throws as the database does; nothing has happened then.
 * Source: `docs/ARCHITECTURE.md`, A flush.
 */
export function* flush(
  db: Database,
  cache: Cache,
  around: Surroundings,
  now: Instant,
  given: FlushWork,
  lines: LineAnswers,
): Steps<Flushed> {
  const recalled = yield* lines.recall(given.calls)
  const work = withoutKnown(given, recalled)
  const { gone, operations } = work
  const budgets = cache.budgetAt !== undefined && cache.budgetAt <= now.at
  const duties = yield* got(db.duties({ ...now, gone, limit: sweepLimit, budgets }))
  cache.takeDuties(duties)
  const needs = new NeedsRound(cache, around.ids, operations, duties)
  for (let wanted = needs.run(); wanted !== undefined; wanted = needs.run())
    cache.take(yield* got(db.load(wanted)))

  let decided = yield* decide(db, cache, around, now, work, duties, needs)
  // What was decided without knowing where an agent stands is decided again: nothing has come of it yet.
  while (cache.unknownAgents.size > 0) {
    cache.take(yield* got(db.load({ reputations: [...cache.unknownAgents] })))
    decided = yield* decide(db, cache, around, now, work, duties, needs)
  }
  const { ws, grants, yields } = decided
  const outcomes = withKnown(given, decided.outcomes, recalled)
  const wrote = ws.hasChanges
  if (work.looks) return { outcomes, claims: noClaims, ws, wrote }
  const claims = grants.length === 0 ? noClaims : yield* claimsOf(db, cache, ws, grants, yields)
  if (wrote) {
    yield* got(db.apply(ws, operations.length > 0))
    yield* lines.keep(given.calls, outcomes, now.at)
  }
  return { outcomes, claims, ws, wrote }
}

/** The work without calls that were done before. */
function withoutKnown(work: FlushWork, { known, same }: Recalled): FlushWork {
  if (known.size + same.size === 0) return work
  const isLeft = (place: number) => !known.has(place) && !same.has(place)
  return {
    ...work,
    operations: work.operations.filter((_, place) => isLeft(place)),
    calls: work.calls.filter((_, place) => isLeft(place)),
  }
}

/** The outcomes of all calls, those too that were done before. */
function withKnown(
  { operations }: FlushWork,
  done: readonly OutcomeOf<WriteKind>[],
  { known, same }: Recalled,
): readonly OutcomeOf<WriteKind>[] {
  if (known.size + same.size === 0) return done
  const left = done[Symbol.iterator]()
  const outcomes: OutcomeOf<WriteKind>[] = []
  for (const place of operations.keys()) {
    const before = same.get(place)
    outcomes.push(
      before !== undefined ? outcomes[before] : known.has(place) ? known.get(place) : left.next().value,
    )
  }
  return outcomes
}

interface Decided {
  readonly ws: WorkingSet
  readonly outcomes: readonly OutcomeOf<WriteKind>[]
  readonly grants: readonly Grant[]
  /** Granted tasks that are to give way at once. */
  readonly yields: ReadonlySet<number>
}

/** Decides everything on a working set of its own; reads on only for what claims come to. */
function* decide(
  db: Database,
  cache: Cache,
  around: Surroundings,
  now: Instant,
  work: FlushWork,
  duties: Duties,
  needs: NeedsRound,
): Steps<Decided> {
  const ws = openWorkingSet(cache, now, around)
  takeOver(ws, duties.orphans)
  sweep(ws, duties.lapsed)
  promote(ws, duties.due)
  if (duties.budgets.length > 0) promoteBudgets(ws, duties.budgets)
  settleSupervisors(ws)
  if (work.returning.length > 0) renew(ws, [], work.returning)
  if (work.renew) renew(ws, kept(cache, work), presentWorkers(cache, work))
  const outcomes = foldByRank(ws, work.operations, cache)
  if (work.renew) removeGone(ws, cache.running.values())
  const grants = yield* claim(db, cache, ws, work)
  const hasBudgets = grants.some(({ task }) => task.budget !== null)
  const yields = hasBudgets ? yield* beginGranted(db, cache, ws, grants, needs) : noTasks
  return { ws, outcomes, grants, yields }
}

/** The leases to renew: not those that their handlers take for lost, nor those of workers whose line is silent. */
function kept(cache: Cache, { abandoned, demand }: FlushWork): Iterable<LeaseRow> {
  if (abandoned.size === 0 && cache.remote === undefined) return cache.running.values()
  const isPresent = ({ process, worker }: LeaseRow) =>
    process !== cache.remote || demand.has(cache.workers.get(worker)?.workerId ?? '')
  return [...cache.running.values()].filter((lease) => !abandoned.has(lease.id) && isPresent(lease))
}

/** A worker on a line is there while its demand stands. */
function presentWorkers(cache: Cache, { demand }: FlushWork): Iterable<WorkerRow> {
  if (cache.remote === undefined) return cache.workers.values()
  return [...cache.workers.values()].filter(
    ({ process, workerId }) => process !== cache.remote || demand.has(workerId),
  )
}

function foldByRank(ws: WorkingSet, operations: readonly Write[], cache: Cache): OutcomeOf<WriteKind>[] {
  const outcomes: OutcomeOf<WriteKind>[] = Array.from({ length: operations.length })
  for (const place of foldOrder(operations))
    outcomes[place] = fold(ws, operations[place] as Write, cache.running.values())
  return outcomes
}

function* claim(db: Database, cache: Cache, ws: WorkingSet, work: FlushWork): Steps<readonly Grant[]> {
  const round = new ClaimRound(ws, demanders(ws, work.demand, cache.running.values()), cache.running)
  if (ws.depth === 0 || (round.freeSlots === 0 && !ws.config.preemption)) return round.grants
  for (let need = round.run(); need !== undefined; need = round.run()) {
    const heads = need.map((stream) => ({
      stream,
      after: cache.heads.get(stream)?.upTo ?? 0,
      // Of clients there may be many, and each has few tasks that are next.
      limit: ws.stream(stream).client === '' ? Math.max(work.readAhead, round.freeSlots) : 1,
    }))
    cache.take(yield* got(db.load({ heads })))
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
  for (const row of ws.workers.all()) {
    const credit = demand.get(row.workerId)
    if (!row.registered || !isOwn(ws.base, row.process) || credit === undefined) continue
    const free = Math.max(0, credit.credit - credit.given)
    found.push({
      worker: row.id,
      workerId: row.workerId,
      capacity: row.capacity,
      inFlight: Math.max(0, row.capacity - free, live.get(row.id) ?? 0),
      lastSeenAt: row.lastSeenAt,
      draining: row.draining || row.drainAsked,
      types: row.types,
      lanes: row.lanes,
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
function* beginGranted(
  db: Database,
  cache: Cache,
  ws: WorkingSet,
  grants: readonly Grant[],
  needs: NeedsRound,
): Steps<ReadonlySet<number>> {
  const tasks = grants.map(({ task }) => task)
  const budgets = tasks.map(({ budget }) => budget)
  for (let wanted = needs.runForClaims(budgets); wanted !== undefined; wanted = needs.runForClaims(budgets))
    cache.take(yield* got(db.load(wanted)))
  return beginBudgets(ws, tasks)
}

/** What the holders of new leases are handed, with what is not known of it yet: submissions that were not read ahead, checkpoints. */
function* claimsOf(
  db: Database,
  cache: Cache,
  ws: WorkingSet,
  grants: readonly Grant[],
  yields: ReadonlySet<number>,
): Steps<readonly Claim[]> {
  const texts = freshSubmissions(ws, grants)
  const submissions: number[] = []
  const checkpoints: number[] = []
  for (const { task, lease } of grants) {
    const known = texts.get(task.id) ?? cache.submissions.get(task.id)
    if (known === undefined) submissions.push(task.id)
    else texts.set(task.id, known)
    cache.submissions.delete(task.id)
    if (lease.fence > 1 && !ws.checkpoints.has(task.id)) checkpoints.push(task.id)
  }
  const saved = new Map<number, string>()
  if (submissions.length + checkpoints.length > 0) {
    const found = yield* got(db.load({ submissions, checkpoints }))
    for (const [task, data] of found.submissions ?? []) texts.set(task, data)
    for (const [task, data] of found.checkpoints ?? []) saved.set(task, data)
  }
  return grants.map((grant) =>
    claimOf(ws, grant, {
      submission: texts.get(grant.task.id) ?? '{}',
      checkpoint: ws.checkpoints.get(grant.task.id)?.data ?? saved.get(grant.task.id),
      yields: yields.has(grant.task.id),
    }),
  )
}

interface ClaimParts {
  readonly submission: string
  readonly checkpoint: string | undefined
  readonly yields: boolean
}

function claimOf(
  ws: WorkingSet,
  { task, lease, workerId }: Grant,
  { submission, checkpoint, yields }: ClaimParts,
): Claim {
  const stream = ws.stream(task.stream as number)
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
    ...(task.parent === null ? {} : { isChild: true }),
    submission,
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...(yields ? { yields: true } : {}),
    ...(usage === undefined || usage.swarm === null ? {} : { left: leftOf(ws, usage) }),
  }
}

function laneOf(rank: number): Claim['lane'] {
  return rank === 0 ? 'interactive' : rank === 1 ? 'normal' : 'batch'
}

/** The submissions among the grants that are not in the tables yet, since they came in this very flush. */
function freshSubmissions(ws: WorkingSet, grants: readonly Grant[]): Map<number, string> {
  const fresh = new Map<number, string>()
  if (!grants.some((grant) => grant.task.id >= ws.base.next.task)) return fresh
  for (const { task, seq, data, blob } of ws.events)
    if (seq === 1) fresh.set(task, blob === null ? data : withBlob(data, blob, ws.blobs.get(blob) ?? ''))
  return fresh
}

function withBlob(data: string, sha256: string, text: string): string {
  return data.replace(blobReference(sha256, text.length), () => text)
}

const noTasks: ReadonlySet<number> = new Set()
const noClaims: readonly Claim[] = []

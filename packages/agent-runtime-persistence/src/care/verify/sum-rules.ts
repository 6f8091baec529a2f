import { addUse, type BudgetUse, isFinal, noUse } from '@ku0/agent-runtime-core'
import { type StreamRow, type TotalsRow } from '@ku0/agent-runtime-core/transition'
import type { Load } from '../../sqlite/load.ts'
import type { Db } from '../../sqlite/open.ts'
import type { Faults } from './faults.ts'
import type { RisingTotal, Tally } from './tally.ts'
import { WAITING_BY_INDEX } from '../../sqlite/schema.ts'

/** Sums that only rise, at one moment. While tasks are counted one by one, a store may go on: what was counted lies between two of these. */
export interface Sums {
  readonly totals: TotalsRow
  readonly leases: number
  readonly keys: number
  /** The journal's last number. */
  readonly commit: number
  readonly schedules: ReadonlyMap<string, number>
  readonly budgets: ReadonlyMap<number, BudgetSums>
  /** What deleted tasks added to sums, by name. */
  readonly retired: ReadonlyMap<string, number>
}

interface BudgetSums {
  readonly above: number | null
  readonly used: BudgetUse
}

/** Call it in a transaction. */
export function readSums(db: Db, load: Load): Sums {
  const count = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0
  const schedules = db.prepare<[], [string, number]>('SELECT name, runs FROM schedule').raw().all()
  const budgets = db
    .prepare<[], [number, number | null, string]>('SELECT task, above, used FROM budget')
    .raw()
    .all()
  return {
    totals: load.totals(),
    leases: count('SELECT count(*) FROM lease'),
    keys: count('SELECT count(*) FROM idempotency'),
    commit: load.journal()?.[0] ?? 0,
    schedules: new Map(schedules),
    retired: readRetired(db),
    budgets: new Map(budgets.map(([task, above, used]) => [task, { above, used: useIn(used) }])),
  }
}

function readRetired(db: Db): ReadonlyMap<string, number> {
  return new Map(
    db
      .prepare<[], [string, number]>(
        'SELECT name, value FROM retired UNION ALL SELECT name, value FROM retired_named',
      )
      .raw()
      .all(),
  )
}

const endedStates: ReadonlySet<string> = new Set(['completed', 'failed', 'canceled'])

function retiredIn(total: RisingTotal, retired: ReadonlyMap<string, number>): number {
  const of = (name: string) => retired.get(name) ?? 0
  if (total === 'submitted') return [...endedStates].reduce((sum, state) => sum + of(`state ${state}`), 0)
  return of(endedStates.has(total) ? `state ${total}` : total)
}

/** What cannot be read equals nothing. */
function useIn(text: string): BudgetUse {
  let read: Partial<BudgetUse> | null = null
  try {
    read = JSON.parse(text) as Partial<BudgetUse> | null
  } catch {
    // Told as a column that is not of its form.
  }
  const { tokens = Infinity, money = Infinity, cost = Infinity, steps = Infinity } = read ?? {}
  return { tokens, money, cost, steps }
}

/** Compares what was counted with the sums before and after. I14, I16, I17, I25. */
export function compareSums(tally: Tally, before: Sums, after: Sums, faults: Faults): void {
  // While tasks are counted, others may be deleted: those were counted, or are in the sums of the deleted ones, or both.
  const isDeleting = [...after.retired].some(([name, value]) => before.retired.get(name) !== value)
  const between = (where: string, counted: number, low: number, high: number) => {
    // What is no number equals nothing.
    if (!(counted >= low && counted <= high))
      faults.add('sum', where, counted, low === high ? low : `${low} to ${high}`)
  }
  // What damaged events would have counted is not known.
  const names = Object.keys(tally.totals) as RisingTotal[]
  const known = faults.events.size === 0 ? names : names.filter((name) => !ofEvents.has(name))
  for (const name of known)
    between(
      `totals, ${name}`,
      tally.totals[name],
      before.totals[name] - retiredIn(name, after.retired),
      after.totals[name] - retiredIn(name, before.retired),
    )
  if (faults.events.size > 0) return
  if (!isDeleting) {
    between('leases', tally.leases, before.leases, after.leases)
    between('idempotency keys', tally.keys, before.keys, after.keys)
  }
  // A schedule that was removed and put again counts anew.
  for (const [name, runs] of before.schedules) {
    const counted = (tally.runs.get(name) ?? 0) + (after.retired.get(`schedule ${name}`) ?? 0)
    if (runs > counted) faults.add('sum', `schedule ${name}, runs`, counted, runs)
  }
  compareBudgets(tally, before, after, between)
}

/** What clients have spent, by name, before their tasks are counted. Call it in a transaction. */
export function readSpent(db: Db): ReadonlyMap<string, number> {
  return new Map(
    db.prepare<[], [string, number]>('SELECT name, spent FROM client WHERE spent > 0').raw().all(),
  )
}

/**
 * A client has spent no more than its tasks cost. It may be less: one that was removed begins anew, and what ends in a process without
 * shares is spent by nobody. Source: `docs/semantics.md 11.5`.
 */
export function compareSpent(
  tally: Tally,
  spent: ReadonlyMap<string, number>,
  retired: ReadonlyMap<string, number>,
  faults: Faults,
): void {
  if (faults.events.size > 0) return
  for (const [name, kept] of spent) {
    const counted = (tally.costs.get(name) ?? 0) + (retired.get(`client ${name}`) ?? 0)
    // Beyond whole numbers the order of the tasks would change a sum.
    if (kept > counted && Number.isSafeInteger(counted))
      faults.add('sum', `client ${name}, spent`, `${counted} at most`, kept)
  }
}

const ofEvents: ReadonlySet<RisingTotal> = new Set<RisingTotal>(['requeued', 'expired', 'preempted'])

/** A budget adds up what its task and all below it used. */
function compareBudgets(
  tally: Tally,
  before: Sums,
  after: Sums,
  between: (where: string, counted: number, low: number, high: number) => void,
): void {
  const sums = new Map<number, BudgetUse>()
  for (const [budget, spent] of tally.spent)
    for (const task of upwards(budget, after.budgets)) sums.set(task, addUse(sums.get(task) ?? noUse, spent))
  for (const [task, { used: high }] of after.budgets) {
    const counted = sums.get(task) ?? noUse
    const low = before.budgets.get(task)?.used ?? noUse
    for (const field of ['tokens', 'money', 'cost', 'steps'] as const)
      between(`budget of task ${task}, ${field}`, counted[field], low[field], high[field])
  }
}

/** A budget and those above it; of a circle, which somebody must have made, each once. */
function upwards(budget: number, budgets: Sums['budgets']): ReadonlySet<number> {
  const seen = new Set<number>()
  for (let next: number | null = budget; next !== null && !seen.has(next);) {
    seen.add(next)
    next = budgets.get(next)?.above ?? null
  }
  return seen
}

/** What tells one stream from another. */
function keyOf({ laneRank, type, quotaKeys, client }: StreamRow): string {
  const kind = JSON.stringify([laneRank, type, ...quotaKeys])
  return client === '' ? kind : JSON.stringify([kind, client])
}

/** Counters that rise and fall, against what the indexes count at the same moment. In one transaction. I14, I19. */
export function checkCounters(db: Db, load: Load, faults: Faults): void {
  const grouped = (sql: string) => new Map(db.prepare<[], [number, number]>(sql).raw().all())
  const count = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0
  const queued = grouped(
    'SELECT stream, count(*) FROM task WHERE state = 0 AND due_at IS NULL GROUP BY stream',
  )
  const delayed = grouped(
    'SELECT stream, count(*) FROM task WHERE due_at IS NOT NULL AND state = 0 GROUP BY stream',
  )
  const running = new Map(load.runningByStream())
  const held = new Map<string, { queued: number; running: number }>()
  const clientOf = new Map<number | null, string>()
  for (const stream of load.streams()) {
    clientOf.set(stream.id, stream.client)
    const [waits, later, runs] = [queued, delayed, running].map((counts) => counts.get(stream.id) ?? 0)
    faults.same(`stream ${stream.id}, key`, keyOf(stream), stream.key)
    sum(`stream ${stream.id}, depth`, waits, stream.depth)
    sum(`stream ${stream.id}, delayed`, later, stream.delayed)
    for (const key of stream.quotaKeys) {
      const holders = held.get(key) ?? { queued: 0, running: 0 }
      holders.queued += (waits ?? 0) + (later ?? 0)
      holders.running += runs ?? 0
      held.set(key, holders)
    }
    for (const counts of [queued, delayed, running]) counts.delete(stream.id)
  }
  for (const stream of new Set([...queued.keys(), ...delayed.keys(), ...running.keys()]))
    faults.add('row', `stream ${stream}`, 'a stream', 'none')
  for (const { key, queued: waiting, running: runs } of load.quotas()) {
    sum(`quota ${key}, queued`, held.get(key)?.queued ?? 0, waiting)
    sum(`quota ${key}, running`, held.get(key)?.running ?? 0, runs)
    held.delete(key)
  }
  for (const [key, holders] of held)
    if (holders.queued + holders.running > 0) faults.add('sum', `quota ${key}`, holders, 'no row')

  const reserved = new Map(
    db
      .prepare<[], [string, number]>(
        "SELECT stream.client, sum(task.account ->> '$.reserved') FROM task JOIN stream ON stream.id = task.stream WHERE task.account IS NOT NULL AND task.state < 3 GROUP BY stream.client",
      )
      .raw()
      .all(),
  )
  for (const { name, credits, reserved: kept, asks } of load.clients()) {
    sum(`client ${name}, reserved`, reserved.get(name) ?? 0, kept)
    reserved.delete(name)
    if (asks === null) continue
    const task = load.task(asks.task)
    // It leaves the queue of a process without shares, and asks until its lease is over.
    const isOpen = task !== undefined && !isFinal(task.state) && task.account?.asked !== undefined
    if (!isOpen || clientOf.get(task.stream) !== name || credits >= asks.cost)
      faults.add('row', `client ${name}, asks`, 'a task of it that asked for credits', asks)
  }
  for (const [name, amount] of reserved)
    if (amount > 0) faults.add('sum', `client ${name}`, `${amount} reserved`, 'no row')

  const totals = load.totals()
  sum('totals, running', count('SELECT count(*) FROM lease WHERE state = 0'), totals.running)
  sum('totals, waiting', count(`SELECT count(*) FROM task WHERE ${WAITING_BY_INDEX}`), totals.waiting)
  const rejected = count('SELECT count(*) FROM task WHERE (state > 3 OR state = 2) AND state = 6')
  sum('totals, rejected', rejected + totals.rejectedPruned, totals.rejected)
  // A task's number is the next; what was deleted is counted.
  const last = count('SELECT max(id) FROM task')
  const ended = count("SELECT coalesce(sum(value), 0) FROM retired WHERE name LIKE 'state %'")
  const deleted = totals.rejectedPruned + ended
  sum('tasks', last, count('SELECT count(*) FROM task') + deleted)
  const hashes = count('SELECT count(*) FROM pruned')
  // Where the journal was cut, hashes that it needed went with it.
  const isSince = count("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'pruned_unhashed_until'") === 0
  const isCut = count("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'journal_base'") > 0
  if ((isSince && !isCut) || hashes > deleted) sum('hashes of deleted tasks', deleted, hashes)
  sum('pruned records', count('SELECT count(*) FROM pruned WHERE task IN (SELECT id FROM task)'), 0)

  function sum(where: string, counted: number | undefined, kept: number): void {
    if (counted !== kept) faults.add('sum', where, counted, kept)
  }
}

import { decideSettlement, decideStart, settledIncrement, shareIncrement, tierWeights } from './fairness.ts'
import { addAmounts, type Amounts, amountsOf, dominantShare, entitlement, type Use } from './dominant.ts'
import { effectiveWeight, ignoresReputation } from '../evaluation/reputation.ts'
import { clientTiers } from './client.ts'
import type { SharesConfig } from './schema.ts'
import {
  firstOf,
  type ShareEntry,
  type ShareTree,
  sortedTree,
  withEntry,
  withoutEntry,
} from './share-tree.ts'
import { lacksCredits } from '../ledger/afford.ts'
import { costOf, paid } from '../ledger/pay.ts'
import { post } from '../ledger/post.ts'
import { accountOf } from '../budget/account.ts'
import { streamOf } from '../queue/stream.ts'
import { mayStart } from '../quota/hold.ts'
import type { AccountRow } from '../budget/row.ts'
import type { ClientRow } from './row.ts'
import type { StreamRow } from '../queue/row.ts'
import type { TaskRow } from '../task/row.ts'
import { poolOf, poolsOf, SharePools } from './share-pools.ts'
import { OPEN } from './open-pool.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import type { Holder } from '../queue/holder.ts'
import type { Placed, ShareOrder, SharePool, Shares } from './shares.ts'

/** Multiples of it are spread evenly over 0 to 1, none near another. */
const GOLDEN = 0.618_033_988_749_894_9

/**
 * Above this all virtual times are brought down together, long before a sum could lose a digit; with `keying: 'enqueue'` not before
 * nothing is queued and nothing runs: tasks keep the places that they were given.
 */
const MAX_TIME = 2 ** 52

/**
 * How shares order clients. A client has a virtual time: what its started tasks have cost, the less of it the more credits it has. The
 * client with the least time is served next. Four numbers make up that time:
 *
 * - `time` of a client: its virtual time, as it was last written.
 * - `floor` of a client: where it began when it last became active. A refund never takes its time below that.
 * - `ahead` of a pool: how far the times of all its members have gone on together. A pool is the set of clients that wait for the same
 *   shared quotas.
 * - `seen` of a client: its pool's `ahead` when `time` was written.
 *
 * So a client's time is `time + ahead - seen`, and moving on a whole pool writes one number. A stream stands in its tree by
 * `time - seen`, which stays as it is meanwhile.
 *
 * An example, where each start costs 1. A's tasks need nothing; those of B and C name the model `m`, whose quota is used up.
 *
 * | what happens                                       | A | pool `m`           | B, its row          | C, its row          |
 * | -------------------------------------------------- | - | ------------------ | ------------------- | ------------------- |
 * | all three queue tasks                              | 0 | `ahead` 0          | 0: `time` 0, seen 0 | 2: `time` 2, seen 0 |
 * | A starts five tasks; the round ends: `holdBack`    | 5 | held               | 0                   | 2                   |
 * | `m` has room, B is found: `release` calls `sync`   | 5 | `ahead` 5, is free | 5: as it was        | 7: as it was        |
 * | B starts a task: `putClient` writes its row        | 5 | `ahead` 5          | 6: `time` 6, seen 5 | 7                   |
 *
 * While B waited it fell behind A by 5, which it could not help, and would have been served alone for five tasks. `sync` puts the first
 * of the pool beside the least of the active instead, and keeps the distances inside the pool. A client that had nothing queued is placed
 * beside the active by itself: `join` and `begin`. `park` takes a stream out of the order for the rest of a round, `replace` puts it back.
 * `lower` brings all times down once one is near the end of exact numbers. Why it is so: `docs/decisions/0012`.
 */

/**
 * The shares of one flush: the committed order below, what changed on top. Streams of one group differ in their clients only, so
 * that what keeps a group from starting is asked once. Source: `docs/semantics.md 11`, C5.
 */
export class ShareBook implements Shares {
  readonly trees = new Map<string, ShareTree>()
  readonly ages = new Map<string, ShareTree>()
  readonly entries = new Map<number, Placed>()
  private readonly clocks: SharePools
  private readonly ws: WorkingSet
  private readonly base: ShareOrder
  private readonly config: SharesConfig

  constructor(ws: WorkingSet, base: ShareOrder, config: SharesConfig) {
    this.ws = ws
    this.base = base
    this.config = config
    this.clocks = new SharePools(base.pools, (client) => tierOf(client, config))
  }

  get pools(): ReadonlyMap<string, SharePool> {
    return this.clocks.changed
  }

  crowdedBy(name: string): number | undefined {
    const { ws } = this
    if (ws.clients.get(name) !== undefined) return undefined
    return ws.clientCount
  }

  *all(): Iterable<ShareTree> {
    for (const tree of this.trees.values()) yield tree
    for (const [key, tree] of this.base.trees) if (!this.trees.has(key)) yield tree
  }

  oldest(group: string): Placed | undefined {
    const first = firstOf(this.age(group))
    return first && this.entry(first.id)
  }

  beside(row: StreamRow): ShareTree {
    return this.tree(this.entry(row.id)?.tree ?? row.group)
  }

  placeOf(entry: ShareEntry): ShareEntry {
    const ahead = this.clocks.ahead(this.ws.client(this.ws.stream(entry.id).client))
    return { ...entry, time: entry.time + ahead }
  }

  arrive(stream: number, task: TaskRow): TaskRow {
    const { ws } = this
    const row = ws.draftStream(stream)
    const client = ws.client(row.client)
    if (client.queued === 0) this.join(client, poolOf([row]))
    else if (client.stalled && mayStart(ws, row.quotaKeys, task) && !lacksCredits(ws, row, task))
      this.begin(client, client.pool)
    let placed = task
    if (this.config.keying === 'enqueue') {
      // Times may have been brought down since it was placed first.
      const { time } = ws.client(row.client)
      const place = Math.min(task.account?.place ?? time, time)
      if (place !== task.account?.place) {
        placed = { ...task, account: { ...accountOf(task), place } }
        ws.tasks.put(placed.id, placed)
      }
    }
    if (row.depth > 0 && row.head < placed.id) return placed
    ws.moveHead(stream, placed)
    return placed
  }

  count(row: StreamRow, by: number): void {
    const client = this.ws.client(row.client)
    const queued = client.queued + by
    const pool = row.depth === 0 || row.depth === by ? this.poolOf(client) : client.pool
    const after = { ...client, queued, pool, stalled: client.stalled && queued > 0 }
    if (pool !== client.pool) for (const it of [client.pool, pool]) this.clocks.sync(it)
    this.putClient(after, client)
    this.replace(row)
  }

  hold(row: StreamRow, task: TaskRow, from: Holder, to: Holder): void {
    const by = Number(to === 'running') - Number(from === 'running')
    if (by === 0) return
    const client = this.ws.client(row.client)
    const held = { ...client, running: client.running + by }
    const { dominant } = this.config
    if (dominant === undefined) return this.putClient(held, client)
    const amounts = amountsOf(row.quotaKeys, useOf(task), dominant)
    this.putClient({ ...held, holds: addAmounts(client.holds ?? {}, amounts, by > 0 ? 1 : -1) }, client)
  }

  charge(task: TaskRow, row: StreamRow, dispatch: number): AccountRow | null {
    const account = accountOf(task)
    if (account.charge !== null) return account
    const client = this.ws.client(row.client)
    const charge = this.increment(account.cost, client, dispatch)
    const started = { ...client, time: client.time + charge }
    if (!this.config.ledger) {
      this.putClient(started, client)
      return { ...account, charge }
    }
    const { cost } = account
    this.putClient(
      post(this.ws, started, { kind: 'reserve', amount: 0 - cost, held: cost, task: task.id }),
      client,
    )
    return { ...account, charge, reserved: cost }
  }

  settle(task: TaskRow): void {
    const { ws } = this
    const account = accountOf(task)
    if (account.charge === null) return
    const client = ws.client(ws.stream(streamOf(task)).client)
    const cost = costOf(account)
    const settled = settledIncrement({
      charged: account.charge,
      estimate: account.cost,
      cost,
      now: this.increment(cost, client),
    })
    const time = decideSettlement({
      time: client.time,
      floor: client.floor,
      charged: account.charge,
      settled,
    })
    const over = { ...client, time, spent: client.spent + cost }
    this.putClient(paid(ws, over, task), client)
  }

  putClient(changed: ClientRow, before: ClientRow): void {
    const { clocks } = this
    const by = clocks.ahead(before) - before.seen
    const seen = clocks.ahead(changed)
    const after =
      by === 0 && seen === changed.seen
        ? changed
        : { ...changed, time: changed.time + by, floor: changed.floor + by, seen }
    if (after.time <= MAX_TIME) this.set(after, before)
    else if (this.keepsPlaces) this.set({ ...after, time: MAX_TIME }, before)
    else this.lower(after, before)
  }

  takeOver(
    { id, name, credits, tier, time, floor, spent, reserved, entries, asks }: ClientRow,
    before: ClientRow,
  ): void {
    const seen = this.clocks.ahead({ ...before, tier })
    this.set(
      { ...before, id, name, credits, tier, time, floor, spent, reserved, entries, asks, seen },
      before,
    )
  }

  release(name: string): boolean {
    const client = this.ws.client(name)
    const { held } = this.clocks.get(client.pool)
    if (held) {
      this.clocks.sync(client.pool)
      this.clocks.setHeld(client.pool, false)
    }
    if (client.stalled) this.begin(client, client.pool)
    return held || client.stalled
  }

  holdBack(startable: ReadonlySet<string>, stalled: ReadonlySet<string>): void {
    for (const name of Array.from(this.clocks.names()))
      if (name !== OPEN && !startable.has(name)) this.clocks.setHeld(name, true)
    for (const name of stalled) {
      const client = this.ws.client(name)
      if (client.queued > 0 && !client.stalled) this.putClient({ ...client, stalled: true }, client)
    }
  }

  get knowsPools(): boolean {
    return this.clocks.any
  }

  get looksAtQuotas(): boolean {
    return looksAtQuotas(this.config)
  }

  replace(row: StreamRow): void {
    const before = this.entry(row.id)
    const after = row.depth > 0 ? entryOf(row, this.ws.client(row.client), this.config) : undefined
    if (before !== undefined && after !== undefined && isSame(before, after)) return
    this.take(row, before)
    if (after === undefined) return
    this.entries.set(row.id, after)
    this.trees.set(after.tree, withEntry(this.tree(after.tree), after))
    if (this.ws.config.agingMs !== undefined)
      this.ages.set(row.group, withEntry(this.age(row.group), ageOf(after)))
  }

  park(row: StreamRow): void {
    this.take(row, this.entry(row.id))
  }

  private take(row: StreamRow, entry: Placed | undefined): void {
    if (entry === undefined) return
    this.entries.set(row.id, gone)
    this.trees.set(entry.tree, withoutEntry(this.tree(entry.tree), entry))
    if (this.ws.config.agingMs !== undefined)
      this.ages.set(row.group, withoutEntry(this.age(row.group), ageOf(entry)))
  }

  /**
   * The members that it joins move on first, as they do when it is one of them: a client that waited is not
   * behind it because of that.
   */
  private join(client: ClientRow, pool: string): void {
    this.clocks.sync(pool)
    this.begin(client, pool)
  }

  /** Places a client beside the active. */
  private begin(client: ClientRow, pool: string): void {
    const { clocks, config } = this
    const current = clocks.current(client)
    const least = clocks.least(tierOf(client, config), pool)
    const time = decideStart(current.time, least, config.placement)
    const begun = { ...current, time, floor: time, stalled: false }
    if (time === MAX_TIME && !this.keepsPlaces) this.lower(begun, client)
    else this.set(begun, client)
  }

  private poolOf(client: ClientRow): string {
    return poolAmong(this.streamsOf(client), this.config)
  }

  private *streamsOf({ name }: ClientRow): Iterable<StreamRow> {
    for (const stream of this.ws.streamsOf(name)) yield this.ws.stream(stream)
  }

  /** A client's row, by its pool's clock as it is. */
  private set(after: ClientRow, before: ClientRow): void {
    const { ws, clocks } = this
    ws.clients.put(after.name, after)
    clocks.move(before, after)
    if (before.pool !== after.pool) {
      clocks.join(after.pool, 1)
      clocks.join(before.pool, -1)
    }
    const stays =
      before.time - before.seen === after.time - after.seen &&
      before.pool === after.pool &&
      dominantOf(before, this.config) === dominantOf(after, this.config)
    if (stays && before.tier === after.tier) return
    for (const stream of ws.streamsOf(after.name)) {
      const row = ws.stream(stream)
      if (row.depth > 0) this.replace(row)
    }
  }

  /** Whether tasks stand where they were placed, so that times cannot be brought down. */
  private get keepsPlaces(): boolean {
    if (this.config.keying !== 'enqueue') return false
    const { waiting, busy } = this.clocks.get(OPEN)
    return [...waiting, ...busy].some((tree) => tree !== undefined)
  }

  private increment(cost: number, client: ClientRow, dispatch?: number): number {
    return shareIncrement(cost, client.credits, this.weightOf(client, dispatch))
  }

  /**
   * The numbers of starts decide which of them leave reputation out, evenly spread, so that a replay leaves
   * out the same.
   */
  private weightOf({ name, tier }: ClientRow, dispatch: number | undefined): number {
    const { reputationBeta: beta, exploration } = this.config
    const weight = tierWeights[tier]
    if (beta === 0) return weight
    if (dispatch !== undefined && ignoresReputation((dispatch * GOLDEN) % 1, exploration)) return weight
    return effectiveWeight(weight, beta, this.ws.reputation(name))
  }

  /** Brings every virtual time down by the least, which changes no order. */
  private lower(after: ClientRow, before: ClientRow): void {
    const { ws } = this
    const rows = [...ws.clients.all()].map(
      (row) => [row, row.name === after.name ? after : this.clocks.current(row)] as const,
    )
    const least = rows.reduce((min, [, row]) => Math.min(min, row.time), after.time)
    const capped = Math.min(after.time, least + MAX_TIME / 2)
    for (const [row, wanted] of rows) {
      const time = Math.min(wanted.time, capped) - least
      this.set({ ...wanted, time, floor: Math.max(0, wanted.floor - least) }, row)
    }
    if (!rows.some(([row]) => row.name === before.name))
      this.set({ ...after, time: capped - least, floor: Math.max(0, after.floor - least) }, before)
  }

  private tree(key: string): ShareTree {
    return this.trees.has(key) ? this.trees.get(key) : this.base.trees.get(key)
  }
  private age(group: string): ShareTree {
    return this.ages.has(group) ? this.ages.get(group) : this.base.ages.get(group)
  }
  private entry(stream: number): Placed | undefined {
    const entry = this.entries.get(stream) ?? this.base.entries.get(stream)
    return entry === gone ? undefined : entry
  }
}

/** The order that rows make; clients with their counts, and in the pools that they are in. In O(n log n). */
export function shareOrderOf(
  streams: Iterable<StreamRow>,
  clients: ReadonlyMap<string, ClientRow>,
  config: SharesConfig,
): ShareOrder {
  const byTree = new Map<string, Placed[]>()
  const byGroup = new Map<string, Placed[]>()
  const entries = new Map<number, Placed>()
  for (const row of streams) {
    if (row.depth === 0) continue
    const client = clients.get(row.client)
    if (client === undefined) throw new Error(`client ${row.client} of stream ${row.id} was not loaded`)
    const entry = entryOf(row, client, config)
    entries.set(row.id, entry)
    addTo(byTree, entry.tree, entry)
    addTo(byGroup, row.group, entry)
  }
  return {
    entries,
    trees: new Map([...byTree].map(([key, rows]) => [key, sortedTree(rows)])),
    ages: new Map([...byGroup].map(([group, rows]) => [group, sortedTree(rows.map(ageOf))])),
    pools: poolsOf(clients.values(), (client) => tierOf(client, config)),
  }
}

/** A client's pool, derived from those of its streams in which it has queued tasks. They may be many: where no quota counts, none is looked at. */
export function poolAmong(streams: Iterable<StreamRow>, config: SharesConfig): string {
  return looksAtQuotas(config) ? poolOf([...streams].filter(({ depth }) => depth > 0)) : OPEN
}

function looksAtQuotas({ keying, placement }: SharesConfig): boolean {
  return keying === 'dispatch' && placement === 'floor'
}

function addTo(map: Map<string, Placed[]>, key: string, entry: Placed): void {
  const others = map.get(key)
  if (others === undefined) map.set(key, [entry])
  else others.push(entry)
}

function entryOf(row: StreamRow, client: ClientRow, config: SharesConfig): Placed {
  const time = config.keying === 'enqueue' ? row.place : client.time - client.seen
  const tree = client.pool === OPEN ? row.group : `${row.group}\n${client.pool}`
  const place = { tier: tierOf(client, config), time, sequence: row.head, id: row.id, tree }
  const dominant = dominantOf(client, config)
  return dominant === undefined ? place : { ...place, dominant }
}

/** The dominant share of what a client's running tasks hold, by what it is entitled to; undefined where that orders nothing. */
export function dominantOf(client: ClientRow, { dominant }: SharesConfig): number | undefined {
  return dominant && dominantShare(client.holds ?? {}, dominant, entitlement(client))
}

/** The amounts that the running tasks of each client hold, by their streams; nothing where that orders nothing. */
export function heldByClient(
  running: Iterable<HeldByTask>,
  config: SharesConfig | undefined,
  rowOf: (stream: number) => Pick<StreamRow, 'client' | 'quotaKeys'> | undefined,
): ReadonlyMap<string, Amounts> {
  const held = new Map<string, Amounts>()
  if (config?.dominant === undefined) return held
  for (const [stream, tokens, cost] of running) {
    const row = rowOf(stream)
    if (row === undefined) throw new Error(`stream ${stream} of a running task was not loaded`)
    const amounts = amountsOf(row.quotaKeys, { tasks: 1, tokens, cost }, config.dominant)
    held.set(row.client, addAmounts(held.get(row.client) ?? {}, amounts))
  }
  return held
}

/** A running task's stream, its tokens and its estimated cost in millionths. */
export type HeldByTask = readonly [stream: number, tokens: number, cost: number]

function useOf(task: TaskRow): Use {
  return { tasks: 1, tokens: task.tokens, cost: accountOf(task).cost }
}

function tierOf(client: ClientRow, config: SharesConfig): number {
  return config.tierPolicy === 'weighted' ? 0 : clientTiers.indexOf(client.tier)
}

/** Stands for a stream that is in no tree. */
export const gone: Placed = { tier: -1, time: -1, sequence: -1, id: -1, tree: '' }

/** By age alone. */
function ageOf({ sequence, id }: ShareEntry): ShareEntry {
  return { tier: 0, time: 0, sequence, id }
}

/** Compares two places of one stream. */
function isSame(a: Placed, b: Placed): boolean {
  return (
    a.time === b.time &&
    a.sequence === b.sequence &&
    a.tier === b.tier &&
    a.tree === b.tree &&
    a.dominant === b.dominant
  )
}

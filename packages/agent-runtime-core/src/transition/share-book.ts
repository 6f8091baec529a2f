import {
  decideSettlement,
  decideStart,
  settledIncrement,
  shareIncrement,
  tierWeights,
} from '../decide/fairness.ts'
import { effectiveWeight, ignoresReputation } from '../decide/reputation.ts'
import { clientTiers, defaultCredits, type SharesConfig } from '../shares.ts'
import {
  compareShares,
  firstOf,
  type ShareEntry,
  type ShareTree,
  treeOf,
  withEntry,
  withoutEntry,
} from '../share-tree.ts'
import { MICRO } from '../usage.ts'
import { accountOf } from './charge.ts'
import type { Holder } from './queue.ts'
import type { AccountRow, ClientRow, StreamRow, TaskRow } from './rows.ts'
import type { WorkingSet } from './working-set.ts'

/** The order of shares as it is committed: streams by group, clients by tier. */
export interface ShareOrder {
  /** By group: the streams that have queued tasks, by the shares of their clients. */
  readonly trees: ReadonlyMap<string, ShareTree>
  /** The same by the age of their heads; only where waiting lifts tasks. */
  readonly ages: ReadonlyMap<string, ShareTree>
  /** By stream, where it stands in its tree. */
  readonly entries: ReadonlyMap<number, ShareEntry>
  /** By tier, by virtual time: the clients that have tasks queued. */
  readonly waiting: readonly ShareTree[]
  /** The same of those that have none queued, but some that run. */
  readonly busy: readonly ShareTree[]
}

/** Multiples of it are spread evenly over 0 to 1, none near another. */
const GOLDEN = 0.618_033_988_749_894_9

/**
 * Above this all virtual times are brought down together, long before a sum could lose a digit; with `keying: 'enqueue'` not before
 * nothing is queued and nothing runs: tasks keep the places that they were given.
 */
const MAX_TIME = 2 ** 52

/**
 * The shares of one flush: the committed order below, what changed on top. Streams of one group differ in their clients only, so
 * that what keeps a group from starting is asked once. Source: `docs/semantics.md 11`, C5.
 */
export class ShareBook implements ShareOrder {
  readonly trees = new Map<string, ShareTree>()
  readonly ages = new Map<string, ShareTree>()
  readonly entries = new Map<number, ShareEntry>()
  waiting: readonly ShareTree[]
  busy: readonly ShareTree[]
  private readonly ws: WorkingSet
  private readonly base: ShareOrder
  private readonly config: SharesConfig

  constructor(ws: WorkingSet, base: ShareOrder, config: SharesConfig) {
    this.ws = ws
    this.base = base
    this.config = config
    this.waiting = base.waiting
    this.busy = base.busy
  }

  /** How many clients there are, when this is one more. */
  crowdedBy(name: string): number | undefined {
    const { ws } = this
    if (ws.knownClient(name) !== undefined) return undefined
    return ws.clientCount
  }

  /** Every group with its streams in order. */
  *groups(): Iterable<readonly [group: string, tree: ShareTree]> {
    for (const [group, tree] of this.trees) yield [group, tree]
    for (const [group, tree] of this.base.trees) if (!this.trees.has(group)) yield [group, tree]
  }

  /** The stream of a group whose head was submitted first. */
  oldest(group: string): ShareEntry | undefined {
    return firstOf(this.age(group))
  }

  /** A group's streams in order. */
  treeOf(group: string): ShareTree {
    return this.tree(group)
  }

  /** Where a stream stands. */
  placeOf(stream: number): ShareEntry | undefined {
    return this.entry(stream)
  }

  /** A task is about to count in its stream's depth. The task as it is then. */
  arrive(stream: number, task: TaskRow): TaskRow {
    const { ws } = this
    const row = ws.draftStream(stream)
    const client = ws.client(row.client)
    if (client.queued === 0) this.begin(client)
    let placed = task
    if (this.config.keying === 'enqueue') {
      // Times may have been brought down since it was placed first.
      const { time } = ws.client(row.client)
      const place = Math.min(task.account?.place ?? time, time)
      if (place !== task.account?.place) {
        placed = { ...task, account: { ...accountOf(task), place } }
        ws.tasks.set(placed.id, placed)
      }
    }
    if (row.depth > 0 && row.head < placed.id) return placed
    ws.moveHead(stream, placed)
    return placed
  }

  /** A stream's depth has changed by so many. */
  count(row: StreamRow, by: number): void {
    const client = this.ws.client(row.client)
    this.putClient({ ...client, queued: client.queued + by }, client)
    this.replace(row)
  }

  /** A task's slot was taken or given back. */
  hold(row: StreamRow, from: Holder, to: Holder): void {
    const by = Number(to === 'running') - Number(from === 'running')
    if (by === 0) return
    const client = this.ws.client(row.client)
    this.putClient({ ...client, running: client.running + by }, client)
  }

  /** Charges the estimate of a task that starts; once in its life. */
  charge(task: TaskRow, row: StreamRow, dispatch: number): AccountRow | null {
    if (task.account !== null && task.account.charge !== null) return task.account
    const account = accountOf(task)
    const client = this.ws.client(row.client)
    const charge = this.increment(account.cost, client, dispatch)
    const credits = this.config.ledger ? client.credits - account.cost : client.credits
    this.putClient({ ...client, time: client.time + charge, credits }, client)
    return { ...account, charge }
  }

  /** Replaces the estimate of a task that is over by what it cost. */
  settle(task: TaskRow): void {
    const { ws } = this
    const { account, stream } = task
    if (account === null || account.charge === null || stream === null) return
    const client = ws.client(ws.stream(stream).client)
    const reported = account.used?.cost ?? 0
    const cost = reported > 0 ? reported : account.cost
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
    const credits = this.config.ledger ? client.credits - (cost - account.cost) : client.credits
    this.putClient({ ...client, time, credits, spent: client.spent + cost }, client)
  }

  /** What is known of a client has changed; its streams move to where they belong now. */
  putClient(after: ClientRow, before: ClientRow): void {
    const { ws } = this
    if (after.time > MAX_TIME)
      return this.keepsPlaces
        ? this.putClient({ ...after, time: MAX_TIME }, before)
        : this.lower(after, before)
    ws.clients.set(after.name, after)
    this.keepActive(before, after)
    if (before.time === after.time && before.tier === after.tier) return
    for (const stream of ws.streamsOf(after.name)) {
      const row = ws.stream(stream)
      if (row.depth > 0) this.replace(row)
    }
  }

  /** Puts a stream where it belongs now. */
  replace(row: StreamRow): void {
    const before = this.entry(row.id)
    const after = row.depth > 0 ? entryOf(row, this.ws.client(row.client), this.config) : undefined
    if (before !== undefined && after !== undefined && isSame(before, after)) return
    this.take(row, before)
    if (after === undefined) return
    this.entries.set(row.id, after)
    this.trees.set(row.group, withEntry(this.tree(row.group), after))
    if (this.ws.config.agingMs !== undefined)
      this.ages.set(row.group, withEntry(this.age(row.group), ageOf(after)))
  }

  /** Takes a stream out of the order until it is put back by {@link replace}. */
  park(row: StreamRow): void {
    this.take(row, this.entry(row.id))
  }

  private take(row: StreamRow, entry: ShareEntry | undefined): void {
    if (entry === undefined) return
    this.entries.set(row.id, gone)
    this.trees.set(row.group, withoutEntry(this.tree(row.group), entry))
    if (this.ws.config.agingMs !== undefined)
      this.ages.set(row.group, withoutEntry(this.age(row.group), ageOf(entry)))
  }

  private begin(client: ClientRow): void {
    const tier = tierOf(client, this.config)
    const least = (firstOf(this.waiting[tier]) ?? firstOf(this.busy[tier]))?.time
    const time = decideStart(client.time, least, this.config.placement)
    const begun = { ...client, time, floor: time }
    if (time === MAX_TIME && !this.keepsPlaces) this.lower(begun, client)
    else this.putClient(begun, client)
  }

  /** Whether tasks stand where they were placed, so that times cannot be brought down. */
  private get keepsPlaces(): boolean {
    const { config, waiting, busy } = this
    return config.keying === 'enqueue' && [...waiting, ...busy].some((tree) => tree !== undefined)
  }

  private increment(cost: number, client: ClientRow, dispatch?: number): number {
    return shareIncrement(cost, client.credits, this.weightOf(client, dispatch))
  }

  /** Which starts leave reputation out is told by their numbers, evenly spread, so that a replay leaves out the same. */
  private weightOf({ name, tier }: ClientRow, dispatch: number | undefined): number {
    const { reputationBeta: beta, exploration } = this.config
    const weight = tierWeights[tier]
    if (beta === 0) return weight
    if (dispatch !== undefined && ignoresReputation((dispatch * GOLDEN) % 1, exploration)) return weight
    return effectiveWeight(weight, beta, this.ws.reputation(name))
  }

  private keepActive(before: ClientRow, after: ClientRow): void {
    this.waiting = moved(this.waiting, standing(before, after, isWaiting, this.config))
    this.busy = moved(this.busy, standing(before, after, isBusy, this.config))
  }

  /** Brings every virtual time down by the least, which changes no order. */
  private lower(after: ClientRow, before: ClientRow): void {
    const { ws } = this
    const rows = [...ws.allClients()].map((row) => [row, row.name === after.name ? after : row] as const)
    const least = rows.reduce((min, [, row]) => Math.min(min, row.time), after.time)
    const capped = Math.min(after.time, least + MAX_TIME / 2)
    for (const [row, wanted] of rows) {
      const time = Math.min(wanted.time, capped) - least
      this.putClient({ ...wanted, time, floor: Math.max(0, wanted.floor - least) }, row)
    }
    if (!rows.some(([row]) => row.name === before.name))
      this.putClient({ ...after, time: capped - least, floor: Math.max(0, after.floor - least) }, before)
  }

  private tree(group: string): ShareTree {
    return this.trees.has(group) ? this.trees.get(group) : this.base.trees.get(group)
  }
  private age(group: string): ShareTree {
    return this.ages.has(group) ? this.ages.get(group) : this.base.ages.get(group)
  }
  private entry(stream: number): ShareEntry | undefined {
    const entry = this.entries.get(stream) ?? this.base.entries.get(stream)
    return entry === gone ? undefined : entry
  }
}

/** The order that rows make; clients with their counts. In O(n log n). */
export function shareOrderOf(
  streams: Iterable<StreamRow>,
  clients: ReadonlyMap<string, ClientRow>,
  config: SharesConfig,
): ShareOrder {
  const byGroup = new Map<string, ShareEntry[]>()
  const entries = new Map<number, ShareEntry>()
  for (const row of streams) {
    if (row.depth === 0) continue
    const client = clients.get(row.client)
    if (client === undefined) throw new Error(`client ${row.client} of stream ${row.id} was not loaded`)
    const entry = entryOf(row, client, config)
    entries.set(row.id, entry)
    const others = byGroup.get(row.group)
    if (others === undefined) byGroup.set(row.group, [entry])
    else others.push(entry)
  }
  const byTier = (holds: (client: ClientRow) => boolean) => {
    const tiers: ShareEntry[][] = clientTiers.map(() => [])
    for (const client of clients.values())
      if (holds(client)) tiers[tierOf(client, config)]?.push(activeEntry(client, config))
    return tiers.map(sorted)
  }
  return {
    entries,
    trees: new Map([...byGroup].map(([group, rows]) => [group, sorted(rows)])),
    ages: new Map([...byGroup].map(([group, rows]) => [group, sorted(rows.map(ageOf))])),
    waiting: byTier(isWaiting),
    busy: byTier(isBusy),
  }
}

function sorted(entries: readonly ShareEntry[]): ShareTree {
  return treeOf(entries.toSorted(compareShares))
}

function entryOf(row: StreamRow, client: ClientRow, config: SharesConfig): ShareEntry {
  const time = config.keying === 'enqueue' ? row.place : client.time
  return { tier: tierOf(client, config), time, sequence: row.head, id: row.id }
}

function tierOf(client: ClientRow, config: SharesConfig): number {
  return config.tierPolicy === 'weighted' ? 0 : clientTiers.indexOf(client.tier)
}

function isWaiting({ queued }: ClientRow): boolean {
  return queued > 0
}

function isBusy({ queued, running }: ClientRow): boolean {
  return queued === 0 && running > 0
}

/** Where a client stood among those of which something holds, and where it stands now. */
function standing(
  before: ClientRow,
  after: ClientRow,
  holds: (client: ClientRow) => boolean,
  config: SharesConfig,
): { readonly was?: ShareEntry | undefined; readonly is?: ShareEntry | undefined } {
  const was = holds(before) ? activeEntry(before, config) : undefined
  const is = holds(after) ? activeEntry(after, config) : undefined
  return was !== undefined && is !== undefined && isSame(was, is) ? {} : { was, is }
}

function moved(tiers: readonly ShareTree[], { was, is }: ReturnType<typeof standing>): readonly ShareTree[] {
  if (was === undefined && is === undefined) return tiers
  const next = [...tiers]
  if (was !== undefined) next[was.tier] = withoutEntry(next[was.tier], was)
  if (is !== undefined) next[is.tier] = withEntry(next[is.tier], is)
  return next
}

function activeEntry(client: ClientRow, config: SharesConfig): ShareEntry {
  return { tier: tierOf(client, config), time: client.time, sequence: 0, id: client.id }
}

/** Stands for a stream that is in no tree. */
export const gone: ShareEntry = { tier: -1, time: -1, sequence: -1, id: -1 }

/** By age alone. */
function ageOf({ sequence, id }: ShareEntry): ShareEntry {
  return { tier: 0, time: 0, sequence, id }
}

function isSame(a: ShareEntry, b: ShareEntry): boolean {
  return a.time === b.time && a.sequence === b.sequence && a.tier === b.tier && a.id === b.id
}

/** The row of a client that nobody has set and that has no tasks yet. */
export function newClient(id: number, name: string): ClientRow {
  return {
    id,
    name,
    credits: defaultCredits * MICRO,
    tier: 'marketplace',
    time: 0,
    floor: 0,
    spent: 0,
    queued: 0,
    running: 0,
  }
}

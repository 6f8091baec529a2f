import { type ClientTier, clientTiers, laneRank, type Lane, type SharesConfig } from '@ku0/agent-runtime-core'
import { increment, type ModelClient, newModelClient, settleCharge } from '@ku0/agent-runtime-conformance'

// Fair shares as a few lines that look at everything each time. Source: `docs/semantics.md 11`, C5.

export interface OracleTask {
  readonly sequence: number
  readonly client: OracleClient
  readonly lane: Lane
  readonly cost: number
  readonly tokens: number
  /** The quotas that it comes under. */
  readonly keys: readonly string[]
  readonly place: number
  readonly queuedAt: number
  state: 'queued' | 'running' | 'over'
  charge: number | undefined
  used: number
}

export interface OracleClient extends ModelClient {
  /** What could hold back all that it has queued, by kinds of quotas that are shared; '' when there is none such. */
  pool: string
  /** A quota of its own holds it back. */
  stalled: boolean
  /** Its time as of the last change of its row. */
  written: number
}

/** A quota in defer mode. */
export interface OracleQuota {
  readonly maxInFlight?: number
  readonly perWindow?: number
}

const windowMs = 60_000

export class SharesOracle {
  readonly tasks: OracleTask[] = []
  readonly clients = new Map<string, OracleClient>()
  readonly started: number[] = []
  now = 0
  slots: number
  /** Pools that quotas hold back as of the last round. */
  readonly held = new Set<string>()
  readonly moved = { pools: 0, clients: 0 }
  private readonly quotas: Readonly<Record<string, OracleQuota>>
  private readonly windows = new Map<string, { start: number; count: number }>()
  private readonly startedAt: number
  private readonly shares: SharesConfig
  private readonly agingMs: number | undefined

  constructor(
    shares: SharesConfig,
    agingMs: number | undefined,
    slots: number,
    quotas: { readonly startedAt: number; readonly limits: Readonly<Record<string, OracleQuota>> },
  ) {
    this.shares = shares
    this.agingMs = agingMs
    this.slots = slots
    this.quotas = quotas.limits
    this.startedAt = quotas.startedAt
  }

  client(name: string): OracleClient {
    const known = this.clients.get(name)
    if (known !== undefined) return known
    const client: OracleClient = {
      ...newModelClient(name),
      credits: this.shares.startCredits * 1e6,
      pool: '',
      stalled: false,
      written: 0,
    }
    this.clients.set(name, client)
    return client
  }

  submit(sequence: number, name: string, lane: Lane, cost: number, model?: string, tokens = 0): void {
    const client = this.client(name)
    const keys = [`client:${name}`, ...(model === undefined ? [] : [`model:${model}`])].filter(
      (key) => this.quotas[key] !== undefined || this.shares.dominant?.[key] !== undefined,
    )
    this.arrive(client, keys, { charge: undefined, cost: cost * 1e6 })
    this.tasks.push({
      sequence,
      client,
      lane,
      cost: cost * 1e6,
      tokens,
      keys,
      place: client.time,
      queuedAt: this.now,
      state: 'queued',
      charge: undefined,
      used: 0,
    })
    this.claim()
  }

  /** What its tasks that have started and are not over hold. */
  reserved({ name }: OracleClient): number {
    const held = this.tasks.filter(
      ({ client, charge, state }) => client.name === name && charge !== undefined && state !== 'over',
    )
    return this.shares.ledger ? held.reduce((sum, { cost }) => sum + cost, 0) : 0
  }

  buy(name: string, amount: number): void {
    const client = this.client(name)
    client.credits += amount * 1e6
    client.written = client.time
    this.claim()
  }

  set(name: string, credits: number | undefined, tier: ClientTier | undefined): void {
    const client = this.client(name)
    if (credits !== undefined) client.credits = credits * 1e6
    if (tier !== undefined) client.tier = tier
    client.written = client.time
    this.claim()
  }

  /** Its slot is told to be free afterwards. */
  finish(task: OracleTask, used: number): void {
    task.used += used * 1e6
    this.settle(task)
    this.claim()
  }

  requeue(task: OracleTask): void {
    this.arrive(task.client, task.keys, task)
    const again: OracleTask = {
      ...task,
      state: 'queued',
      queuedAt: this.now,
      place: Math.min(task.place, task.client.time),
    }
    task.state = 'over'
    this.tasks[this.tasks.indexOf(task)] = again
    this.claim()
  }

  cancel(task: OracleTask): void {
    this.settle(task)
    this.claim()
  }

  free(): void {
    this.slots += 1
    this.claim()
  }

  advance(ms: number): void {
    this.now += ms
    this.claim()
  }

  claim(): void {
    if (this.slots === 0 || this.queuedOf().length === 0) return
    const leftOut = new Set<string>()
    while (this.slots > 0) {
      const next = this.next(leftOut)
      if (next === undefined) break
      if (!this.mayStart(next)) leftOut.add(streamOf(next))
      else if (!this.release(next.client)) this.start(next)
    }
    this.holdBack(leftOut)
  }

  private start(next: OracleTask): void {
    const { client } = next
    this.slots -= 1
    this.leaveQueue(next)
    next.state = 'running'
    this.started.push(next.sequence)
    for (const key of next.keys) this.windowOf(key).count += 1
    if (next.charge === undefined) {
      next.charge = increment(next.cost, client)
      client.time += next.charge
      if (this.shares.ledger) client.credits -= next.cost
    }
    client.written = client.time
  }

  /**
   * Of each lane and kind of shared quotas with room the first by shares, at the lane's rank, and the one submitted first, at the rank that
   * waiting has lifted it to.
   */
  private next(leftOut: ReadonlySet<string>): OracleTask | undefined {
    const groups = new Map<string, OracleTask[]>()
    for (const task of this.queuedOf()) {
      if (leftOut.has(streamOf(task)) || !this.hasRoom(shared(task.keys))) continue
      const group = `${task.lane} ${shared(task.keys).join()}`
      groups.set(group, [...(groups.get(group) ?? []), task])
    }
    const candidates = [...groups.values()].flatMap((own) => {
      const [first] = own.toSorted((a, b) => this.compare([a, 0], [b, 0]))
      const [oldest] = own.toSorted((a, b) => a.sequence - b.sequence)
      if (first === undefined || oldest === undefined) return []
      return [[first, laneRank[first.lane]] as const, [oldest, this.rank(oldest)] as const]
    })
    return candidates.toSorted((a, b) => this.compare(a, b))[0]?.[0]
  }

  private queuedOf(client?: OracleClient): OracleTask[] {
    return this.tasks.filter(
      (task) => task.state === 'queued' && (client === undefined || task.client === client),
    )
  }

  private hasRoom(keys: readonly string[]): boolean {
    return keys.every((key) => {
      const { maxInFlight = Infinity, perWindow = Infinity } = this.quotas[key] ?? {}
      const running = this.tasks.filter((task) => task.state === 'running' && task.keys.includes(key)).length
      return running < maxInFlight && this.windowOf(key).count < perWindow
    })
  }

  /** Whether quotas have room for a task, and its client has the credits. */
  private mayStart({
    keys,
    charge,
    cost,
    client,
  }: Pick<OracleTask, 'keys' | 'charge' | 'cost' | 'client'>): boolean {
    const isShort = charge === undefined && client.credits < cost
    return this.hasRoom(keys) && !(isShort && this.shares.outOfCredits !== 'run')
  }

  /** The first of each stream of a client. */
  private headsOf(client: OracleClient): OracleTask[] {
    const heads = new Map<string, OracleTask>()
    for (const task of this.queuedOf(client).toSorted((a, b) => a.sequence - b.sequence))
      if (!heads.has(streamOf(task))) heads.set(streamOf(task), task)
    return [...heads.values()]
  }

  private windowOf(key: string): { start: number; count: number } {
    const start = Math.floor((this.startedAt + this.now) / windowMs)
    const known = this.windows.get(key)
    if (known?.start === start) return known
    const fresh = { start, count: 0 }
    this.windows.set(key, fresh)
    return fresh
  }

  /** A client of which something may start is beside the others from now on. Whether anything kept it. */
  private release(client: OracleClient): boolean {
    const wasHeld = this.held.has(client.pool)
    const wasStalled = client.stalled
    this.moveOn(client.pool)
    this.held.delete(client.pool)
    if (wasStalled) this.begin(client, client.pool)
    return wasHeld || wasStalled
  }

  /** What quotas hold back, as far as this round has looked. */
  private holdBack(leftOut: ReadonlySet<string>): void {
    if (!this.looksAtQuotas) return
    const queued = this.queuedOf()
    const startable = queued.filter((task) => !leftOut.has(streamOf(task)) && this.hasRoom(shared(task.keys)))
    const pools = new Set(startable.map(({ client }) => client.pool))
    for (const { client } of queued)
      if (client.pool !== '' && !pools.has(client.pool)) this.held.add(client.pool)
    for (const task of queued.filter((it) => leftOut.has(streamOf(it)))) {
      if (task.client.stalled || !this.hasRoom(shared(task.keys))) continue
      if (this.headsOf(task.client).some((head) => this.mayStart(head))) continue
      task.client.stalled = true
      task.client.written = task.client.time
    }
  }

  /** The whole pool goes on by as much as its first is behind the least of the active. */
  private moveOn(pool: string): void {
    if (!this.held.has(pool)) return
    for (const tier of [0, 1]) {
      const members = [...this.clients.values()].filter((it) => it.pool === pool && this.tier(it) === tier)
      const first = least(members.filter((it) => this.isWaiting(it)))
      const active =
        least(this.active(tier)) ??
        least([...this.clients.values()].filter((it) => this.isBusy(it, tier) && it.pool !== pool))
      if (first === undefined || active === undefined || active <= first) continue
      this.moved.pools += 1
      for (const it of members) {
        it.time += active - first
        it.floor += active - first
      }
    }
  }

  private get looksAtQuotas(): boolean {
    return this.shares.keying === 'dispatch' && this.shares.placement === 'floor'
  }

  private isWaiting(client: OracleClient): boolean {
    return !client.stalled && this.queuedOf(client).length > 0
  }

  private isBusy(client: OracleClient, tier: number): boolean {
    const runs = this.tasks.some((task) => task.client === client && task.state === 'running')
    return this.tier(client) === tier && runs && (client.pool !== '' || !this.isWaiting(client))
  }

  /** The clients of a tier that have tasks queued which could be served. */
  private active(tier: number): OracleClient[] {
    return [...this.clients.values()].filter(
      (it) => this.tier(it) === tier && this.isWaiting(it) && !this.held.has(it.pool),
    )
  }

  private compare(a: readonly [OracleTask, number], b: readonly [OracleTask, number]): number {
    const keys = ([task, rank]: readonly [OracleTask, number]) => [
      rank,
      this.tier(task.client),
      this.dominant(task.client),
      this.shares.keying === 'enqueue' ? task.place : task.client.time,
      task.sequence,
    ]
    const [left, right] = [keys(a), keys(b)]
    for (const [n, key] of left.entries()) if (key !== right[n]) return key - (right[n] ?? 0)
    return 0
  }

  /** The largest part of a capacity that the client's running tasks hold, by what it is entitled to. */
  dominant(client: OracleClient): number {
    const { dominant = {} } = this.shares
    const running = this.tasks.filter((task) => task.client === client && task.state === 'running')
    const parts = Object.entries(dominant).map(([name, capacity]) =>
      name === 'compute'
        ? running.reduce((sum, { cost }) => sum + cost, 0) / (capacity * 1e6)
        : running.reduce((sum, { keys, tokens }) => sum + (keys.includes(name) ? tokens : 0), 0) / capacity,
    )
    const weight = (Math.max(client.credits / 1e6, 1) / 1_000) * (client.tier === 'contracted' ? 4 : 1)
    return Math.max(0, ...parts) / weight
  }

  private rank({ lane, queuedAt }: OracleTask): number {
    const waited = this.agingMs === undefined ? 0 : Math.floor((this.now - queuedAt) / this.agingMs)
    return laneRank[lane] - waited
  }

  private tier({ tier }: OracleClient): number {
    return this.shares.tierPolicy === 'weighted' ? 0 : clientTiers.indexOf(tier)
  }

  private arrive(
    client: OracleClient,
    keys: readonly string[],
    task: Pick<OracleTask, 'charge' | 'cost'>,
  ): void {
    const queued = this.queuedOf(client)
    if (queued.length === 0) {
      this.moveOn(this.poolOf([keys]))
      this.begin(client, this.poolOf([keys]))
    } else if (client.stalled && this.mayStart({ ...task, keys, client })) this.begin(client, client.pool)
    this.join(client, this.poolOf([...queued.map((it) => it.keys), keys]))
    client.written = client.time
  }

  private leaveQueue(task: OracleTask): void {
    const { client } = task
    const left = this.queuedOf(client).filter((it) => it !== task)
    this.join(client, this.poolOf(left.map((it) => it.keys)))
    if (left.length === 0) client.stalled = false
    client.written = client.time
  }

  private join(client: OracleClient, pool: string): void {
    if (pool === client.pool) return
    this.moveOn(client.pool)
    this.moveOn(pool)
    const before = client.pool
    client.pool = pool
    if (![...this.clients.values()].some((it) => it.pool === before)) this.held.delete(before)
  }

  private poolOf(tasks: readonly (readonly string[])[]): string {
    const kinds = tasks.map((keys) => shared(keys).join())
    return !this.looksAtQuotas || kinds.includes('') ? '' : [...new Set(kinds)].toSorted().join(' ')
  }

  private begin(client: OracleClient, pool: string): void {
    const tier = this.tier(client)
    const inTier = [...this.clients.values()].filter((it) => this.tier(it) === tier)
    const active =
      least(this.active(tier)) ??
      least(inTier.filter((it) => it.pool === pool && this.isWaiting(it))) ??
      least(inTier.filter((it) => this.isBusy(it, tier))) ??
      least(inTier.filter((it) => this.isWaiting(it)))
    if (this.shares.placement === 'floor' && active !== undefined) client.time = Math.max(client.time, active)
    if (client.stalled) this.moved.clients += 1
    client.floor = client.time
    client.stalled = false
    client.written = client.time
  }

  private settle(task: OracleTask): void {
    if (task.state === 'queued') this.leaveQueue(task)
    task.state = 'over'
    task.client.written = task.client.time
    if (task.charge === undefined) return
    const { client } = task
    const cost = task.used > 0 ? task.used : task.cost
    settleCharge(client, { charge: task.charge, estimate: task.cost, cost })
    if (this.shares.ledger) client.credits -= cost - task.cost
    client.written = client.time
  }
}

function least(clients: readonly OracleClient[]): number | undefined {
  return clients.length === 0 ? undefined : Math.min(...clients.map(({ time }) => time))
}

function shared(keys: readonly string[]): readonly string[] {
  return keys.filter((key) => !key.startsWith('client:'))
}

function streamOf({ lane, keys, client }: OracleTask): string {
  return `${lane} ${keys.join()} ${client.name}`
}

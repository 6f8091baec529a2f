import {
  type ClientTier,
  clientTiers,
  laneRank,
  lanes,
  type Lane,
  type SharesConfig,
} from '@ku0/agent-runtime-core'

// Fair shares as a few lines that look at everything each time. Source: `docs/semantics.md 11`, C5.

export interface OracleTask {
  readonly sequence: number
  readonly client: OracleClient
  readonly lane: Lane
  readonly cost: number
  readonly place: number
  readonly queuedAt: number
  state: 'queued' | 'running' | 'over'
  charge: number | undefined
  used: number
}

export interface OracleClient {
  readonly name: string
  credits: number
  tier: ClientTier
  time: number
  floor: number
  spent: number
}

export class SharesOracle {
  readonly tasks: OracleTask[] = []
  readonly clients = new Map<string, OracleClient>()
  readonly started: number[] = []
  now = 0
  slots: number
  private readonly shares: SharesConfig
  private readonly agingMs: number | undefined

  constructor(shares: SharesConfig, agingMs: number | undefined, slots: number) {
    this.shares = shares
    this.agingMs = agingMs
    this.slots = slots
  }

  client(name: string): OracleClient {
    const known = this.clients.get(name)
    if (known !== undefined) return known
    const client: OracleClient = { name, credits: 1e9, tier: 'marketplace', time: 0, floor: 0, spent: 0 }
    this.clients.set(name, client)
    return client
  }

  submit(sequence: number, name: string, lane: Lane, cost: number): void {
    const client = this.client(name)
    this.arrive(client)
    this.tasks.push({
      sequence,
      client,
      lane,
      cost: cost * 1e6,
      place: client.time,
      queuedAt: this.now,
      state: 'queued',
      charge: undefined,
      used: 0,
    })
    this.claim()
  }

  set(name: string, credits: number | undefined, tier: ClientTier | undefined): void {
    const client = this.client(name)
    if (credits !== undefined) client.credits = credits * 1e6
    if (tier !== undefined) client.tier = tier
    this.claim()
  }

  /** Its slot is told to be free afterwards. */
  finish(task: OracleTask, used: number): void {
    task.used += used * 1e6
    this.settle(task)
  }

  requeue(task: OracleTask): OracleTask {
    this.arrive(task.client)
    const again: OracleTask = {
      ...task,
      state: 'queued',
      queuedAt: this.now,
      place: Math.min(task.place, task.client.time),
    }
    task.state = 'over'
    this.tasks[this.tasks.indexOf(task)] = again
    return again
  }

  cancel(task: OracleTask): void {
    this.settle(task)
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
    while (this.slots > 0) {
      const next = this.next()
      if (next === undefined) return
      this.slots -= 1
      next.state = 'running'
      this.started.push(next.sequence)
      if (next.charge !== undefined) continue
      next.charge = this.increment(next.cost, next.client)
      next.client.time += next.charge
      if (this.shares.ledger) next.client.credits -= next.cost
    }
  }

  /** Of each lane the first by shares, at the lane's rank, and the one submitted first, at the rank that waiting has lifted it to. */
  private next(): OracleTask | undefined {
    const queued = this.tasks.filter(({ state }) => state === 'queued')
    const candidates = lanes.flatMap((lane) => {
      const own = queued.filter((task) => task.lane === lane)
      const [first] = own.toSorted((a, b) => this.compare([a, 0], [b, 0]))
      const [oldest] = own.toSorted((a, b) => a.sequence - b.sequence)
      if (first === undefined || oldest === undefined) return []
      return [[first, laneRank[lane]] as const, [oldest, this.rank(oldest)] as const]
    })
    return candidates.toSorted((a, b) => this.compare(a, b))[0]?.[0]
  }

  private compare(a: readonly [OracleTask, number], b: readonly [OracleTask, number]): number {
    const keys = ([task, rank]: readonly [OracleTask, number]) => [
      rank,
      this.tier(task.client),
      this.shares.keying === 'enqueue' ? task.place : task.client.time,
      task.sequence,
    ]
    const [left, right] = [keys(a), keys(b)]
    for (const [n, key] of left.entries()) if (key !== right[n]) return key - (right[n] ?? 0)
    return 0
  }

  private rank({ lane, queuedAt }: OracleTask): number {
    const waited = this.agingMs === undefined ? 0 : Math.floor((this.now - queuedAt) / this.agingMs)
    return laneRank[lane] - waited
  }

  private tier({ tier }: OracleClient): number {
    return this.shares.tierPolicy === 'weighted' ? 0 : clientTiers.indexOf(tier)
  }

  private increment(cost: number, { credits, tier }: OracleClient): number {
    const weight = tier === 'contracted' ? 4 : 1
    return Math.max(1, Math.round((cost * 1000) / (Math.max(credits / 1e6, 1) * weight)))
  }

  private arrive(client: OracleClient): void {
    const has = (it: OracleClient, state: OracleTask['state']) =>
      this.tasks.some((task) => task.client.name === it.name && task.state === state)
    if (has(client, 'queued')) return
    const tier = [...this.clients.values()].filter((it) => this.tier(it) === this.tier(client))
    const waiting = tier.filter((it) => has(it, 'queued'))
    const busy = tier.filter((it) => has(it, 'running'))
    const least = Math.min(...(waiting.length > 0 ? waiting : busy).map(({ time }) => time))
    if (this.shares.placement === 'floor' && Number.isFinite(least))
      client.time = Math.max(client.time, least)
    client.floor = client.time
  }

  private settle(task: OracleTask): void {
    task.state = 'over'
    if (task.charge === undefined) return
    const { client } = task
    const cost = task.used > 0 ? task.used : task.cost
    const settled =
      task.charge >= 1_000 ? Math.round(task.charge * (cost / task.cost)) : this.increment(cost, client)
    const time = client.time + settled - task.charge
    client.time = settled >= task.charge ? time : Math.max(Math.min(client.time, client.floor), time)
    client.spent += cost
    if (this.shares.ledger) client.credits -= cost - task.cost
  }
}

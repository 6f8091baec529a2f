import { laneRank, type ClientTier, clientTiers, type SharesConfig } from '@ku0/agent-runtime-core'
import type { ModelTask } from './records.ts'
import { type ModelClient } from './records.ts'

// The reference model's shares, where no quota holds anybody back: virtual times by their definition. Source: `docs/semantics.md 11`, C5.

export class ModelShares {
  readonly clients = new Map<string, ModelClient>()
  private readonly config: SharesConfig
  private readonly agingMs: number | undefined
  private readonly tasks: readonly ModelTask[]

  constructor(config: SharesConfig, agingMs: number | undefined, tasks: readonly ModelTask[]) {
    this.config = config
    this.agingMs = agingMs
    this.tasks = tasks
  }

  client(name: string): ModelClient {
    const known = this.clients.get(name)
    if (known !== undefined) return known
    const client: ModelClient = newModelClient(name)
    this.clients.set(name, client)
    return client
  }

  /** A task is about to count as queued. One that goes back runs until then, so that its client stays where it is. */
  arrive({ account }: ModelTask, queuedAt: number): void {
    const client = this.client(account.client)
    account.queuedAt = queuedAt
    if (!this.tasks.some((it) => isWaiting(it) && it.account.client === client.name)) {
      const least = this.leastOf(client, isWaiting) ?? this.leastOf(client, isRunning)
      if (this.config.placement === 'floor') client.time = Math.max(client.time, least ?? 0)
      client.floor = client.time
    }
    account.place = Math.min(account.place ?? Infinity, client.time)
  }

  /** The estimate is charged at the first start; what its caller runs takes nobody's turn. */
  start({ account, isHeld }: ModelTask): void {
    const client = this.client(account.client)
    if (account.charge !== undefined || isHeld) return
    account.charge = increment(account.cost, client)
    client.time += account.charge
    if (!this.config.ledger) return
    client.credits -= account.cost
    client.reserved += account.cost
  }

  /** A task is over: what it cost takes the place of what was charged for it. */
  settle({ account }: ModelTask): void {
    if (account.charge === undefined) return
    const client = this.client(account.client)
    const cost = account.used > 0 ? account.used : account.cost
    settleCharge(client, { charge: account.charge, estimate: account.cost, cost })
    if (!this.config.ledger) return
    client.credits -= cost - account.cost
    client.reserved -= account.cost
  }

  /**
   * The tasks that come next: of each lane and type the first by shares, each client's tasks in their order, at the lane's rank, and the oldest, at
   * the one that waiting has lifted it to.
   */
  first(tasks: readonly ModelTask[], now: number): ModelTask | undefined {
    const ranked = [...Map.groupBy(tasks, ({ lane, type }) => `${lane} ${type}`).values()].flatMap((own) => {
      const rank = laneRank[own[0]?.lane ?? 'batch']
      const inOrder = own.toSorted((a, b) => a.sequence - b.sequence)
      const heads = Map.groupBy(inOrder, ({ account }) => account.client).values()
      const all = [...heads].flatMap(([task]) => (task === undefined ? [] : [{ task, rank }]))
      const [oldest] = inOrder
      if (this.agingMs === undefined || oldest === undefined) return all
      const lifts = Math.floor((now - oldest.account.queuedAt) / this.agingMs)
      return [...all, { task: oldest, rank: rank - lifts }]
    })
    return ranked.toSorted(
      (a, b) =>
        a.rank - b.rank ||
        this.tierOf(a.task) - this.tierOf(b.task) ||
        this.timeOf(a.task) - this.timeOf(b.task) ||
        a.task.sequence - b.task.sequence,
    )[0]?.task
  }

  private leastOf({ tier }: ModelClient, isActive: (task: ModelTask) => boolean): number | undefined {
    const times = this.tasks
      .filter(isActive)
      .map(({ account }) => this.client(account.client))
      .filter((it) => this.rankOf(it.tier) === this.rankOf(tier))
      .map(({ time }) => time)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  private timeOf({ account }: ModelTask): number {
    return this.config.keying === 'enqueue' ? (account.place ?? 0) : this.client(account.client).time
  }

  private tierOf({ account }: ModelTask): number {
    return this.rankOf(this.client(account.client).tier)
  }

  private rankOf(tier: ClientTier): number {
    return this.config.tierPolicy === 'weighted' ? 0 : clientTiers.indexOf(tier)
  }
}

export function newModelClient(name: string): ModelClient {
  return { name, credits: 1e9, tier: 'marketplace', time: 0, floor: 0, spent: 0, reserved: 0 }
}

/** The time that a cost adds to a client's time. */
export function increment(cost: number, { credits, tier }: ModelClient): number {
  const weight = tier === 'contracted' ? 4 : 1
  return Math.max(1, Math.round((cost * 1000) / (Math.max(credits / 1e6, 1) * weight)))
}

/** A charge is replaced by what the cost adds at the rate of the start, or at the present one where the charge cannot tell that. */
export function settleCharge(
  client: ModelClient,
  { charge, estimate, cost }: { readonly charge: number; readonly estimate: number; readonly cost: number },
): void {
  const settled = charge >= 1_000 ? Math.round(charge * (cost / estimate)) : increment(cost, client)
  const time = client.time + settled - charge
  client.time = settled >= charge ? time : Math.max(Math.min(client.time, client.floor), time)
  client.spent += cost
}

function isWaiting({ state, dueAt }: ModelTask): boolean {
  return state === 'queued' && dueAt === undefined
}

function isRunning({ state }: ModelTask): boolean {
  return state === 'running'
}

import assert from 'node:assert/strict'
import { openWorkingSet } from '../../src/transition/open-working-set.ts'
import { type ExecutionConfig } from '../../src/config/schema.ts'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import { clientTiers } from '../../src/share/client.ts'
import { entriesOf, type ShareTree } from '../../src/share/share-tree.ts'
import type { Submission } from '../../src/submit/submission.ts'
import { cancel } from '../../src/task/cancel.ts'
import { putClient } from '../../src/share/put-client.ts'
import {
  type Base,
  ClaimRound,
  type ClientRow,
  gone,
  type Heads,
  OPEN,
  poolAmong,
  shareOrderOf,
  type SharePool,
  type StreamRow,
  type TaskRow,
  type WorkingSet,
} from '../../src/transition.ts'
import { release, settle } from '../../src/task/settle.ts'
import { submitOne } from '../../src/submit/submit.ts'
import { MICRO } from '../../src/budget/usage.ts'
import { ids, now, worker, workingSet } from '../transition/rows.ts'

/** What a task says that it cost, in units. */
const usage = (cost: number) => ({ tokens: 0, money: 0, cost: cost * MICRO })

/**
 * A store whose clients share what slots there are, in memory: each call is a flush that is committed. After each, the order that was kept
 * has to be the one that the rows make.
 */
export class SharedStore {
  readonly config: ExecutionConfig
  at = now.at
  base: Base

  constructor(shares: object = {}, more: object = {}) {
    this.config = parseExecutionConfig({ shares, ...more }).config
    this.base = workingSet({ streams: [], workers: [worker], depth: 0, delayed: 0 }).base
  }

  flush<Answer>(change: (ws: WorkingSet) => Answer): Answer {
    const ws = this.workingSet()
    const answer = change(ws)
    this.base = committed(ws)
    this.holds()
    return answer
  }

  workingSet(): WorkingSet {
    const { around } = workingSet({})
    return openWorkingSet(
      this.base,
      { at: this.at, leaseAt: now.leaseAt },
      { ...around, config: this.config },
    )
  }

  /** A task of each of these clients, in this order, all in one commit. */
  submit(clients: string, more: Partial<Submission> = {}): void {
    this.flush((ws) => {
      for (const client of clients) {
        const receipt = submitOne(ws, { type: 'work', lane: 'normal', input: '1', client, ...more })
        assert(receipt.accepted)
      }
    })
  }

  /** Whose tasks start on so many free slots, one after the other. */
  claim(capacity = 1): string {
    return this.flush((ws) => {
      const demander = { ...worker, worker: worker.id, capacity, inFlight: 0, types: ['work'] }
      const round = new ClaimRound(ws, [{ ...demander, lastSeenAt: now.leaseAt }], new Map())
      assert.equal(round.run(), undefined)
      return round.grants.map(({ task }) => ws.stream(task.stream ?? 0).client).join('')
    })
  }

  /** The oldest task of a client that runs is over; it says what it cost, or nothing. */
  settle(client: string, cost?: number): void {
    const leaseId = this.leaseOf(client)
    const charged = cost === undefined ? {} : { charged: usage(cost) }
    this.flush((ws) =>
      settle(ws, { kind: 'settle', leaseId, settlement: { as: 'completed', output: 'null' }, ...charged }),
    )
  }

  /** It goes back to the queue. */
  release(client: string): void {
    const leaseId = this.leaseOf(client)
    this.flush((ws) => release(ws, { leaseId, reason: 'yielded' }))
  }

  /** The first of its tasks that is queued is canceled. */
  cancel(client: string): void {
    const id = this.first(client, 'queued').id
    this.flush((ws) => cancel(ws, { taskId: ids.task(id) }))
  }

  put(name: string, it: { credits?: number; tier?: (typeof clientTiers)[number] }): void {
    this.flush((ws) => putClient(ws, { kind: 'putClient', name, ...it }))
  }

  /** Whose tasks start, each when the one before is over. */
  served(most = Number.POSITIVE_INFINITY): string {
    let order = ''
    while (order.length < most) {
      const client = this.claim()
      if (client === '') break
      order += client
      this.settle(client)
    }
    return order
  }

  client(name: string): ClientRow {
    const row = this.base.clients.get(name)
    if (row === undefined) throw new Error(`there is no client ${name}`)
    return row
  }

  /** The virtual time of each of these, in units, by the clock of its pool. */
  times(clients: string): readonly number[] {
    return Array.from(clients, (name) => {
      const { time, seen, pool, tier } = this.client(name)
      const { tierPolicy } = this.config.shares ?? {}
      const ahead = this.pool(pool)?.ahead[tierPolicy === 'weighted' ? 0 : clientTiers.indexOf(tier)] ?? 0
      return (time + ahead - seen) / MICRO
    })
  }

  pool(name: string): SharePool | undefined {
    return this.base.shares.pools.get(name)
  }

  first(client: string, state: TaskRow['state']): TaskRow {
    for (const task of this.tasksOf(client)) if (task.state === state) return task
    throw new Error(`no task of ${client} is ${state}`)
  }

  private leaseOf(client: string): string {
    return ids.lease(this.first(client, 'running').lease ?? 0)
  }

  private tasksOf(client: string): readonly TaskRow[] {
    const { tasks, streams } = this.base
    return [...tasks.values()].filter(({ stream }) => streams.get(stream ?? 0)?.client === client)
  }

  /** What is kept from flush to flush is what the rows say. */
  private holds(): void {
    const { base, config } = this
    const { shares, agingMs } = config
    if (shares === undefined) throw new Error('there are no shares')
    const streams = [...base.streams.values()]
    for (const { name, queued, running, pool } of base.clients.values()) {
      const tasks = this.tasksOf(name)
      const count = (state: TaskRow['state']) =>
        tasks.filter((task) => task.state === state && task.dueAt === null).length
      const waiting = streams.filter(({ client, depth }) => client === name && depth > 0)
      assert.deepEqual(
        { name, queued, running, pool },
        {
          name,
          queued: count('queued'),
          running: count('running'),
          pool: poolAmong(waiting, shares),
        },
      )
    }
    const order = shareOrderOf(streams, base.clients, shares)
    assert.deepEqual(base.shares.entries, order.entries)
    assert.deepEqual(told(base.shares.trees), told(order.trees))
    assert.deepEqual(told(base.shares.ages), agingMs === undefined ? {} : told(order.ages))
    assert.deepEqual(members(base.shares.pools), members(order.pools))
  }
}

/** Entries by tree; trees that are empty are none. */
function told(trees: ReadonlyMap<string, ShareTree>): object {
  const filled = [...trees].filter(([, tree]) => tree !== undefined)
  return Object.fromEntries(filled.map(([key, tree]) => [key, [...entriesOf(tree)]]))
}

/** Who is in which pool; where nobody has anything under way is none. */
function members(pools: ReadonlyMap<string, SharePool>): object {
  const tiers = (trees: readonly ShareTree[]) => clientTiers.map((_, tier) => [...entriesOf(trees[tier])])
  const rows = Array.from(
    pools,
    ([name, { members: count, waiting, busy }]) =>
      [name, { count, waiting: tiers(waiting), busy: tiers(busy) }] as const,
  )
  const isUsed = ({ count, waiting, busy }: (typeof rows)[number][1]) =>
    count + [...waiting, ...busy].flat().length > 0
  return Object.fromEntries(rows.filter(([, row]) => isUsed(row)))
}

/** The rows and the order as the next flush finds them. */
function committed(ws: WorkingSet): Base {
  const { base, shares } = ws
  if (shares === undefined) throw new Error('there are no shares')
  const tasks = new Map([...base.tasks, ...ws.tasks.changed])
  const streams = new Map([...base.streams, ...ws.streams.changed])
  const heads = new Map<number, Heads>()
  const streamsByClient = new Map<string, number[]>()
  for (const { id, client } of streams.values()) {
    const rows = [...tasks.values()].filter(
      ({ stream, state, dueAt }) => stream === id && state === 'queued' && dueAt === null,
    )
    heads.set(id, {
      rows: rows.toSorted((a, b) => a.id - b.id),
      upTo: ws.nextTask - 1,
      complete: true,
    })
    streamsByClient.set(client, [...(streamsByClient.get(client) ?? []), id])
  }
  const kept = <Key, Row>(rows: Iterable<readonly [Key, Row]>, is: (key: Key, row: Row) => boolean) =>
    new Map([...new Map(rows)].filter(([key, row]) => is(key, row)))
  const order = base.shares
  return {
    ...base,
    tasks,
    streams,
    heads,
    streamsByClient,
    streamsByKey: new Map(
      Array.from(streams.values(), (row) => [row.key, row] satisfies [string, StreamRow]),
    ),
    leases: new Map([...base.leases, ...ws.leases.changed]),
    quotas: new Map([...base.quotas, ...ws.quotas.changed]),
    clients: new Map(Array.from(ws.clients.all(), (row) => [row.name, row])),
    shares: {
      trees: new Map([...order.trees, ...shares.trees]),
      ages: new Map([...order.ages, ...shares.ages]),
      entries: kept([...order.entries, ...shares.entries], (_, entry) => entry !== gone),
      pools: kept([...order.pools, ...shares.pools], (name, pool) => pool.members > 0 || name === OPEN),
    },
    totals: ws.totals,
    depth: ws.depth,
    delayed: ws.delayed,
    next: {
      task: ws.nextTask,
      lease: ws.nextLease,
      stream: ws.nextStream,
      worker: ws.nextWorker,
      client: ws.nextClient,
    },
  }
}

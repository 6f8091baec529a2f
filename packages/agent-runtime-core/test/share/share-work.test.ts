import { describe, expect, test } from 'vitest'
import { openWorkingSet } from '../../src/transition/open-working-set.ts'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import type { ShareTree } from '../../src/share/share-tree.ts'
import {
  type Base,
  ClaimRound,
  type ClientRow,
  type Demander,
  type Heads,
  newClient,
  poolAmong,
  shareOrderOf,
  type StreamRow,
  type TaskRow,
  type WorkingSet,
} from '../../src/transition.ts'
import { enqueue, streamFor } from '../../src/queue/stream.ts'
import { now, task, workingSet } from '../transition/rows.ts'

const { config } = parseExecutionConfig({
  shares: {},
  quotaConfig: { models: { m: { maxInFlight: 1, onExceeded: 'defer' } } },
})

/** What was looked at of what is committed: nodes of trees, and rows. */
const work = { count: 0 }

/** Counts every row that is read, one by one or in a walk. */
class Rows<K, V> extends Map<K, V> {
  override get(key: K): V | undefined {
    work.count += 1
    return super.get(key)
  }
  override *keys(): MapIterator<K> {
    for (const key of super.keys()) {
      work.count += 1
      yield key
    }
  }
  override *values(): MapIterator<V> {
    for (const value of super.values()) {
      work.count += 1
      yield value
    }
  }
  override *entries(): MapIterator<[K, V]> {
    for (const entry of super.entries()) {
      work.count += 1
      yield entry
    }
  }
  override [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries()
  }
}

type Node = NonNullable<ShareTree>

/** Counts when it is passed on the way down. */
class CountedNode implements Node {
  readonly entry: Node['entry']
  readonly right: ShareTree
  readonly size: number
  readonly #left: ShareTree

  constructor({ entry, left, right, size }: Node) {
    this.entry = entry
    this.#left = countedTree(left)
    this.right = countedTree(right)
    this.size = size
  }

  get left(): ShareTree {
    work.count += 1
    return this.#left
  }
}

function countedTree(tree: ShareTree): ShareTree {
  return tree && new CountedNode(tree)
}

const queuedTask = (id: number, stream: number): TaskRow => ({
  ...task,
  id,
  stream,
  state: 'queued',
  attempt: 1,
  fence: 0,
  lease: null,
})

const demander: Demander = {
  worker: 4,
  workerId: 'w',
  capacity: 1,
  inFlight: 0,
  lastSeenAt: now.leaseAt,
  draining: false,
  types: ['*'],
}

interface Kind {
  /** All but one client have tasks of this model only. */
  readonly model?: string
  /** How many of it run. */
  readonly running?: number
}

/** A store with one stream each of so many clients, `tasks` in all, and one more whose task nothing limits. */
function storeOf(clients: number, tasks: number, { model, running = 0 }: Kind): Base {
  const { base: empty, around } = workingSet({})
  const nothing = { ...empty, streams: new Map(), streamsByKey: new Map(), depth: 0, delayed: 0 }
  const ws = openWorkingSet(nothing, now, { ...around, config })
  const shares = config.shares ?? fail()
  const rows = new Map<string, ClientRow>()
  const heads: [number, Heads][] = []
  // Each client has a time of its own, and the free one is ahead of all.
  const add = (client: string, depth: number, time: number, quotaKeys: readonly string[]) => {
    const { id } = streamFor(ws, { lane: 'normal', type: 'work', client }, quotaKeys)
    const stream = Object.assign(ws.draftStream(id), { depth, head: id })
    const pool = poolAmong([stream], shares)
    rows.set(client, { ...newClient(id, client), queued: depth, time, pool })
    heads.push([id, { rows: [queuedTask(id, id)], upTo: id, complete: depth === 1 }])
  }
  const keys = model === undefined ? [] : [`model:${model}`]
  for (let n = 0; n < clients; n++) add(`c${n}`, tasks / clients, n, keys)
  add('free', 1, 1e9, [])
  const order = shareOrderOf(ws.streams.changed.values(), rows, shares)
  const byClient = new Rows<string, number[]>()
  for (const { id: stream, client } of ws.streams.changed.values()) byClient.set(client, [stream])
  const counted = (trees: Iterable<readonly [string, ShareTree]>) =>
    new Map(Array.from(trees, ([key, tree]) => [key, countedTree(tree)]))
  const pools = Array.from(
    order.pools,
    ([name, pool]) =>
      [name, { ...pool, waiting: pool.waiting.map(countedTree), busy: pool.busy.map(countedTree) }] as const,
  )
  const quota = { queued: tasks, running, windowStart: 0, windowCount: 0, windowTokens: 0, blockedUntil: 0 }
  return {
    ...nothing,
    streams: new Rows<number, StreamRow>(ws.streams.changed),
    streamsByKey: new Rows(ws.streamsByKey.changed),
    clients: new Rows(rows),
    streamsByClient: byClient,
    shares: { ...order, trees: counted(order.trees), pools: new Map(pools) },
    quotas: new Map(model === undefined ? [] : [[`model:${model}`, { key: `model:${model}`, ...quota }]]),
    heads: new Rows(heads),
    depth: tasks + 1,
    next: { ...nothing.next, task: tasks + 2, stream: ws.nextStream, client: clients + 2 },
  }
}

function fail(): never {
  throw new Error('there are no shares')
}

/** What one flush over a store looks at. */
function workOf(base: Base, flush: (ws: WorkingSet) => void): number {
  const ws = openWorkingSet(base, now, { ...workingSet({}).around, config })
  work.count = 0
  flush(ws)
  return work.count
}

const submit =
  (client: string, model?: string) =>
  (ws: WorkingSet): void => {
    const keys = model === undefined ? [] : [`model:${model}`]
    enqueue(ws, queuedTask(ws.nextTask++, streamFor(ws, { lane: 'normal', type: 'work', client }, keys).id))
  }
const claim =
  (client: string) =>
  (ws: WorkingSet): void => {
    const round = new ClaimRound(ws, [{ ...demander }], new Map())
    expect(round.run()).toBeUndefined()
    expect(round.grants.map((it) => ws.stream(it.task.stream ?? 0).client)).toEqual([client])
  }

const sizes = [
  { clients: 1_000, tasks: 1_000 },
  { clients: 10_000, tasks: 10_000 },
  { clients: 10_000, tasks: 100_000 },
]

describe('the rows that a flush looks at where there are shares (docs/semantics.md 11.7)', () => {
  const cases: (readonly [what: string, kind: Kind, flush: (ws: WorkingSet) => void])[] = [
    ['a claim', {}, claim('c0')],
    ['a submission of a new client', {}, submit('new')],
    ['a submission of one that waits', {}, submit('c7')],
    ['a claim beside clients that are held back', { model: 'm', running: 1 }, claim('free')],
    ['a new client beside clients that are held back', { model: 'm', running: 1 }, submit('new')],
    ['a new client among clients that are held back', { model: 'm', running: 1 }, submit('new', 'm')],
    ['a free task of one that is held back', { model: 'm', running: 1 }, submit('c7')],
    ['a claim where the quota has room again', { model: 'm' }, claim('c0')],
  ]
  const stores = cases.map(([, kind]) => JSON.stringify(kind))
  const made = new Map(
    [...new Set(stores)].map((kind) => [
      kind,
      sizes.map(({ clients, tasks }) => storeOf(clients, tasks, JSON.parse(kind) as Kind)),
    ]),
  )

  test.each(cases)(
    '11.7 %s: no more than the logarithm of 10 000 clients, however many tasks',
    (_, kind, flush) => {
      const counts = (made.get(JSON.stringify(kind)) ?? []).map((base) => workOf(base, flush))
      const [least = 0, ...others] = counts
      expect(least).toBeGreaterThan(2)
      expect(least).toBeLessThan(150)
      for (const [n, count] of others.entries()) {
        const doublings = Math.log2((sizes[n + 1]?.clients ?? 1) / (sizes[0]?.clients ?? 1))
        // Each time the clients double, each of the trees is one node deeper, and is gone through a few times.
        expect(count - least).toBeLessThanOrEqual(20 * doublings)
      }
    },
  )
})

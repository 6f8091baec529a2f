import { clientTiers } from './client.ts'
import {
  compareShares,
  firstOf,
  type ShareEntry,
  type ShareTree,
  sortedTree,
  withEntry,
  withoutEntry,
} from './share-tree.ts'
import { sharedKeys } from '../queue/stream.ts'
import type { ClientRow } from './row.ts'
import type { SharePool } from './shares.ts'
import { OPEN } from './open-pool.ts'

const emptyPool: SharePool = { members: 0, held: false, ahead: [], waiting: [], busy: [] }

/** The name of the pool that a client is in by the quota keys of the streams in which it has tasks queued. */
export function poolOf(streams: Iterable<{ readonly quotaKeys: readonly string[] }>): string {
  const kinds = new Set<string>()
  for (const { quotaKeys } of streams) {
    const keys = sharedKeys(quotaKeys)
    if (keys.length === 0) return OPEN
    kinds.add(JSON.stringify(keys))
  }
  return [...kinds].toSorted().join('\n')
}

/**
 * The pools that clients make with what each has under way. How far they were ahead is not known any more: whichever has anything that may start
 * is placed beside the active first.
 */
export function poolsOf(
  clients: Iterable<ClientRow>,
  tierOf: (client: ClientRow) => number,
): Map<string, SharePool> {
  const byPool = new Map<string, ClientRow[]>()
  for (const client of clients) {
    const others = byPool.get(client.pool)
    if (others === undefined) byPool.set(client.pool, [client])
    else others.push(client)
  }
  return new Map(
    Array.from(byPool, ([name, members]) => {
      const trees = (holds: (client: ClientRow) => boolean) => {
        const tiers: ShareEntry[][] = clientTiers.map(() => [])
        for (const client of members)
          if (holds(client)) (tiers[tierOf(client)] as ShareEntry[]).push(entryOf(client, tierOf))
        return tiers.map(sortedTree)
      }
      const isHeld = name !== OPEN
      const count = isHeld ? members.length : 0
      return [
        name,
        { members: count, held: isHeld, ahead: [], waiting: trees(isWaiting), busy: trees(isBusy) },
      ] as const
    }),
  )
}

/** The pools of one flush: the committed ones below, what changed on top. */
export class SharePools {
  readonly changed = new Map<string, SharePool>()
  private readonly base: ReadonlyMap<string, SharePool>
  private readonly tierOf: (client: ClientRow) => number

  constructor(base: ReadonlyMap<string, SharePool>, tierOf: (client: ClientRow) => number) {
    this.base = base
    this.tierOf = tierOf
  }

  get(name: string): SharePool {
    return this.changed.get(name) ?? this.base.get(name) ?? emptyPool
  }

  *names(): Iterable<string> {
    yield* this.base.keys()
    for (const name of this.changed.keys()) if (!this.base.has(name)) yield name
  }

  /** Whether there are any but the one that is always open. */
  get any(): boolean {
    for (const name of this.names()) if (name !== OPEN && this.get(name).members > 0) return true
    return false
  }

  ahead(client: ClientRow): number {
    return this.get(client.pool).ahead[this.tierOf(client)] ?? 0
  }

  /** A client as it is by its pool's clock. */
  current(client: ClientRow): ClientRow {
    const by = this.ahead(client) - client.seen
    if (by === 0) return client
    return { ...client, time: client.time + by, floor: client.floor + by, seen: client.seen + by }
  }

  /**
   * The least time of the active of a tier: of those that could be served, else of those in the pool that is joined, else of those that
   * run, else of all that wait.
   */
  least(tier: number, joined: string): number | undefined {
    return (
      this.leastOf(tier, ({ held, waiting }) => (held ? undefined : waiting[tier])) ??
      this.firstTime(this.get(joined), tier) ??
      this.leastOf(tier, ({ busy }) => busy[tier]) ??
      this.leastOf(tier, ({ waiting }) => waiting[tier])
    )
  }

  /** Puts a client where it stands now. */
  move(before: ClientRow, after: ClientRow): void {
    this.shift('waiting', isWaiting, before, after)
    this.shift('busy', isBusy, before, after)
  }

  join(name: string, by: number): void {
    if (name === OPEN) return
    const pool = this.get(name)
    const members = pool.members + by
    this.changed.set(name, members === 0 ? emptyPool : { ...pool, members })
  }

  /** The times of a pool that is held go on until its first is beside the active: the distances between its members stay. */
  sync(name: string): void {
    const pool = this.get(name)
    if (!pool.held) return
    const ahead = [...pool.ahead]
    for (const [tier, tree] of pool.waiting.entries()) {
      const first = firstOf(tree)
      if (first === undefined) continue
      const least =
        this.leastOf(tier, ({ held, waiting }) => (held ? undefined : waiting[tier])) ??
        this.leastOf(tier, (other) => (other === pool ? undefined : other.busy[tier]))
      if (least !== undefined) ahead[tier] = Math.max(ahead[tier] ?? 0, least - first.time)
    }
    this.changed.set(name, { ...pool, ahead })
  }

  setHeld(name: string, held: boolean): void {
    const pool = this.get(name)
    if (pool.held !== held && pool.members > 0) this.changed.set(name, { ...pool, held })
  }

  private leastOf(tier: number, treeOf: (pool: SharePool) => ShareTree): number | undefined {
    let least: number | undefined
    for (const name of this.names()) {
      const pool = this.get(name)
      const first = firstOf(treeOf(pool))
      if (first === undefined) continue
      const time = first.time + (pool.ahead[tier] ?? 0)
      least = least === undefined ? time : Math.min(least, time)
    }
    return least
  }

  private firstTime({ waiting, ahead }: SharePool, tier: number): number | undefined {
    const first = firstOf(waiting[tier])
    return first && first.time + (ahead[tier] ?? 0)
  }

  private shift(
    of: 'waiting' | 'busy',
    holds: (client: ClientRow) => boolean,
    before: ClientRow,
    after: ClientRow,
  ): void {
    const was = holds(before) ? entryOf(before, this.tierOf) : undefined
    const is = holds(after) ? entryOf(after, this.tierOf) : undefined
    // Most changes leave a client where it stands.
    if (was && is && before.pool === after.pool && compareShares(was, is) === 0) return
    if (was) this.put(of, before.pool, was, withoutEntry)
    if (is) this.put(of, after.pool, is, withEntry)
  }

  private put(
    of: 'waiting' | 'busy',
    name: string,
    entry: ShareEntry,
    change: (tree: ShareTree, entry: ShareEntry) => ShareTree,
  ): void {
    const pool = this.get(name)
    const trees = [...pool[of]]
    trees[entry.tier] = change(trees[entry.tier], entry)
    this.changed.set(name, { ...pool, [of]: trees })
  }
}

function entryOf(client: ClientRow, tierOf: (client: ClientRow) => number): ShareEntry {
  return { tier: tierOf(client), time: client.time - client.seen, sequence: 0, id: client.id }
}

/** A client that a quota of its own holds back waits for nobody. */
function isWaiting({ queued, stalled }: ClientRow): boolean {
  return queued > 0 && !stalled
}

function isBusy(client: ClientRow): boolean {
  return client.running > 0 && (client.pool !== OPEN || !isWaiting(client))
}

import { agedRank } from './fairness.ts'
import { compareShares, entriesOf, firstOf, type ShareEntry } from './share-tree.ts'
import { sharedKeys } from '../queue/stream.ts'
import type { StreamRow } from '../queue/row.ts'
import type { TaskRow } from '../task/row.ts'
import type { Shares } from './shares.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** A task that may start, and its stream. */
export interface Found {
  readonly task: TaskRow
  readonly row: StreamRow
}

/** The stream that comes next, or the streams whose heads must be loaded to decide it. */
export type Next = Found | { readonly unknown: readonly number[] }

/** The questions of the order of shares to the round of claims. */
export interface RoundOfClaims {
  /** The head of a stream, if it may run. */
  headOf(stream: number): TaskRow | 'unknown' | undefined
  /** Whether any task of a stream's type and lane could start that holds these quota keys. */
  mayRun(stream: StreamRow, quotaKeys: readonly string[]): boolean
  /** Whether nothing but quotas keeps the head of a stream from starting: those that are shared, or those of its client alone. */
  heldBy(stream: number): 'shared' | 'own' | undefined
  /** Whether quotas have room for a task that holds these keys. */
  hasRoom(quotaKeys: readonly string[]): boolean
  /** How many tasks were given out. */
  grants(): number
}

/** Heads that are asked for at once. */
const AT_ONCE = 64

/** The order of one round of claims where there are shares. Source: `docs/semantics.md` C5, 11. */
export class ShareRound {
  private readonly ws: WorkingSet
  private readonly shares: Shares
  private readonly round: RoundOfClaims
  /** Groups of which nothing could start: as of which grant. */
  private readonly closed = new Map<string, number>()
  /** By group: its oldest head, where that has not waited long enough to be lifted. */
  private readonly tooYoung = new Map<string, number>()
  private readonly parked: number[] = []

  constructor(ws: WorkingSet, shares: Shares, round: RoundOfClaims) {
    this.ws = ws
    this.shares = shares
    this.round = round
  }

  /**
   * The head that comes next by the shares of the clients: the first of each group of streams that may run, and of those the first.
   * A head that may not run leaves its stream out for this round. Source: `docs/semantics.md` C5, 11.2.
   */
  next(): Next | undefined {
    const { shares, ws } = this
    for (;;) {
      const first = this.first()
      if (first === undefined) return undefined
      const row = ws.stream(first.id)
      const task = this.round.headOf(row.id)
      if (task === 'unknown') return { unknown: this.unknownFrom(row) }
      if (task === undefined) {
        shares.park(row)
        this.parked.push(row.id)
      } else if (!this.isAsExpected(row, task)) {
        this.correct(row, task)
      } else if (!shares.release(row.client)) {
        return { task, row }
      }
    }
  }

  /** The stream and those behind it in its group, of which no head is known either: they are asked for together. */
  private unknownFrom(row: StreamRow): readonly number[] {
    const found = new Set([row.id])
    let seen = 0
    for (const { id } of entriesOf(this.shares.beside(row))) {
      if (found.size >= AT_ONCE || ++seen > 2 * AT_ONCE) break
      if (this.round.headOf(id) === 'unknown') found.add(id)
    }
    return [...found]
  }

  private first(): Ranked | undefined {
    for (;;) {
      const first = this.firstAsPlaced()
      if (first !== 'misplaced') return first
    }
  }

  /** `misplaced`: a stream stood where it belongs no more, and has been moved. */
  private firstAsPlaced(): Ranked | 'misplaced' | undefined {
    const { shares } = this
    let first: Ranked | undefined
    for (const tree of shares.all()) {
      const entry = firstOf(tree)
      if (entry === undefined) continue
      const { laneRank, group } = this.ws.stream(entry.id)
      if (first !== undefined && laneRank > first.rank && this.ws.config.agingMs === undefined) continue
      if (!this.isOpen(group, entry.id)) continue
      first = earlier(first, { ...shares.placeOf(entry), rank: laneRank })
      const lifted = this.liftedBy(group, laneRank)
      if (lifted === 'misplaced') return lifted
      if (lifted !== undefined) first = earlier(first, lifted)
    }
    return first
  }

  /** The oldest head of a group, where it has waited for so long that it is lifted. */
  private liftedBy(group: string, laneRank: number): Ranked | 'misplaced' | undefined {
    const { config, now } = this.ws
    if (config.agingMs === undefined) return undefined
    const entry = this.shares.oldest(group)
    if (entry === undefined || this.tooYoung.get(group) === entry.sequence) return undefined
    const row = this.ws.stream(entry.id)
    const task = this.round.headOf(entry.id)
    if (task !== 'unknown' && task !== undefined && !this.isAsExpected(row, task)) {
      this.correct(row, task)
      return 'misplaced'
    }
    // A client whose head is not known, or may not run, is looked at first: then its head is known, or it is
    // out of the way.
    const rank =
      task === 'unknown' || task === undefined
        ? Number.NEGATIVE_INFINITY
        : agedRank(laneRank, now.at - task.queuedAt, config.agingMs)
    if (rank === laneRank) {
      this.tooYoung.set(group, entry.sequence)
      return undefined
    }
    return { ...this.shares.placeOf(entry), rank }
  }

  /** The place that its stream was given is the head's. */
  private isAsExpected(row: StreamRow, task: TaskRow): boolean {
    return row.head === task.id && row.place === (task.account?.place ?? row.place)
  }

  /**
   * Whether tasks of a group, of any client, could start: computed once for all of its streams, from what
   * they have in common.
   */
  private isOpen(group: string, member: number): boolean {
    const known = this.closed.get(group)
    if (known === this.round.grants()) return false
    const stream = this.ws.stream(member)
    if (this.round.mayRun(stream, sharedKeys(stream.quotaKeys))) return true
    this.closed.set(group, this.round.grants())
    return false
  }

  /** Clients that quotas hold back are noted, and streams that were left out return for the next round. */
  end(): void {
    if (this.shares.looksAtQuotas) this.lookAtQuotas()
    for (const stream of this.parked) this.shares.replace(this.ws.stream(stream))
  }

  /** A pool is held back when each of its streams was left out for quotas, or is in a group for which they have no room. */
  private lookAtQuotas(): void {
    const { shares, ws, round } = this
    const startable = new Set<string>()
    const stalled = new Set<string>()
    const poolOf = (stream: number) => ws.client(ws.stream(stream).client).pool
    for (const stream of this.parked) {
      const by = round.heldBy(stream)
      if (by === undefined) startable.add(poolOf(stream))
      else if (by === 'own' && this.isStalled(ws.stream(stream).client)) stalled.add(ws.stream(stream).client)
    }
    if (shares.knowsPools)
      for (const tree of shares.all()) {
        const entry = firstOf(tree)
        if (entry !== undefined && round.hasRoom(sharedKeys(ws.stream(entry.id).quotaKeys)))
          startable.add(poolOf(entry.id))
      }
    shares.holdBack(startable, stalled)
  }

  /** Quotas let none of its tasks start. */
  private isStalled(client: string): boolean {
    for (const stream of this.ws.streamsOf(client))
      if (this.ws.stream(stream).depth > 0 && this.round.heldBy(stream) === undefined) return false
    return true
  }

  private correct(row: StreamRow, task: TaskRow): void {
    this.ws.moveHead(row.id, task)
    this.shares.replace(this.ws.stream(row.id))
  }
}

/** A place in the order of shares, with the rank that waiting may have lifted. */
interface Ranked extends ShareEntry {
  readonly rank: number
}

function earlier(a: Ranked | undefined, b: Ranked): Ranked {
  return a === undefined || b.rank < a.rank || (b.rank === a.rank && compareShares(b, a) < 0) ? b : a
}

import type { AccountRow } from '../budget/row.ts'
import type { Holder } from '../queue/holder.ts'
import type { StreamRow } from '../queue/row.ts'
import type { TaskRow } from '../task/row.ts'
import type { ClientRow } from './row.ts'
import type { ShareEntry, ShareTree } from './share-tree.ts'

/**
 * The clients whose queued tasks all hold quotas of the same kinds: they are held back together, and let go together. Their virtual times
 * go by a clock of their own, which is ahead of how they were written. Source: `docs/semantics.md 11.3`.
 */
export interface SharePool {
  readonly members: number
  /** Quotas let none of its tasks start, as far as the last round knows. */
  readonly held: boolean
  /** By tier: how far the times of its members went on since it was made. */
  readonly ahead: readonly number[]
  /** By tier, by virtual time: those that have tasks queued which no quota of their own holds back. */
  readonly waiting: readonly ShareTree[]
  /** The same for clients that only have running tasks. */
  readonly busy: readonly ShareTree[]
}

/** The order of shares as it is committed: streams by group, clients by tier. */
export interface ShareOrder {
  /** By group and pool: the streams that have queued tasks, by the shares of their clients. */
  readonly trees: ReadonlyMap<string, ShareTree>
  /** The same by the age of their heads; only if waiting raises tasks. */
  readonly ages: ReadonlyMap<string, ShareTree>
  /** By stream, its place in its tree. */
  readonly entries: ReadonlyMap<number, Placed>
  /** The clients that have tasks under way, by what could hold these back. */
  readonly pools: ReadonlyMap<string, SharePool>
}

/** Where a stream stands, and in which tree. Its time is by the clock of its client's pool. */
export interface Placed extends ShareEntry {
  readonly tree: string
}

/**
 * The shares of one flush, as the rest of it reads and changes them: the order as it is now, and what changed. The working set has them where there are shares;
 * `ShareBook` is what they are. Source: `docs/semantics.md 11`, C5.
 */
export interface Shares extends ShareOrder {
  /** How many clients there are, when this is one more. */
  crowdedBy(name: string): number | undefined
  /** The streams in order, of each group and pool. */
  all(): Iterable<ShareTree>
  /** The stream of a group whose head was submitted first. */
  oldest(group: string): Placed | undefined
  /** The streams in order among which one stands. */
  beside(row: StreamRow): ShareTree
  /** Where a stream stands among all: by the clock of its pool. */
  placeOf(entry: ShareEntry): ShareEntry
  /** A task is about to count in its stream's depth. The task as it is then. */
  arrive(stream: number, task: TaskRow): TaskRow
  /** A stream's depth has changed by so many. */
  count(row: StreamRow, by: number): void
  /** A task's slot was taken or given back. */
  hold(row: StreamRow, task: TaskRow, from: Holder, to: Holder): void
  /** Charges the estimate of a task that starts; once in its life. */
  charge(task: TaskRow, row: StreamRow, dispatch: number): AccountRow | null
  /** Replaces the estimate of a task that is over by what it cost. */
  settle(task: TaskRow): void
  /**
   * The facts about a client have changed; its streams move to their new places. Its time is by the clock
   * that last set `before`.
   */
  putClient(changed: ClientRow, before: ClientRow): void
  /** A client as another process has written it. */
  takeOver(theirs: ClientRow, before: ClientRow): void
  /** Quotas let a task of this client start: if it was held back, it is beside the active from now on. Whether anything has changed. */
  release(name: string): boolean
  /** After a round: all that is not in one of these pools is held back by quotas that are shared, and these clients by their own. */
  holdBack(startable: ReadonlySet<string>, stalled: ReadonlySet<string>): void
  /** Whether anything could be held back at all. */
  readonly knowsPools: boolean
  /**
   * Whether clients that are held back are treated apart: places that were given with the task, or from 0, do
   * not depend on that.
   */
  readonly looksAtQuotas: boolean
  /** Puts a stream where it belongs now. */
  replace(row: StreamRow): void
  /** Takes a stream out of the order until it is put back by {@link replace}. */
  park(row: StreamRow): void
}

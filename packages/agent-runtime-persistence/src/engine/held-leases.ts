import type { Claim, ExecutionConfig } from '@ku0/agent-runtime-core'
import type { LeaseRow, TaskRow } from '@ku0/agent-runtime-core/transition'
import type { Cache } from './cache.ts'
import type { Database } from './database.ts'
import { got, type Steps } from './steps.ts'
import type { TurnDraft } from './turn.ts'

/** The leases that this process holds, and what it has to hear of them that none of its own flushes says. */
export class HeldLeases {
  /** Leases whose handlers were told that they could not be renewed. */
  readonly lapsed = new Set<number>()
  /** The leases held when the cache had to be dropped: what became of them is told once it is warm again. */
  private dropped: ReadonlyMap<number, LeaseRow> | undefined
  /** The ids that submitters gave to their tasks: the dropped cache knew them. */
  private readonly givenIds = new Map<number, string>()
  private readonly config: ExecutionConfig
  private readonly db: Database
  private readonly cache: Cache
  private readonly draft: TurnDraft

  constructor(config: ExecutionConfig, db: Database, cache: Cache, draft: TurnDraft) {
    this.config = config
    this.db = db
    this.cache = cache
    this.draft = draft
  }

  /** Whether there may be leases or workers to renew. What a cache held that was dropped is known again once the flush has begun. */
  get hasAny(): boolean {
    return this.holdsAny || this.cache.workers.size > 0
  }

  /** Whether there may be leases. */
  get holdsAny(): boolean {
    return this.dropped !== undefined || this.cache.running.size > 0
  }

  /** Renews the workers of a process without a lease. True if that is done, without a commit of the store. */
  *renewIdle(): Steps<boolean> {
    const { cache, db } = this
    if (db.renewIdle === undefined || this.holdsAny || !cache.warm || cache.remote !== undefined) return false
    const workers = [...cache.workers.values()].filter(({ registered }) => registered)
    const now = db.now()
    const ids = workers.map(({ id }) => id)
    if (!(yield* got(db.renewIdle(ids, now)))) return false
    for (const worker of workers) cache.workers.set(worker.id, { ...worker, lastSeenAt: now.leaseAt })
    return true
  }

  /**
   * The cache is about to be dropped. `held`: the leases as of the last commit that stands. `changed`: the rows of tasks that flushes changed which
   * came to nothing.
   */
  drop(held: ReadonlyMap<number, LeaseRow> = this.cache.running, changed: readonly TaskRow[] = []): void {
    if (this.dropped !== undefined) return
    this.dropped = new Map(held)
    for (const { id, explicitId } of changed) if (explicitId !== null) this.givenIds.set(id, explicitId)
    for (const { task } of this.dropped.values()) {
      const id = this.cache.tasks.get(task)?.explicitId
      if (id != null) this.givenIds.set(task, id)
    }
  }

  /** Those held as of the last look, for {@link noticeChanges}. */
  takeDropped(): ReadonlyMap<number, LeaseRow> {
    const before = this.dropped ?? new Map(this.cache.running)
    this.dropped = undefined
    this.givenIds.clear()
    return before
  }

  /** What is over was told of as far as it had to be. */
  forgetEnded(): void {
    for (const id of this.lapsed) if (!this.cache.running.has(id)) this.lapsed.delete(id)
  }

  /** What other processes did to leases of this one. */
  *noticeChanges(before: ReadonlyMap<number, LeaseRow>): Steps<void> {
    // To yield, a process asks its own leases alone, and hears of that as it commits.
    const changed = [...before.values()].filter(({ id }) => !this.cache.running.has(id))
    if (changed.length === 0) return
    const { ids } = this.db
    const wanted = { tasks: changed.map(({ task }) => task), leases: changed.map(({ id }) => id) }
    const loaded = yield* got(this.db.load(wanted))
    const tasks = new Map((loaded.tasks ?? []).map((row) => [row.id, row]))
    const leases = new Map((loaded.leases ?? []).map((row) => [row.id, row]))
    for (const { id, task } of changed) {
      const it = { leaseId: ids.lease(id), taskId: tasks.get(task)?.explicitId ?? ids.task(task) }
      const ended = leases.get(id)
      const verdict = outsideEnds.get(ended?.endReason) ?? 'lost'
      const reason =
        verdict === 'canceled' ? yield* this.cancelReason(task, ended?.endSeq ?? 0) : ended?.endReason
      this.draft.notices.push({ ...it, verdict, ...(reason ? { reason } : {}) })
    }
  }

  /**
   * While nothing can be written, leases cannot be renewed: one whose time is up is lost, whether or not the store can say so
   * yet, and its handler must stop before another process starts the task. Source: `docs/reliability.md` B07.
   */
  tellLapsed(): void {
    const isOver = this.lapse()
    for (const lease of (this.dropped ?? this.cache.running).values()) {
      if (!isOver(lease) || this.lapsed.has(lease.id)) continue
      this.lapsed.add(lease.id)
      const { ids } = this.db
      const given = this.givenIds.get(lease.task) ?? this.cache.tasks.get(lease.task)?.explicitId
      this.draft.notices.push({
        leaseId: ids.lease(lease.id),
        taskId: given ?? ids.task(lease.task),
        verdict: 'lost',
        reason: 'not renewed',
      })
    }
  }

  /** Those of the leases that were just given which have run out while their commit was on its way: whoever would get them is not told of them. */
  late(claims: readonly Claim[]): readonly Claim[] {
    const late = claims.filter(this.lapse())
    for (const { dispatch } of late) this.lapsed.add(dispatch)
    return late
  }

  /** Whether the time of a lease is up now, or is about to be. */
  private lapse(): (lease: { readonly expiresAt: number }) => boolean {
    const { leaseAt } = this.db.now()
    const margin = this.config.leaseTtlMs / 10
    return ({ expiresAt }) => expiresAt - margin <= leaseAt
  }

  private *cancelReason(task: number, seq: number): Steps<string | undefined> {
    const { events = [] } = yield* got(this.db.load({ events: [[task, seq]] }))
    return (JSON.parse(events[0]?.[2] ?? '{}') as { reason?: string }).reason
  }
}

/** How a holder hears of an end that another process brought about. */
const outsideEnds: ReadonlyMap<string | null | undefined, 'canceled' | 'failed'> = new Map([
  ['canceled', 'canceled'],
  ['failed', 'failed'],
])

import type { ExecutionConfig } from '@ku0/agent-runtime-core'
import type { Cache } from './cache.ts'
import type { Database } from './database.ts'
import { got, type Steps } from './steps.ts'

/** When a store has to do what next; all times are on the monotonic clock. */
export class Due {
  /** Nothing is done before: another process holds the lock, or should have a chance to. */
  notBefore = 0
  /** When the next delayed or waiting task is due. */
  taskAt = Number.POSITIVE_INFINITY
  private tickAt = 0
  private renewAt = 0
  /** When this process shows itself next, at the latest. */
  private presentAt = 0
  /** When it is said again that a schedule is due. */
  private sayDueAt = 0
  /** When the last flush was sent that followed no other. */
  private firstSentAt = 0
  private readonly config: ExecutionConfig
  private readonly db: Database
  private readonly cache: Cache

  constructor(config: ExecutionConfig, db: Database, cache: Cache) {
    this.config = config
    this.db = db
    this.cache = cache
  }

  /** When the next turn has something to do, if nothing comes in. */
  next(mono: number): number {
    return Math.min(this.tickAt, this.renewAt, this.presentAt, this.timesAt(mono))
  }

  /** When the first task, budget or schedule is due. */
  private timesAt(mono: number): number {
    return Math.min(this.taskAt, this.budgetAt(mono), this.scheduleAt(mono))
  }

  /** Whether it is to be said that a schedule is due: at its time, then at every tick until it is dealt with. */
  saysSchedule(mono: number): boolean {
    if (mono < this.scheduleAt(mono)) return false
    this.sayDueAt = mono + this.config.schedulerTickMs
    return true
  }

  /** Schedules have changed: one of them may be due at once. */
  schedulesChanged(): void {
    this.sayDueAt = 0
  }

  /** Whether something is due that must not wait for a few commits, as ticks and renewals may. */
  isUrgent(mono: number): boolean {
    const late = Math.min(
      Math.max(this.tickAt, this.firstSentAt) + mostLateMs,
      Math.max(this.renewAt, this.firstSentAt) + mostLateMs,
      this.renewalLateAt,
    )
    return mono >= Math.min(late, this.presentAt, this.timesAt(mono))
  }

  /** When a third of the time has passed that leases run on once their renewal is due. */
  private get renewalLateAt(): number {
    const { heartbeatIntervalMs, leaseTtlMs } = this.config
    return this.renewAt + (leaseTtlMs - heartbeatIntervalMs) / 3
  }

  /** A flush was sent that followed no other. A tick or a renewal may have come due while it waited for its turn. */
  firstSent(mono: number): void {
    this.firstSentAt = mono
  }

  /** Whether a tick is due; the next one follows from here. */
  ticks(mono: number): boolean {
    if (mono < this.tickAt) return false
    this.tickAt = mono + Math.min(this.config.schedulerTickMs, this.pollMs)
    return true
  }

  private get pollMs(): number {
    const { db, cache } = this
    if (db.others === 0) return Number.POSITIVE_INFINITY
    return cache.running.size > 0 ? db.pollMs : db.restPollMs
  }

  /** The next turn looks at once; commits that are under way are not interrupted for it. */
  tickNow(mono: number): void {
    this.tickAt = Math.min(this.tickAt, mono)
  }

  isHeartbeat(mono: number): boolean {
    return mono >= this.renewAt
  }

  /** Whether a third of the time that leases run has passed since a renewal was due. Until then whoever wants the lock has it in its turn. */
  isHeartbeatLate(mono: number): boolean {
    return mono >= this.renewAt + this.config.leaseTtlMs / 3
  }

  /** The same for the time that leases run on. */
  isRenewalLate(mono: number): boolean {
    return mono >= this.renewalLateAt
  }

  heartbeatDone(mono: number): void {
    this.renewAt = mono + this.config.heartbeatIntervalMs
  }

  isPresence(mono: number): boolean {
    return mono >= this.presentAt
  }

  presenceShown(mono: number): void {
    this.presentAt = mono + this.config.presenceIntervalMs
  }

  /** Whether a task or a budget has come due. */
  isTimer(mono: number): boolean {
    return mono >= this.taskAt || mono >= this.budgetAt(mono)
  }

  /** Timers do not wait for a tick. */
  *armTasks(mono: number): Steps<void> {
    const due = yield* got(this.db.nextAt('task'))
    this.taskAt = due === undefined ? Number.POSITIVE_INFINITY : mono + Math.max(0, due - this.db.now().at)
  }

  /** When the wall time of a budget reaches its next line. */
  private budgetAt(mono: number): number {
    const at = this.cache.budgetAt
    return at === undefined ? Number.POSITIVE_INFINITY : mono + Math.max(0, at - this.db.now().at)
  }

  private scheduleAt(mono: number): number {
    const at = this.cache.scheduleAt
    if (at === undefined) return Number.POSITIVE_INFINITY
    return Math.max(mono + Math.max(0, at - this.db.now().at), this.sayDueAt)
  }
}

/** So much later a tick or a renewal may come while one commit follows the other. */
const mostLateMs = 400

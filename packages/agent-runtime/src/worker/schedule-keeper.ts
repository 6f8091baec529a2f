import {
  type Clock,
  decideCatchUp,
  describeError,
  type ExecutionConfig,
  type ExecutionStore,
  type ScheduleRecord,
  type StoreSettings,
  type Write,
} from '@ku0/agent-runtime-core'
import type { LogLine } from '../api/logger.ts'
import { firstAfter, timesUntil } from '../terms/schedule-times.ts'

/**
 * Fires schedules when the store reports that some are due. Every process with workers has one, and all are
 * equal: the store accepts the first that moves a schedule on, and drops what the others computed. Source:
 * `docs/schedules.md`.
 */
export class ScheduleKeeper {
  readonly #store: ExecutionStore
  #maxCatchUp: number
  readonly #clock: Clock
  readonly #log: LogLine
  /** Schedules whose times cannot be computed here, by name and timing: each is logged once. */
  readonly #untold = new Set<string>()
  #open = false
  #busy = false

  constructor(deps: {
    readonly store: ExecutionStore
    readonly config: ExecutionConfig
    readonly clock: Clock
    readonly log: LogLine
  }) {
    this.#store = deps.store
    this.#maxCatchUp = deps.config.maxCatchUp
    this.#clock = deps.clock
    this.#log = deps.log
  }

  start(): void {
    this.#open = true
    this.due()
  }

  /** Other settings of the store are in force from now on. */
  configured({ maxCatchUp = this.#maxCatchUp }: StoreSettings): void {
    this.#maxCatchUp = maxCatchUp
  }

  close(): void {
    this.#open = false
  }

  /** Something is due. The store repeats this until it is done, so a failure is tried again. */
  due(): void {
    if (this.#open && !this.#busy) void this.#tend()
  }

  async #tend(): Promise<void> {
    this.#busy = true
    try {
      const dueBy = Math.floor(this.#clock.now())
      const due = await this.#store.read({ kind: 'schedules', filter: { dueBy, limit: MAX_AT_ONCE } })
      await Promise.all(due.map((schedule) => this.#fire(schedule)))
    } catch (error) {
      if (this.#open) this.#log('warn', 'schedules could not be fired', { error: describeError(error) })
    } finally {
      this.#busy = false
    }
  }

  async #fire(schedule: ScheduleRecord): Promise<void> {
    const firing = this.#open ? this.#plan(schedule) : undefined
    if (firing === undefined) return
    const { fired, receipts } = await this.#store.write(firing)
    if (!fired) return
    const { name, missed } = firing
    if (missed > 0)
      this.#log('warn', 'times of a schedule were missed', { schedule: name, missed, runs: receipts.length })
    for (const receipt of receipts)
      if (!receipt.accepted) {
        const { reason, message } = receipt
        this.#log('warn', 'a run of a schedule was refused', { schedule: name, reason, message })
      }
  }

  #plan(schedule: ScheduleRecord): Write<'fireSchedule'> | undefined {
    try {
      return planFiring(schedule, this.#clock.now(), this.#maxCatchUp)
    } catch (error) {
      const { name, timing } = schedule
      const known = JSON.stringify([name, timing])
      if (!this.#untold.has(known))
        this.#log('error', 'this process cannot compute the times of a schedule', {
          schedule: name,
          timing,
          error: describeError(error),
        })
      this.#untold.add(known)
      return undefined
    }
  }
}

/** How to fire a schedule that is due; undefined if it is not. Pure. */
function planFiring(
  { name, timing, nextAt, catchUp, graceMs }: ScheduleRecord,
  now: number,
  maxCatchUp: number,
): Write<'fireSchedule'> | undefined {
  if (nextAt === undefined) return undefined
  // The store found it due: it counts even if the clock here is behind.
  const at = Math.max(Math.floor(now), nextAt)
  const { due, count } = timesUntil(timing, nextAt, at, maxCatchUp)
  const { runs, missed } = decideCatchUp({ catchUp, due, count, now: at, graceMs, maxCatchUp })
  return { kind: 'fireSchedule', name, timing, dueAt: nextAt, runs, missed, nextAt: firstAfter(timing, at) }
}

/** One commit fires all schedules that are due together. */
const MAX_AT_ONCE = 1_000

import type { VirtualClock } from '@ku0/agent-runtime-core/testing'
import type { DueTimes } from './due-times.ts'
import { turns, turnsUntil } from './system.ts'
import type { TestProcess } from './test-process.ts'

/** Moves the time of a test from one due moment to the next. */
export class VirtualTime {
  readonly #clock: VirtualClock
  readonly #due: DueTimes
  readonly #patienceMs: number
  /** While something runs, time moves at most this far at once, so that leases are renewed in time. */
  readonly #strideMs: number
  /** The activity after which a running function was last waited for. */
  #waitedAfter = -1

  constructor(
    clock: VirtualClock,
    due: DueTimes,
    limits: {
      readonly patienceMs: number
      readonly leaseTtlMs: number
      readonly heartbeatIntervalMs: number
    },
  ) {
    this.#clock = clock
    this.#due = due
    this.#patienceMs = limits.patienceMs
    this.#strideMs = (limits.leaseTtlMs - limits.heartbeatIntervalMs) * 0.8
  }

  /** Runs everything that is due by now and needs no time. */
  async settle({ life, timers }: TestProcess): Promise<void> {
    let immediates = 0
    for (let turn = 0; !life.dead; turn += 1) {
      if (turn === MAX_TURNS)
        throw new Error(
          `the runtime does not come to rest: after ${MAX_TURNS} rounds there is still work to do`,
        )
      const { activity } = life
      await turns()
      if (timers.runImmediate()) {
        immediates += 1
        // Code that polls a condition again and again takes time, in which the condition may become true.
        if (immediates > LOOKS) this.#clock.advanceBy(0.01)
        continue
      }
      immediates = 0
      if (this.#fireDue() || life.activity !== activity) continue
      if (life.busy === 0 || this.#waitedAfter === activity) return
      await turnsUntil(() => life.activity !== activity, this.#patienceMs)
      this.#waitedAfter = life.activity
    }
  }

  /**
   * Moves time to the next due moment, if it is no later than `limit` (epoch ms). Returns false if it is
   * later or does not exist. If nothing is due and something runs, it waits for that instead, because time
   * alone would change nothing.
   */
  async step(process: TestProcess, limit: number, pace?: Pace): Promise<boolean> {
    const { running, inFlight, depth } = await process.runtime.stats()
    const queued = depth.interactive + depth.normal + depth.batch
    const isStoresTurn = pace === 'every timer' || running > inFlight || queued > 0
    const next = Math.min(this.#next(process, isStoresTurn), await this.#nextSchedule(process))
    const stride = inFlight > 0 ? this.#clock.now() + this.#strideMs : Number.POSITIVE_INFINITY
    if (Math.min(next, stride) > limit) return false
    if (next === limit && limit === Number.POSITIVE_INFINITY) {
      if (inFlight === 0) return false
      await this.#awaitActivity(process)
    } else this.#goTo(Math.min(next, stride))
    await this.settle(process)
    return true
  }

  async advanceTo(process: TestProcess, at: number, pace?: Pace): Promise<void> {
    await this.settle(process)
    while (!process.life.dead && (await this.step(process, at, pace))) {
      // Each step is a move.
    }
    if (process.life.dead) return
    this.#goTo(Math.max(at, this.#clock.now()))
    await this.settle(process)
  }

  /**
   * When something happens next, epoch ms; infinity if nothing will. A store that only keeps waiting tasks
   * wakes up ten times a second: a sleep of months would take millions of moves, so those moments are
   * skipped.
   */
  #next({ timers }: TestProcess, isStoresTurn: boolean): number {
    const now = this.#clock.now()
    const due = this.#due.next
    return Math.min(
      due > now ? due : this.#nextTimer,
      now + timers.nextInMs,
      isStoresTurn ? this.#nextTimer : Number.POSITIVE_INFINITY,
    )
  }

  /** When the first schedule is due, unless one is due already. */
  async #nextSchedule({ store }: TestProcess): Promise<number> {
    const filter = { dueBy: Number.MAX_SAFE_INTEGER, limit: 1 }
    const [{ nextAt = 0 } = {}] = await store.read({ kind: 'schedules', filter })
    return nextAt > this.#clock.now() ? nextAt : Number.POSITIVE_INFINITY
  }

  async #awaitActivity({ life }: TestProcess): Promise<void> {
    const { activity } = life
    await turnsUntil(() => life.activity !== activity, LOOK_MS)
  }

  get #nextTimer(): number {
    return this.#clock.nextAt ?? Number.POSITIVE_INFINITY
  }

  #fireDue(): boolean {
    const { nextAt } = this.#clock
    if (nextAt === undefined || nextAt > this.#clock.now()) return false
    this.#goTo(this.#clock.now())
    return true
  }

  #goTo(at: number): void {
    this.#clock.advanceTo(Math.max(at, this.#clock.now()))
    // Epoch ms are too coarse for a timer of a fraction of a ms, which may still be a hair away.
    const { nextAt } = this.#clock
    if (nextAt !== undefined && nextAt <= this.#clock.now()) this.#clock.advanceBy(0.001)
  }
}

/** `every timer`: the store's timers too, without skipping any. */
type Pace = 'every timer'

/** How long real work is waited for before it is checked whether waiting still makes sense, in real ms. */
const LOOK_MS = 100
/** More than any test needs: work that goes on for longer repeats itself for ever. */
const MAX_TURNS = 100_000
/** Number of immediates in a row that take no time. */
const LOOKS = 50

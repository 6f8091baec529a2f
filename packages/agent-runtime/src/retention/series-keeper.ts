import {
  type Clock,
  type Depth,
  describeError,
  type ExecutionStore,
  HOUR_MS,
  MAX_SERIES_RUNS,
  MINUTE_MS,
  type NumberedRun,
  rolledUp,
  type Sample,
  samplesOf,
  type Timer,
  type Timers,
} from '@ku0/agent-runtime-core'
import type { LogLine } from '../api/logger.ts'

/**
 * Keeps a sample of each minute and of each hour in the store, so that a series reaches before the newest runs and tells what was queued. Two that work
 * on one store count the same and take each other's place. It reads runs in small parts, so that no commit waits long for it. Source:
 * `docs/decisions/0052-samples.md`.
 */
export class SeriesKeeper implements Disposable {
  readonly #store: ExecutionStore
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #log: LogLine
  /** Runs that have not ended, or ended after the last minute that is kept, by their dispatch numbers. */
  readonly #runs = new Map<number, NumberedRun>()
  #timer: Timer | undefined
  #isOpen = true
  /** The dispatch number up to which runs were read. */
  #read = 0
  /** The end of the last minute that is kept. */
  #kept: number | undefined

  constructor({
    store,
    clock,
    timers,
    log,
  }: {
    readonly store: ExecutionStore
    readonly clock: Clock
    readonly timers: Timers
    readonly log: LogLine
  }) {
    this.#store = store
    this.#clock = clock
    this.#timers = timers
    this.#log = log
    this.#rest()
  }

  [Symbol.dispose](): void {
    this.#isOpen = false
    this.#timer?.cancel()
  }

  #rest(): void {
    if (!this.#isOpen) return
    const left = MINUTE_MS - (this.#clock.now() % MINUTE_MS)
    this.#timer = this.#timers.after(left + AFTER_MS, () => void this.#pass())
  }

  async #pass(): Promise<void> {
    try {
      await this.#keep()
    } catch (error) {
      if (this.#isOpen)
        this.#log('warn', 'the samples of the past could not be kept', { error: describeError(error) })
    }
    this.#rest()
  }

  async #keep(): Promise<void> {
    const now = this.#clock.now()
    const at = Math.floor(now / MINUTE_MS) * MINUTE_MS
    const depths = this.#kept === undefined ? await this.#begin(at) : await this.#follow()
    const kept = this.#kept ?? at
    let samples: Sample[] = []
    for (let end = kept + MINUTE_MS; end <= at; end += MINUTE_MS) {
      // What was queued is known now, and not what was queued a while ago.
      const isNow = end === at && now - at < LATE_MS
      samples.push(
        ...samplesOf([...this.#runs.values()], isNow ? depths : undefined, { at: end, stepMs: MINUTE_MS }),
      )
      // Minutes that nobody kept share a write: others wait for each commit.
      if (end < at && end % HOUR_MS !== 0 && samples.length < PART) continue
      await this.#write(samples)
      samples = []
      if (end % HOUR_MS === 0) await this.#keepHour(end)
      this.#kept = end
    }
    for (const [number, { endedAt }] of this.#runs)
      if (endedAt !== null && endedAt <= at) this.#runs.delete(number)
  }

  /** Reads back to where the samples end: a process before this one kept them, or nobody did. */
  async #begin(at: number): Promise<readonly Depth[]> {
    const last = await this.#store.read({ kind: 'lastSample', stepMs: MINUTE_MS })
    const from = Math.max(last ?? 0, at - MOST_LATE_MS)
    let before: number | undefined
    let first = at
    for (let count = 0; count < MAX_SERIES_RUNS; count += PART) {
      const { runs, depths } = await this.#store.read({ kind: 'runs', before, limit: PART })
      this.#note(runs, from)
      before = runs.at(-1)?.number
      const oldest = runs.at(-1)?.startedAt
      first = oldest ?? first
      if (before === undefined || oldest === undefined || oldest <= from || runs.length < PART) {
        // Before its first run nothing happened in a store, and most stores that nobody has sampled are new.
        const begun = last === undefined ? Math.floor(first / MINUTE_MS) * MINUTE_MS : from
        this.#kept = Math.max(from, Math.min(begun, at - MINUTE_MS))
        return depths
      }
    }
    this.#kept = from
    return this.#follow()
  }

  async #follow(): Promise<readonly Depth[]> {
    const open = [...this.#runs.values()].flatMap(({ number, endedAt }) => (endedAt === null ? [number] : []))
    for (let part = 0; part < open.length; part += PART) {
      const these = open.slice(part, part + PART)
      this.#note((await this.#store.read({ kind: 'runs', these, limit: PART })).runs, 0)
    }
    for (;;) {
      const { runs, depths } = await this.#store.read({ kind: 'runs', after: this.#read, limit: PART })
      this.#note(runs, 0)
      if (runs.length < PART) return depths
    }
  }

  #note(runs: readonly NumberedRun[], from: number): void {
    for (const run of runs) {
      this.#read = Math.max(this.#read, run.number)
      if (run.endedAt === null || run.endedAt > from) this.#runs.set(run.number, run)
    }
  }

  async #keepHour(at: number): Promise<void> {
    const samples: Sample[] = []
    for (let from = at - HOUR_MS; from < at; from += 5 * MINUTE_MS)
      samples.push(
        ...(await this.#store.read({ kind: 'samples', stepMs: MINUTE_MS, from, to: from + 5 * MINUTE_MS })),
      )
    await this.#write(rolledUp(samples, { at, stepMs: HOUR_MS }))
  }

  async #write(samples: readonly Sample[]): Promise<void> {
    if (samples.length > 0 && this.#isOpen) await this.#store.write({ kind: 'sample', samples })
  }
}

/** Runs that one question asks for, and samples from which on a write is sent: a few ms of the store's thread. */
const PART = 500
/** A minute is counted so long after its end, when what ended in it is committed. */
const AFTER_MS = 250
/** What is queued so long after a minute still stands for its end. */
const LATE_MS = 15_000
/** Minutes that nobody kept are counted so far back. */
const MOST_LATE_MS = HOUR_MS

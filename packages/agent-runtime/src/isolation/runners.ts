import type { Warden } from '../durable/exec/warden.ts'
import type { Deadline } from '../lease/deadlines.ts'
import type { RunnerSpec } from './line.ts'
import { Runner } from './runner.ts'

/**
 * The threads and processes of a worker's isolated tasks. Each runs one task at a time, so that it can be killed without touching
 * another; one that is free is kept for a while for the next task of its module. Source: `docs/decisions/0033-isolation.md`.
 */
export class Runners {
  readonly #entryOf: () => string
  #entry: string | undefined
  readonly #warden: Warden
  readonly #deadlines: { after(delayMs: number, run: () => void): Deadline }
  readonly #all = new Set<Runner>()
  /** Those that are free, by what they can run; the one that was used last is used first. */
  readonly #free = new Map<string, { readonly runner: Runner; readonly expiry: Deadline }[]>()
  /** Those whose handler has ended, while something of the task may still run. */
  #ending: readonly Runner[] = []
  /** Who waits for one of these. */
  #waiting: readonly { readonly key: string; readonly use: (runner: Runner) => void }[] = []
  #isClosed = false

  constructor(deps: {
    /** The program of a runner. */
    readonly entry: () => string
    readonly warden: Warden
    readonly deadlines: { after(delayMs: number, run: () => void): Deadline }
  }) {
    this.#entryOf = deps.entry
    this.#warden = deps.warden
    this.#deadlines = deps.deadlines
  }

  /** Number of threads and processes. */
  get size(): number {
    return this.#all.size
  }

  /**
   * Hands over a free runner, or one that is about to be free, or a new one: at once, or in a moment. `cancel` what it returns if it is no
   * longer wanted.
   */
  take(spec: RunnerSpec, use: (runner: Runner) => void): Deadline {
    const key = keyOf(spec)
    const free = this.#free.get(key) ?? []
    for (let kept = free.pop(); kept !== undefined; kept = free.pop()) {
      kept.expiry.cancel()
      if (!kept.runner.isFit) continue
      use(kept.runner)
      return nothing
    }
    const waiting = this.#waiting.filter((it) => it.key === key).length
    if (waiting < this.#ending.filter((runner) => keyOf(runner.spec) === key).length)
      return this.#await(spec, use)
    use(this.start(spec))
    return nothing
  }

  /** The handler in it has ended: as a rule it is free in a moment. */
  isEnding(runner: Runner): void {
    if (runner.isFit) this.#ending = [...this.#ending, runner]
  }

  #await(spec: RunnerSpec, use: (runner: Runner) => void): Deadline {
    const leave = () => {
      this.#waiting = this.#waiting.filter((it) => it !== waiting)
      expiry.cancel()
    }
    const expiry = this.#deadlines.after(ENDING_MS, () => waiting.use(this.start(spec)))
    const waiting = {
      key: keyOf(spec),
      use: (runner: Runner) => {
        leave()
        use(runner)
      },
    }
    this.#waiting = [...this.#waiting, waiting]
    return { cancel: leave }
  }

  /** A new runner. */
  start(spec: RunnerSpec): Runner {
    this.#entry ??= this.#entryOf()
    const runner = new Runner(this.#entry, spec, this.#warden)
    this.#all.add(runner)
    void runner.ended.then(() => this.#forget(runner))
    return runner
  }

  /** Its task is over: it is kept for the next. */
  give(runner: Runner): void {
    this.#ending = this.#ending.filter((it) => it !== runner)
    if (!runner.isFit) return
    if (this.#isClosed) return runner.kill()
    runner.rest()
    const key = keyOf(runner.spec)
    const waiting = this.#waiting.find((it) => it.key === key)
    if (waiting !== undefined) return waiting.use(runner)
    const expiry = this.#deadlines.after(KEPT_MS, () => {
      this.#drop(runner)
      runner.kill()
    })
    const free = this.#free.get(key)
    if (free === undefined) this.#free.set(key, [{ runner, expiry }])
    else free.push({ runner, expiry })
  }

  /** Ends all of them; resolves when they have ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const free of this.#free.values()) for (const { expiry } of free) expiry.cancel()
    this.#free.clear()
    const all = [...this.#all]
    for (const runner of all) runner.kill()
    await Promise.all(all.map(({ ended }) => ended))
  }

  #forget(runner: Runner): void {
    this.#all.delete(runner)
    this.#ending = this.#ending.filter((it) => it !== runner)
    this.#drop(runner)
  }

  #drop(runner: Runner): void {
    const key = keyOf(runner.spec)
    const free = this.#free.get(key) ?? []
    const left = free.filter((kept) => kept.runner !== runner)
    for (const kept of free) if (kept.runner === runner) kept.expiry.cancel()
    if (left.length > 0) this.#free.set(key, left)
    else this.#free.delete(key)
  }
}

/** Longer than a runner needs that is told of the commit, and shorter than the start of one. */
const ENDING_MS = 25
const nothing: Deadline = { cancel: () => {} }

/** How long a free runner is kept. */
const KEPT_MS = 60_000

function keyOf({ isolation, module, memoryMb }: RunnerSpec): string {
  return `${isolation} ${memoryMb ?? ''} ${module}`
}

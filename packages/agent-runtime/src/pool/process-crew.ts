import {
  type Clock,
  decideReplacement,
  isQuickDeath,
  MAX_QUICK_DEATHS,
  type WorkerDrain,
} from '@ku0/agent-runtime-core'
import type { StopOptions, StopReport } from '../api/stop.ts'
import type { Crew, CrewMember, Death, Tally } from './crew.ts'
import { WorkerProcess } from './worker-process.ts'
import type { WorkerStart } from './worker-words.ts'

/** The workers of a pool, each in a process of its own. Source: `docs/semantics.md 8.2`. */
export class ProcessCrew implements Crew {
  readonly #entry: string
  readonly #start: WorkerStart
  readonly #clock: Clock
  readonly #died: (death: Death) => void
  readonly #drained: (drain: WorkerDrain) => void
  readonly #workers = new Set<WorkerProcess>()
  #left: Tally = { completed: 0, failed: 0 }
  #quickDeaths = 0
  #types: readonly string[] | undefined

  constructor(deps: {
    /** The program of a worker process. */
    readonly entry: string
    readonly start: WorkerStart
    readonly clock: Clock
    readonly died: (death: Death) => void
    readonly drained: (drain: WorkerDrain) => void
  }) {
    this.#entry = deps.entry
    this.#start = deps.start
    this.#clock = deps.clock
    this.#died = deps.died
    this.#drained = deps.drained
  }

  /** The types that its workers run; undefined before the first is ready. */
  get types(): readonly string[] | undefined {
    return this.#types
  }

  get totals(): Tally {
    const tallies = [this.#left, ...this.members().map(({ tally }) => tally)]
    const sum = (name: keyof Tally) => tallies.reduce((total, tally) => total + tally[name], 0)
    return { completed: sum('completed'), failed: sum('failed') }
  }

  members(): readonly CrewMember[] {
    return [...this.#workers].map(({ member }) => member)
  }

  async start(): Promise<string> {
    const worker = new WorkerProcess(this.#entry, this.#start, this.#clock, this.#drained)
    this.#workers.add(worker)
    void worker.ended.then((end) => this.#gone(worker, end))
    const { workerId, types } = await worker.ready
    this.#types = types
    return workerId
  }

  async drain(workerId: string): Promise<void> {
    await this.#find(workerId)?.stop({})
  }

  /** Ends all workers; `hurry` ends those at once that have not ended by then. */
  async stop(options: StopOptions, hurry: Promise<void>): Promise<StopReport> {
    const workers = [...this.#workers]
    void this.#killAfter(hurry)
    const reports = await Promise.all(workers.map((worker) => worker.stop(options)))
    return {
      drained: reports.every(({ drained }) => drained),
      released: reports.reduce((sum, { released }) => sum + released, 0),
    }
  }

  /** Its workers have to start anew: earlier deaths no longer count. */
  forgive(): void {
    this.#quickDeaths = 0
  }

  async #killAfter(hurry: Promise<void>): Promise<void> {
    await hurry
    for (const worker of this.#workers) worker.kill()
  }

  #find(workerId: string): WorkerProcess | undefined {
    return [...this.#workers].find(({ member }) => member.workerId === workerId)
  }

  #gone(worker: WorkerProcess, { how, livedMs }: { readonly how: string; readonly livedMs: number }): void {
    const { workerId, tally } = worker.member
    this.#workers.delete(worker)
    this.#left = {
      completed: this.#left.completed + tally.completed,
      failed: this.#left.failed + tally.failed,
    }
    if (worker.isStopping) return
    const ended = tally.completed + tally.failed
    this.#quickDeaths = isQuickDeath({ livedMs, ended })
      ? Math.min(this.#quickDeaths + 1, MAX_QUICK_DEATHS)
      : 0
    this.#died({ workerId, how, next: decideReplacement(this.#quickDeaths) })
  }
}

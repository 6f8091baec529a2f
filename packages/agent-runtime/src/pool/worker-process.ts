import { type ChildProcess, fork } from 'node:child_process'
import { type Clock, RuntimeError, toRuntimeError, type WorkerDrain } from '@ku0/agent-runtime-core'
import type { StopOptions, StopReport } from '../api/stop.ts'
import type { CrewMember } from './crew.ts'
import type { FromWorker, ToWorker, WorkerStart, WorkerWork } from './worker-words.ts'

/** How a worker process ended. */
export interface WorkerEnd {
  /** `exit code 1` or `SIGKILL`. */
  readonly how: string
  /** How long it took tasks; 0 if it never did. */
  readonly livedMs: number
}

/** One worker of a pool in a process of its own, from its start to its end. */
export class WorkerProcess {
  /** Resolves when it takes tasks; rejects with what keeps it from that. */
  readonly ready: Promise<{ readonly workerId: string; readonly types: readonly string[] }>
  /** Resolves when the process has ended. */
  readonly ended: Promise<WorkerEnd>
  readonly #child: ChildProcess
  readonly #clock: Clock
  readonly #drained: (drain: WorkerDrain) => void
  #readyAt: number | undefined
  #idleSince: number
  #work: WorkerWork = { inFlight: 0, currentTask: null, drainAsked: false, completed: 0, failed: 0 }
  #workerId: string
  #stopping = false
  #report: StopReport = { drained: false, released: 0 }

  constructor(entry: string, start: WorkerStart, clock: Clock, drained: (drain: WorkerDrain) => void) {
    this.#drained = drained
    this.#clock = clock
    this.#idleSince = clock.monotonic()
    this.#child = fork(entry, [], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.#workerId = `process ${this.#child.pid ?? '?'}`
    const ready = Promise.withResolvers<{ workerId: string; types: readonly string[] }>()
    const ended = Promise.withResolvers<WorkerEnd>()
    this.ready = ready.promise
    this.ended = ended.promise
    // Whoever starts it awaits this, or learns of its end.
    this.ready.catch(() => undefined)
    this.#child.on('message', (said: FromWorker) => {
      if (said.kind === 'ready') {
        this.#workerId = said.workerId
        this.#readyAt = clock.monotonic()
        this.#idleSince = this.#readyAt
        ready.resolve(said)
      } else if (said.kind === 'refused') ready.reject(toRuntimeError(said.error))
      else if (said.kind === 'work') this.#heard(said)
      else this.#report = { drained: said.drained, released: said.released }
    })
    const over = (how: string) => {
      const message = `a worker process ended before it took tasks (${how}); see its output on standard error`
      ready.reject(new RuntimeError('internal', message))
      ended.resolve({ how, livedMs: this.#readyAt === undefined ? 0 : clock.monotonic() - this.#readyAt })
    }
    this.#child.once('error', (error) => over(error.message))
    this.#child.once('exit', (code, signal) => over(signal ?? `exit code ${code}`))
    this.#say({ kind: 'start', ...start })
  }

  get member(): CrewMember {
    const { inFlight, currentTask, drainAsked, completed, failed } = this.#work
    return {
      workerId: this.#workerId,
      inFlight,
      currentTask,
      draining: this.#stopping,
      drainAsked,
      idleMs: inFlight > 0 ? 0 : this.#clock.monotonic() - this.#idleSince,
      tally: { completed, failed },
    }
  }

  /** Whether somebody asked it to end. */
  get isStopping(): boolean {
    return this.#stopping
  }

  /** Asks it to end; resolves with its report when it has. */
  async stop({ drain = true, graceMs }: StopOptions): Promise<StopReport> {
    this.#stopping = true
    this.#say({ kind: 'stop', drain, graceMs })
    await this.ended
    return this.#report
  }

  /** Ends it at once; its tasks are taken over as after a crash. */
  kill(): void {
    this.#child.kill('SIGKILL')
  }

  #heard(work: WorkerWork): void {
    // It may have worked between two reports.
    const hasWorked = work.inFlight !== this.#work.inFlight || work.completed + work.failed > 0
    if (hasWorked) this.#idleSince = this.#clock.monotonic()
    const { drainAsked } = this.#work
    this.#work = work
    if (work.drainAsked !== drainAsked && !this.#stopping)
      this.#drained({ workerId: this.#workerId, draining: work.drainAsked })
  }

  #say(word: ToWorker): void {
    // The end of the process is told by its exit.
    if (this.#child.connected) this.#child.send(word, () => undefined)
  }
}

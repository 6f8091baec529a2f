import { createHash, hash } from 'node:crypto'
import { createRuntime, type Runtime } from '@ku0/agent-runtime'
import type { Environment, ExecutionConfig, ExecutionConfigInput } from '@ku0/agent-runtime-core'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import {
  chainDigest,
  die,
  openStoreEngine,
  type StoreEngine,
  StoreFront,
} from '@ku0/agent-runtime-persistence/testing'
import type { TaskContext } from '@ku0/agent-runtime'
import type { Audit } from './audit.ts'
import type { Audited } from './audited.ts'
import type { SimulatedClock } from './clock.ts'
import type { Findings } from './findings.ts'
import { SimulatedLine } from './line.ts'
import { Loop } from './loop.ts'
import { type CodeVersion, type Outside, simulatedTasks } from './perform.ts'
import { configOf, type Plant } from './plant.ts'
import type { Structures } from './structures.ts'
import { leaseTtlMs } from './swarm.ts'

/** What the processes of one simulated machine share. */
export interface Machine {
  readonly seed: string
  readonly path: string
  readonly clock: SimulatedClock
  readonly config: ExecutionConfig
  readonly given: ExecutionConfigInput
  readonly audit: Audit
  readonly findings: Findings
  readonly plant: Plant | undefined
  readonly workers: number
  readonly capacity: number
  /** Runs of step functions, by task and key, in all processes. */
  readonly runs: Map<string, { runs: number; keys: Set<string> }>
  /** Takes the lock from another program that holds it. */
  readonly unlock: () => void
  /** What a ms of work takes: less than one when the tasks are to come to their end. */
  readonly pace: { msEach: number }
  /** Runs of steps charge what they use up. */
  readonly charges: boolean
  /** Some work is measured. */
  readonly isMeasured: boolean
  readonly structures: Structures
  /** Something has happened that may have set off more. */
  readonly stirred: () => void
}

const startedAt = Date.UTC(2026, 0, 1)

export const digest: Environment['digest'] = {
  sha256: (bytes) => createHash('sha256').update(bytes).digest(),
  sha256Hex: (text) => hash('sha256', text, 'hex'),
}

/** One simulated process from its start to its end or death: a real runtime on a real store, each on its own event loop. */
export class SimulatedProcess implements Audited {
  readonly name: string
  readonly processId: string
  readonly capacity: number
  readonly workerIds: readonly string[]
  readonly version: CodeVersion
  readonly line: SimulatedLine
  readonly store: StoreEngine
  runtime: Runtime | undefined
  isDead = false
  /** It was told to stop, and ends by itself. */
  isLeaving = false
  /** Added to its wall clock, ms; and the furthest that this showed before it was set back. */
  #skew = 0
  #furthest = 0
  readonly main: Loop
  readonly thread: Loop
  /** The event loop again, for what the functions of steps wait for: that may outlive the runtime. */
  readonly #work: Loop
  readonly #machine: Machine
  readonly #front = new StoreFront()
  /** When it last came back from a stop, ms since the beginning. */
  #awakeSince: number

  constructor(machine: Machine, number: number, version: CodeVersion) {
    const { clock, audit, findings, plant } = machine
    this.#machine = machine
    this.name = `process ${number}`
    this.version = version
    this.#awakeSince = clock.elapsed
    const drawn = createVirtualEnvironment(`${machine.seed}\n${this.name}`, { digest })
    this.processId = drawn.ids.uuid()
    this.capacity = machine.capacity
    this.workerIds =
      plant?.workerIds?.(machine.workers, number) ??
      Array.from({ length: machine.workers }, (_, index) => `${this.name}/${index + 1}`)
    this.main = new Loop(clock, machine.stirred)
    this.thread = new Loop(clock)
    this.#work = new Loop(clock, machine.stirred)
    audit.leases.knows(this)
    const time = { now: () => this.wall(), monotonic: () => clock.elapsed }
    this.store = openStoreEngine({
      path: machine.path,
      config: configOf(machine.given, plant),
      durability: 'normal',
      acceptLoss: false,
      identity: { processId: this.processId, host: 'simulated', bootId: 'simulated', pid: number },
      environment: { ...drawn, clock: time, timers: this.thread },
      chain: chainDigest,
      stalledMs: () => (this.main.isStopped ? clock.elapsed - this.main.aliveAt : 0),
    })
    audit.before()
    this.line = new SimulatedLine(
      {
        process: this,
        store: this.store,
        main: this.main,
        thread: this.thread,
        audit,
        findings,
        plant,
        chance: () => drawn.random.next(),
        crash: (why) => this.crash(why),
        unlock: machine.unlock,
      },
      (turn) => this.#front.receive(turn),
    )
    this.#front.connect(this.line)
    findings.note(this.name, `starts, code ${version}`)
    this.main.enter(
      () => void this.#start({ ...drawn, clock: time, timers: plant?.timers?.(this.main) ?? this.main }),
    )
  }

  get isUp(): boolean {
    return !this.isDead && !this.isLeaving && this.runtime !== undefined
  }

  /** Handlers that it runs, those that ought to have stopped among them. */
  get inFlight(): number {
    return this.runtime?.leaked().length ?? 0
  }

  wall(): number {
    return startedAt + this.#machine.clock.elapsed + this.#skew
  }

  /** The furthest that its wall clock has shown: what it does now it may have decided then. */
  furthest(): number {
    return Math.max(this.#furthest, this.wall())
  }

  /** Its wall clock jumps: so many ms are added to it in all. */
  set skew(ms: number) {
    this.#furthest = this.furthest()
    this.#skew = ms
  }

  get skew(): number {
    return this.#skew
  }

  /** Dies on the spot: what is committed stays, and nothing else. */
  crash(why: string): void {
    if (this.isDead) return
    this.isDead = true
    this.#machine.findings.note(this.name, `dies ${why}`)
    this.#machine.findings.count('crashes')
    this.#endLoops()
    die(this.store)
  }

  /** As by SIGSTOP. */
  pause(): void {
    this.block()
    this.thread.stop()
  }

  goOn(): void {
    this.thread.go()
    this.unblock()
  }

  /** Its handlers compute: its store's thread goes on. */
  block(): void {
    this.main.stop()
    this.#work.stop()
  }

  unblock(): void {
    this.#awakeSince = this.#machine.clock.elapsed
    this.main.go()
    this.#work.go()
  }

  /** Ends in order. */
  async leave(drain: boolean): Promise<void> {
    const { runtime } = this
    if (runtime === undefined || this.isDead || this.isLeaving) return
    this.isLeaving = true
    this.#machine.findings.note(this.name, `stops, ${drain ? 'draining' : 'at once'}`)
    await runtime.stop({ drain })
    if (this.isDead) return
    await this.#front.close()
    this.isDead = true
    this.#machine.findings.note(this.name, 'has stopped')
    // A write that was asked again and again is given up at its next turn.
    await new Promise<void>((resolve) => {
      this.#machine.clock.after(stragglersMs, () => {
        this.#machine.stirred()
        resolve()
      })
    })
    const left = this.main.pending
    if (left > 0)
      this.#machine.findings.violated('I23', `${this.name} has ${left} timers left when it has stopped`)
    this.#endLoops()
  }

  /** What takes time outside of the runtime; never over when it is dead. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#work.after(ms * this.#machine.pace.msEach, resolve)
    })
  }

  #endLoops(): void {
    this.main.die()
    this.thread.die()
    this.#work.die()
  }

  async #start(environment: Environment): Promise<void> {
    const { given, workers } = this.#machine
    try {
      const runtime = await createRuntime({
        store: this.#front,
        tasks: simulatedTasks(this.#outside(), this.version, this.#machine),
        config: given,
        workers: { count: workers, capacity: this.capacity, ids: this.workerIds },
        environment,
        logger: false,
        telemetry: false,
        onFailure: () => this.crash('since its store failed'),
      })
      this.runtime = runtime
    } catch (error) {
      if (!this.isDead) this.crash(`since it could not start: ${String(error)}`)
    }
  }

  #outside(): Outside {
    const { runs, audit, findings, clock, charges } = this.#machine
    return {
      charges,
      began: (ctx: TaskContext, key: string, idempotencyKey: string) => {
        if (this.isDead) return false
        const name = `${ctx.taskId} ${key}`
        const seen = runs.get(name) ?? { runs: 0, keys: new Set<string>() }
        seen.runs += 1
        seen.keys.add(idempotencyKey)
        runs.set(name, seen)
        findings.note(this.name, `runs '${key}' of task ${Number.parseInt(ctx.taskId.slice(24), 16)}`)
        audit.stepBegan(this, {
          taskId: ctx.taskId,
          key,
          fence: ctx.fencingToken,
          idempotencyKeys: seen.keys.size,
          graceMs: this.line.hasMuffled ? Number.POSITIVE_INFINITY : graceMs + this.line.trouble.lateMs,
          awakeMs: clock.elapsed - this.#awakeSince,
        })
        return true
      },
      begins: (pass) => {
        if (!this.isDead) audit.handlerBegan(pass)
      },
      runsOf: (taskId, key) => runs.get(`${taskId} ${key}`)?.runs ?? 0,
      sleep: (ms) => this.sleep(ms),
    }
  }
}

/** Longer than the pause before a write is tried again. */
const stragglersMs = 300

/** How long a holder may go on that has not been told that its lease ended: until its next write, which is refused. */
const graceMs = leaseTtlMs

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime } from '@ku0/agent-runtime'
import { type ExecutionStore, type Read } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { takeSnapshot, violationsIn } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment, SeededRandom } from '@ku0/agent-runtime-core/testing'
import {
  chainDigest,
  die,
  openStoreEngine,
  runNow,
  type StoreEngine,
} from '@ku0/agent-runtime-persistence/testing'
import Database from 'better-sqlite3'
import { Audit } from './audit.ts'
import { Clients } from './clients.ts'
import { SimulatedClock } from './clock.ts'
import { type Counts, Findings, type Violation } from './findings.ts'
import { noTrouble } from './line.ts'
import type { CodeVersion } from './perform.ts'
import type { Ground, Planted } from './plant.ts'
import { digest, type Machine, SimulatedProcess } from './process.ts'
import { drawStructures, noStructures } from './structures.ts'
import { measures, noWorkload } from './workload.ts'
import { drawSwarm, type Fault, leaseTtlMs, type Swarm } from './swarm.ts'

/** What there was in a life, at different times. */
type Era = 'queue' | 'work' | 'structures' | 'all'

/** How a seed is played. */
export interface SimulateOptions {
  /** Keeps the lines of the trace. False by default. */
  readonly trace?: boolean
  /** A bug that is planted: one of {@link plants}. */
  readonly plant?: (ground: Ground) => Planted
  /**
   * What there was in a life when the seed was played: nothing but tasks of the `queue`, or measured `work` and forks as well, or `structures`: supervisors,
   * pipelines, ledgers and agreements; `all` by default, with permanent children and partitions.
   */
  readonly era?: Era
  /** The life is over once this rule is broken. */
  readonly until?: string
}

/** What came of a seed. */
export interface Simulated {
  readonly seed: number
  readonly mode: Swarm['mode']
  readonly faults: readonly Fault[]
  readonly violations: readonly Violation[]
  readonly counts: Counts
  /** Of the trace: two runs of a seed have the same. */
  readonly hash: string
  readonly lines: readonly string[]
  readonly virtualMs: number
}

/**
 * Plays one simulated life of some processes on one store, all of it drawn from the seed: real runtimes on real stores, in this thread,
 * on virtual time. Source: `docs/simulation.md`.
 */
export async function simulate(seed: number, options: SimulateOptions = {}): Promise<Simulated> {
  await (loading ??= loadRuntime())
  const folder = mkdtempSync(join(memoryFolder, 'ku0-simulation-'))
  const { stackTraceLimit } = Error
  // Stacks are stored, and name the folder of the sources: where a disk is full would depend on it.
  Error.stackTraceLimit = 0
  try {
    return await new Life(seed, join(folder, 'store.db'), options).play()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    rmSync(folder, { recursive: true, force: true })
  }
}

let loading: Promise<void> | undefined

/** What the first runtime of a program loads from the disk takes real time, in which the virtual one would go on without it. */
async function loadRuntime(): Promise<void> {
  const options = { tasks: [], workers: 0, thread: false, logger: false, telemetry: false } as const
  await (await createRuntime({ store: 'sqlite::memory:', ...options })).stop()
}

/** In memory where there is such a folder: nothing here is to survive a power loss. */
const memoryFolder =
  statSync('/dev/shm', { throwIfNoEntry: false })?.isDirectory() === true ? '/dev/shm' : tmpdir()

/** Until then everything has come to its end once no more faults come, and the store's time goes on. */
const livenessMs = 10 * leaseTtlMs
/** A life with so many violations is over. */
const maxViolations = 10
/** Far more than ever happen in one. */
const maxStepsEachMs = 5_000

class Life {
  readonly #seed: number
  readonly #random: SeededRandom
  readonly #swarm: Swarm
  readonly #clock = new SimulatedClock()
  readonly #findings: Findings
  readonly #machine: Machine
  readonly #clients: Clients
  readonly #plant: Planted | undefined
  readonly #until: string | undefined
  readonly #processes: SimulatedProcess[] = []
  #started = 0
  #isStirred = false
  #version: CodeVersion = 1
  /** A process was there to be asked for something. */
  #hasBegun = false
  /** No more faults. */
  #isHealing = false
  #lockHolder: Database.Database | undefined
  readonly #idleSince = new Map<string, number>()
  /** Things that have happened since that ms. */
  #steps = 0
  #stepsSince = 0
  #isCircling = false

  constructor(seed: number, path: string, options: SimulateOptions) {
    this.#seed = seed
    this.#until = options.until
    const random = new SeededRandom(seed)
    const { era = 'all' } = options
    const late = era === 'all' ? random.fork('late structures') : undefined
    const isStructured = era === 'all' || era === 'structures'
    const structures = isStructured ? drawStructures(random.fork('structures'), late) : noStructures
    this.#swarm = drawSwarm(
      random.fork('swarm'),
      random.fork('accounts'),
      random.fork('workload'),
      structures,
    )
    const workload = era === 'queue' ? noWorkload : this.#swarm.workload
    this.#random = random.fork('faults')
    const { config } = parseExecutionConfig(this.#swarm.config)
    this.#findings = new Findings(() => this.#clock.elapsed, options.trace === true)
    makeStore(path, config)
    this.#plant = options.plant?.({
      path,
      config,
      random: random.fork('plant'),
      processes: this.#swarm.processes,
      now: () => this.#clock.elapsed,
    })
    const audit = new Audit(path, this.#findings, config, () => this.#clock.elapsed)
    this.#machine = {
      seed: String(seed),
      path,
      clock: this.#clock,
      config,
      given: this.#swarm.config,
      audit,
      findings: this.#findings,
      plant: this.#plant,
      workers: this.#swarm.workers,
      capacity: this.#swarm.capacity,
      runs: new Map(),
      pace: { msEach: 1 },
      isMeasured: measures(workload),
      structures,
      charges: this.#swarm.accounts.shares || this.#swarm.accounts.budgets,
      unlock: () => this.#releaseLock(),
      stirred: () => {
        this.#isStirred = true
      },
    }
    const drawn = {
      random: random.fork('clients'),
      purse: random.fork('purse'),
      accounts: this.#swarm.accounts,
      work: random.fork('work'),
      workload,
      structures,
      order: random.fork('orders'),
      late: random.fork('late orders'),
    }
    this.#clients = new Clients(drawn, audit, this.#findings)
  }

  async play(): Promise<Simulated> {
    const { mode, faults, faultsMs, processes } = this.#swarm
    this.#findings.note('life', `seed ${this.#seed}, ${mode}, ${processes} processes, ${faults.join(', ')}`)
    try {
      for (let n = 0; n < processes; n += 1) this.#startProcess()
      this.#clientActs()
      this.#faultActs()
      await this.#runUntil(faultsMs, () => false)
      if (!this.#hasBegun) this.#findings.violated('I24', 'no process has come up: nothing was tried')
      this.#heal()
      if (mode === 'liveness') await this.#comeToRest()
      await this.#stopAll()
      await this.#finalLook()
    } finally {
      this.#letGo()
    }
    return {
      seed: this.#seed,
      mode,
      faults,
      violations: this.#findings.violations,
      counts: this.#findings.counts,
      hash: this.#findings.hash(),
      lines: this.#findings.lines,
      virtualMs: this.#clock.elapsed,
    }
  }

  /** Runs what is due, one thing after the other, each with all that it sets off. */
  async #runUntil(at: number, isOver: () => boolean): Promise<void> {
    const goesOn = () => !isOver() && !this.#isCircling && !this.#hasFound()
    while (this.#clock.nextAt <= at && goesOn()) {
      this.#clock.step()
      this.#lookForCircles()
      if (this.#isStirred) {
        this.#isStirred = false
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
  }

  #hasFound(): boolean {
    const { violations } = this.#findings
    return violations.length >= maxViolations || violations.some(({ rule }) => rule === this.#until)
  }

  /** I24: what goes round in circles, each time at once, comes to no end. */
  #lookForCircles(): void {
    const ms = Math.floor(this.#clock.elapsed)
    this.#steps = ms === this.#stepsSince ? this.#steps + 1 : 0
    this.#stepsSince = ms
    if (this.#steps !== maxStepsEachMs) return
    this.#findings.violated(
      'I24',
      `${maxStepsEachMs} things have happened within 1 ms, and none of them is the last`,
    )
    this.#isCircling = true
  }

  #startProcess(): void {
    this.#releaseLock()
    this.#started += 1
    if (this.#started > this.#swarm.processes) this.#findings.count('restarts')
    try {
      this.#processes.push(new SimulatedProcess(this.#machine, this.#started, this.#version))
    } catch (error) {
      // While another holds the lock, or the disk is full: it is started again.
      this.#findings.note('life', `no start: ${String(error)}`)
      this.#clock.after(50, () => this.#startProcess())
    }
  }

  #up(): SimulatedProcess[] {
    return this.#processes.filter(({ isUp }) => isUp)
  }

  #clientActs(): void {
    const rhythm = this.#random.fork('clients')
    const next = () => {
      if (this.#isHealing) return
      const up = this.#up()
      if (up.length > 0) {
        this.#hasBegun = true
        this.#clients.act(rhythm.pick(up), this.#swarm.submissions - this.#clients.submitted)
      }
      this.#clock.after(rhythm.pick([0, 5, 20, 60, 120]), next)
    }
    this.#clock.after(20, next)
  }

  #faultActs(): void {
    const next = () => {
      if (this.#isHealing) return
      const up = this.#up()
      if (up.length > 0) this.#bring(this.#random.pick(this.#swarm.faults), this.#random.pick(up))
      this.#clock.after(this.#random.next() * 2 * this.#swarm.faultEveryMs, next)
    }
    this.#clock.after(this.#random.next() * 2 * this.#swarm.faultEveryMs, next)
  }

  #bring(fault: Fault, process: SimulatedProcess): void {
    const random = this.#random
    const within = (least: number, most: number) => least + random.int(most - least + 1)
    this.#findings.note('fault', `${fault}: ${process.name}`)
    this.#findings.count('faults')
    const { trouble } = process.line
    const forMs = (ms: number, what: Partial<typeof trouble>) => {
      Object.assign(trouble, what)
      const over = Object.fromEntries(
        Object.keys(what).map((name) => [name, noTrouble()[name as keyof typeof trouble]]),
      )
      this.#clock.after(ms, () => Object.assign(trouble, over))
    }
    switch (fault) {
      case 'crash':
        process.crash('by itself')
        return this.#restartLater()
      case 'crash at a message':
        trouble.crashIn = within(1, 30)
        return
      case 'pause':
        return this.#pause(
          process,
          random.pick([20, 1.05 * leaseTtlMs, 1.3 * leaseTtlMs, 1.3 * leaseTtlMs, 2.5 * leaseTtlMs]),
        )
      case 'blocked loop':
        process.block()
        this.#clock.after(random.pick([50, 500, 1_800]), () => process.unblock())
        return
      case 'late replies':
        return forMs(within(50, 600), { lateMs: random.pick([1, 10, 100, 400]) })
      case 'lost replies':
        return forMs(within(50, 400), { loses: random.pick([0.1, 0.5]) })
      case 'repeated writes':
        return forMs(within(50, 600), { repeats: random.pick([0.2, 1]) })
      case 'lost notices':
        return forMs(within(100, 800), { muffles: random.pick([0.5, 1]) })
      case 'busy':
        return forMs(within(20, 300), {
          refuses: random.pick(['store_busy', 'store_full'] as const),
          refusesShare: 0.4,
        })
      case 'held lock':
        return this.#holdLock(within(2, 40))
      case 'full disk':
        return this.#fillDisk(within(50, 500))
      case 'clock jump':
        process.skew += random.pick([
          -2_000,
          -300,
          300,
          2_000,
          ...(this.#swarm.mode === 'safety' ? [-3_600_000, 3_600_000] : []),
        ])
        return
      case 'stop':
        process.main.enter(() => void process.leave(random.int(2) === 0))
        return this.#restartLater()
      case 'later code':
        return this.#deploy()
    }
  }

  /** Later code for all processes, once: what the earlier left is gone on with. A step that only new code has is no step of old code. */
  #deploy(): void {
    if (this.#version === 2) return
    this.#version = 2
    for (const process of this.#processes) {
      if (process.isDead) continue
      process.crash('for later code')
      this.#restartLater()
    }
  }

  #pause(process: SimulatedProcess, ms: number): void {
    process.pause()
    this.#findings.count('pauses')
    this.#clock.after(ms, () => {
      if (!process.isDead) this.#findings.note(process.name, `goes on after ${ms} ms`)
      process.goOn()
    })
  }

  #restartLater(): void {
    this.#clock.after(10 + this.#random.int(1_200), () => {
      if (!this.#isHealing) this.#startProcess()
    })
  }

  /** Another program has the database. */
  #holdLock(ms: number): void {
    if (this.#lockHolder !== undefined) return
    const holder = new Database(this.#machine.path, { timeout: 0 })
    this.#lockHolder = holder
    holder.exec('BEGIN IMMEDIATE')
    this.#clock.after(ms, () => this.#releaseLock())
  }

  #releaseLock(): void {
    this.#lockHolder?.close()
    this.#lockHolder = undefined
  }

  /** SQLite itself says so, in the middle of a transaction, to whoever is up. */
  #fillDisk(ms: number): void {
    const filled = this.#processes.filter(({ isDead }) => !isDead)
    for (const { store } of filled) {
      const { connection } = store.database
      const pages = connection.pragma('page_count', { simple: true }) as number
      connection.pragma(`max_page_count = ${pages}`)
    }
    this.#clock.after(ms, () => {
      for (const { store, isDead } of filled) if (!isDead) makeRoom(store)
    })
  }

  /** No more faults: what was stopped goes on, what died starts, all with the latest code, every clock is right. */
  #heal(): void {
    this.#findings.note('life', 'no more faults')
    this.#isHealing = true
    // What is left to wait for is the runtime.
    this.#machine.pace.msEach = 0.1
    this.#releaseLock()
    for (const process of this.#processes) {
      if (process.isDead) continue
      makeRoom(process.store)
      process.skew = 0
      Object.assign(process.line.trouble, noTrouble())
      while (process.main.isStopped || process.thread.isStopped) process.goOn()
    }
  }

  async #comeToRest(): Promise<void> {
    const { audit } = this.#machine
    const begunAt = this.#clock.elapsed
    // Where a clock had jumped ahead, the store's time stands still until it is caught up with: no wait comes due until then.
    const ahead = Math.max(0, ...this.#processes.map((it) => it.furthest() - it.wall() + it.skew))
    const until = begunAt + ahead + livenessMs
    const tend = () => {
      const living = this.#processes.filter(({ isDead, isLeaving }) => !isDead && !isLeaving).length
      for (let n = living; n < this.#swarm.processes; n += 1) this.#startProcess()
      const [first] = this.#up()
      if (first !== undefined) this.#clients.finish(first)
      this.#lookForIdleness()
      this.#clock.after(100, tend)
    }
    tend()
    const isAtRest = () => audit.openTasks === 0 && this.#clock.elapsed > begunAt + 300
    await this.#runUntil(until, isAtRest)
    if (this.#findings.violations.length > 0) return
    for (const [id, { row, name }] of audit.followed)
      if (row.state < 3)
        this.#findings.violated(
          'I24',
          `task ${id} (${name}) has not ended ${until - begunAt} ms after the last fault: state ${row.state}, lease ${row.lease}`,
        )
    if (audit.liveLeases > 0 && audit.openTasks === 0)
      this.#findings.violated('I23', `${audit.liveLeases} leases are live at the end`)
  }

  /** I24: a task that could start and a worker that is free do not wait beside each other. */
  #lookForIdleness(): void {
    const { audit, capacity, workers, findings } = this.#machine
    const queued = audit.startable(this.#up())
    const slots = this.#up().length * capacity * workers
    const isIdle =
      queued > 0 &&
      audit.leases.ofWorkers < slots &&
      this.#up().every((process) => process.inFlight < capacity * workers)
    const now = this.#clock.elapsed
    if (!isIdle) this.#idleSince.clear()
    else if (!this.#idleSince.has('all')) this.#idleSince.set('all', now)
    else if (now - (this.#idleSince.get('all') ?? now) > 1_000) {
      findings.violated(
        'I24',
        `${queued} tasks are queued for more than 1000 ms while ${slots - audit.leases.ofWorkers} slots are free`,
      )
      this.#idleSince.clear()
    }
  }

  async #stopAll(): Promise<void> {
    if (this.#swarm.mode === 'safety' || this.#findings.violations.length > 0) {
      for (const process of this.#processes) process.crash('at the end')
      return
    }
    let left = 0
    for (const process of this.#up()) {
      left += 1
      const over = () => {
        left -= 1
        this.#isStirred = true
      }
      process.main.enter(() => void process.leave(true).then(over, over))
    }
    await this.#runUntil(this.#clock.elapsed + 5_000, () => left === 0)
    if (left > 0 && this.#findings.violations.length === 0)
      this.#findings.violated('I23', `${left} processes do not stop`)
    for (const process of this.#processes) process.crash('at the end')
  }

  /** The whole store, by the product's own reading, against the rules that its own tests hold it to. */
  async #finalLook(): Promise<void> {
    const { audit, config, path } = this.#machine
    audit.end()
    const auditor = openAuditor(path, config, `${this.#seed} at the end`)
    try {
      const read: ExecutionStore['read'] = (query) => {
        const asked = auditor.engine.receive({ to: 'read', call: 1, query: query as Read })
        if (asked !== undefined) runNow(asked)
        const [answer] = auditor.engine.takeReads().answers
        if (answer === undefined || 'error' in answer)
          return Promise.reject(answer?.error ?? new Error('no answer'))
        return Promise.resolve(answer.value as never)
      }
      const snapshot = await takeSnapshot({ read })
      for (const line of violationsIn(snapshot, { config, digest }))
        this.#findings.violated('at the end', line)
    } catch (error) {
      this.#findings.violated('at the end', (error as Error).message)
    } finally {
      die(auditor)
    }
  }

  #letGo(): void {
    this.#releaseLock()
    for (const process of this.#processes) process.crash('at the end')
    this.#machine.audit.rows.close()
    this.#plant?.[Symbol.dispose]()
  }
}

function makeRoom({ database }: StoreEngine): void {
  database.connection.pragma('max_page_count = 1073741823')
}

function openAuditor(path: string, config: Machine['config'], seed: string): StoreEngine {
  const random = new SeededRandom(seed)
  return openStoreEngine({
    path,
    config,
    durability: 'normal',
    acceptLoss: false,
    identity: { processId: `auditor ${random.bits()}`, host: 'simulated', bootId: 'simulated', pid: 0 },
    environment: {
      clock: { now: () => Date.UTC(2026, 0, 1), monotonic: () => 0 },
      timers: { after: () => ({ cancel() {} }) },
      ids: createVirtualEnvironment(seed).ids,
      random,
      digest,
    },
    chain: chainDigest,
    stalledMs: () => 0,
  })
}

/** The file is there before the first process, so that the audit can be, too. It is made once: all of them begin alike. */
function makeStore(path: string, config: Machine['config']): void {
  if (fresh === undefined) {
    runNow(openAuditor(path, config, 'at the beginning').engine.close())
    fresh = readFileSync(path)
  } else writeFileSync(path, fresh)
}

let fresh: Buffer | undefined

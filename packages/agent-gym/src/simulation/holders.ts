import type { Runtime, TaskLease } from '@ku0/agent-runtime'
import type { SeededRandom } from '@ku0/agent-runtime-core/testing'
import type { Audit } from './audit.ts'
import type { ClientCall } from './client-call.ts'
import { COMPLETED } from './followed.ts'
import type { SimulatedProcess } from './process.ts'
import { drawProgram } from './program.ts'
import { drawReport, limits, MEASURED, profile, reporting, swarmTerms, type Workload } from './workload.ts'

/** Whoever runs work of its own under leases, keeps swarms of agents, and judges them; each by way of a process that is up. */
export class Holders {
  readonly #random: SeededRandom
  readonly #workload: Workload
  readonly #audit: Audit
  readonly #call: ClientCall
  #count = 0

  constructor(random: SeededRandom, workload: Workload, audit: Audit, call: ClientCall) {
    this.#random = random
    this.#workload = workload
    this.#audit = audit
    this.#call = call
  }

  act(process: SimulatedProcess): void {
    const { held, swarms, evaluations, forks } = this.#workload
    if (held && this.#random.int(5) === 0) this.#hold(process)
    if (held && this.#random.int(8) === 0) this.#observe(process)
    if (swarms && this.#random.int(4) === 0) this.#spawn(process)
    if (swarms && this.#random.int(40) === 0) this.#close(process)
    if (evaluations && this.#random.int(5) === 0) this.#judge(process)
    if (forks && this.#random.int(6) === 0) this.#fork(process)
  }

  #hold(process: SimulatedProcess): void {
    const name = this.#name('held')
    const route = this.#random.pick(['crawl', 'train'])
    const work = this.#work()
    this.#audit.work.holds(name, process)
    this.#call(process, `hold ${name}`, async (runtime) => {
      const lease = await runtime.startTask(route, { profile, limits, labels: { held: name } })
      await this.#run(process, name, lease, work)
    })
  }

  /** Runs what it holds: says what it uses, now and then too much or too late, and gives it back, unless it forgets. */
  async #run(process: SimulatedProcess, name: string, lease: TaskLease, work: Work): Promise<void> {
    this.#audit.work.answered(name, lease.taskId)
    for (const { ms, report } of work.beats) {
      await process.sleep(ms)
      if (lease.signal.aborted) break
      try {
        await lease.heartbeat({ memoryUsed: report.memoryBytes, computeUs: report.computeUs })
      } catch (error) {
        if (!lease.signal.aborted) throw error
      }
    }
    if (work.end !== 'forgotten' || lease.signal.aborted)
      await lease.release(work.end === 'failed' ? { error: new Error('as planned') } : { output: name })
  }

  /** What is too short for a lease. */
  #observe(process: SimulatedProcess): void {
    const latencyMs = this.#random.pick([undefined, 5, 5, 200])
    this.#call(process, 'route', async (runtime) =>
      runtime.route('crawl', latencyMs === undefined ? undefined : { latencyMs }),
    )
  }

  #spawn(process: SimulatedProcess): void {
    const random = this.#random
    const name = this.#name('agent')
    const lane = random.pick(['interactive', 'normal', 'batch'] as const)
    const share = random.int(3) === 0 ? { share: { cpuTimeUs: 1_500, memoryBytes: 400 } } : {}
    const work = this.#work()
    const program = reporting(drawProgram(random.fork(name), name, undefined, 1), random)
    const isTask = random.int(2) === 0
    if (isTask) this.#audit.tasks.submits(name)
    else this.#audit.work.holds(name, process)
    this.#call(process, `spawn ${name}`, async (runtime) => {
      const swarm = await swarmOf(runtime)
      if (isTask) {
        const receipt = await swarm.spawnAgent(name, { task: MEASURED, input: program, lane, ...share })
        if (receipt.accepted) this.#audit.submissionAnswered(receipt.taskId, name)
        return
      }
      const lease = await swarm.spawnAgent(name, { lane, ...share, labels: { held: name } })
      await this.#run(process, name, lease, work)
    })
  }

  #close(process: SimulatedProcess): void {
    this.#audit.work.closes()
    this.#call(process, 'close the swarm', async (runtime) => (await swarmOf(runtime)).close())
  }

  /** The same judgement may come twice: it counts once. */
  #judge(process: SimulatedProcess): void {
    const random = this.#random
    const [agent, key] = [random.pick(['ann', 'bob']), `judgement ${random.int(12)}`]
    // By its key the same each time.
    const quality = Number(key.slice(10)) / 12
    this.#call(process, `judge ${agent}`, async ({ evaluations }) => {
      await evaluations.record(agent, { quality }, { key })
      this.#audit.work.judged(agent, key)
    })
  }

  /** A retry where that is possible, or a fork before one of the steps, or of all of it. */
  #fork(process: SimulatedProcess): void {
    const random = this.#random
    const over = this.#audit.tasks.forkable()
    if (over.length === 0) return
    const { row, memos } = random.pick(over)
    const taskId = this.#audit.taskId(row.id)
    const steps = [...memos.keys()].filter((key) => key.startsWith('step'))
    const fromStep = steps.length > 0 && random.int(2) === 0 ? random.pick(steps) : undefined
    const isRetry = row.state !== COMPLETED && random.int(2) === 0
    this.#audit.tasks.forks(row.id, isRetry ? undefined : fromStep)
    this.#call(process, `${isRetry ? 'retry' : 'fork'} task ${row.id}`, async (runtime) => {
      const receipt = isRetry
        ? await runtime.retry(taskId)
        : await runtime.fork(taskId, fromStep === undefined ? {} : { fromStep })
      if (receipt.accepted)
        this.#audit.tasks.forkAnswered(receipt.taskId, row.id, isRetry ? undefined : fromStep)
    })
  }

  #work(): Work {
    const random = this.#random
    return {
      beats: Array.from({ length: random.int(5) }, () => ({
        ms: random.pick([5, 40, 150, 300, 700]),
        report: drawReport(random),
      })),
      end: random.pick(['done', 'done', 'done', 'failed', 'forgotten'] as const),
    }
  }

  #name(what: string): string {
    this.#count += 1
    return `${what} ${this.#count}`
  }
}

interface Work {
  readonly beats: readonly { readonly ms: number; readonly report: ReturnType<typeof drawReport> }[]
  readonly end: 'done' | 'failed' | 'forgotten'
}

function swarmOf(runtime: Runtime) {
  return runtime.createSwarm('crew', { profile, limits, ...swarmTerms })
}

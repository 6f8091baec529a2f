import { createRuntime, type Runtime, type TaskDefinition } from '@ku0/agent-runtime'
import { flagsOf } from '../flags.ts'
import type { WorkerCall } from './worker-call.ts'
import type { Spawn, Started } from '../spawn.ts'
import { spawnSelf } from '../spawn.ts'
import { shownUrl } from '../store-argument.ts'
import { leave } from './daemon.ts'
import { say } from '../screen/lifetime.ts'
import { failing } from './failing.ts'
import { optionsOf } from './options.ts'

/** How often the queue is looked at for batch tasks, ms. */
const LOOK_MS = 1_000
/** The longest rest after a job that found nothing to do, ms: its tasks wait for a quota or a time. */
const REST_MS = 30_000

/** Runs interactive and normal task types itself, and starts one job for each queued task of a batch type. */
export async function runHybrid({ call, settings, file, tasks, ready }: WorkerCall): Promise<number> {
  const batch = tasks.filter(({ lane }) => lane === 'batch')
  const own = tasks.filter(({ lane }) => lane !== 'batch')
  const failure = failing()
  await using runtime = await createRuntime({
    ...optionsOf(settings),
    tasks,
    workers:
      own.length === 0 ? 0 : { capacity: settings.worker.capacity, types: own.map(({ type }) => type) },
    onFailure: failure.tell,
  })
  const { spawn = spawnSelf, folder } = call.outlet
  const jobs = new Jobs({
    runtime,
    call,
    spawn,
    batch,
    most: settings.worker.maxJobs,
    args: jobArgs(),
    folder,
  })
  function jobArgs(): readonly string[] {
    const { config } = call.options as { readonly config?: string }
    return [
      'worker',
      file,
      ...flagsOf({
        mode: 'job',
        types: batch.map(({ type }) => type),
        store: settings.store,
        config,
        json: true,
      }),
    ]
  }
  ready(true)
  const [here, there] = [own, batch].map((types) => types.map(({ type }) => type))
  say(
    call,
    { type: 'ready', store: shownUrl(settings.store), types: here, jobs: there },
    `ready: runs ${here?.join(', ') || 'nothing'} itself, and ${there?.join(', ') || 'nothing'} in jobs, ${settings.worker.maxJobs} at most`,
  )
  await Promise.race([jobs.run(), failure.failed])
  ready(false)
  say(call, { type: 'draining' }, 'draining')
  await jobs.stop()
  return leave(call, await runtime.stop())
}

interface JobsDeps {
  readonly runtime: Runtime
  readonly call: WorkerCall['call']
  readonly spawn: Spawn
  readonly batch: readonly TaskDefinition[]
  readonly most: number
  readonly args: readonly string[]
  readonly folder: string | undefined
}

/** The jobs of a hybrid worker: never more than there are tasks, nor than it may have. */
class Jobs {
  readonly #deps: JobsDeps
  readonly #alive = new Set<Started>()
  /** Jobs that have not taken a task yet. */
  readonly #looking = new Set<Started>()
  #restMs = 0
  #restUntil = 0

  constructor(deps: JobsDeps) {
    this.#deps = deps
  }

  /** Starts jobs until the command is to end. */
  async run(): Promise<void> {
    const { call, runtime, batch } = this.#deps
    const types = new Set(batch.map(({ type }) => type))
    let wake = Promise.withResolvers<void>()
    using _ = runtime.on('task.queued', ({ data }) => types.has(data.type) && wake.resolve())
    while (!call.signal.aborted) {
      if (types.size > 0 && call.system.now() >= this.#restUntil) await this.#startWanted([...types])
      const isOver = new AbortController()
      const pause = call.system.sleep(LOOK_MS, AbortSignal.any([call.signal, isOver.signal]))
      await Promise.race([pause, wake.promise])
      isOver.abort()
      wake = Promise.withResolvers()
    }
  }

  /** Every job drains as this process does. */
  async stop(): Promise<void> {
    for (const job of this.#alive) job.stop()
    await Promise.all([...this.#alive].map(({ ended }) => ended.catch(() => 1)))
  }

  async #startWanted(types: readonly string[]): Promise<void> {
    const { runtime, call, most } = this.#deps
    const { tasks } = await runtime.list({ states: ['queued'], types, limit: Math.min(1_000, most * 4) })
    const now = call.system.now()
    const due = tasks.filter(
      (task) => task.state === 'queued' && (task.dueAt === undefined || task.dueAt <= now),
    )
    const wanted = Math.min(most - this.#alive.size, due.length - this.#looking.size)
    for (let n = 0; n < wanted; n += 1) this.#start()
  }

  #start(): void {
    const { call, spawn, args } = this.#deps
    let hasTask = false
    const job = spawn(args, {
      heard: (line) => {
        const { type, taskId, how } = JSON.parse(line) as { type: string; taskId?: string; how?: string }
        if (type === 'claimed') {
          hasTask = true
          this.#restMs = 0
          this.#looking.delete(job)
        }
        if (type === 'claimed' || type === 'ended')
          say(
            call,
            { type: `job.${type}`, taskId, how },
            `job ${type} ${taskId ?? ''}${how === undefined ? '' : ` (${how})`}`,
          )
      },
    })
    this.#alive.add(job)
    this.#looking.add(job)
    const over = (code: number) => {
      this.#alive.delete(job)
      this.#looking.delete(job)
      if (hasTask) return
      this.#restMs = Math.min(REST_MS, Math.max(LOOK_MS, this.#restMs * 2))
      this.#restUntil = call.system.now() + this.#restMs
      if (code !== 0)
        say(call, { type: 'job.broken', code }, `a job ended with ${code} before it took a task`)
    }
    job.ended.then(over, () => over(1))
  }
}

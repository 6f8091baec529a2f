import type { Runtime } from '@ku0/agent-runtime'
import type { Call } from '../call.ts'
import type { JobHandle, JobState, JobTarget } from '../jobs/job-target.ts'
import { describeError, errorCodes, type Lane, pauseOf, RuntimeError } from '@ku0/agent-runtime-core'
import { say } from '../screen/lifetime.ts'

/** Its tasks are run in jobs. */
export const LANE: Lane = 'batch'
/** How often the queue is looked at for batch tasks, ms. */
const LOOK_MS = 1_000
/** How often a service is asked for the state of a job, ms. */
const ASK_MS = 5_000
/** The longest rest after a job that found nothing to do, ms: its tasks wait for a quota or a time. */
const REST_MS = 30_000
/** How long a job may take until it has taken a task, ms. After that it is given up, and its place is free. */
const START_MS = 300_000

export interface JobLauncherDeps {
  readonly runtime: Runtime
  readonly call: Pick<Call, 'print' | 'signal' | 'system'>
  readonly target: JobTarget
  /** The types of tasks that it starts jobs for, if they are in the lane batch. */
  readonly types: readonly string[]
  /** How many jobs there may be at once. */
  readonly most: number
}

interface Job {
  readonly handle: JobHandle
  readonly since: number
  /** The task that it was started for, or has taken. */
  taskId: string
  hasTask: boolean
  askedAt: number
}

/**
 * Starts jobs for queued batch tasks: one for each, and never more than there may be at once. The claim of a job decides which task it takes,
 * so a job that takes another task than the one it was started for is counted for that one.
 */
export class JobLauncher {
  readonly #deps: JobLauncherDeps
  readonly #jobs = new Set<Job>()
  #restMs = 0
  #restUntil = 0
  #isAway = false

  constructor(deps: JobLauncherDeps) {
    this.#deps = deps
  }

  /** Starts jobs until the command is to end. */
  async run(): Promise<void> {
    const { call, runtime } = this.#deps
    const types = new Set(this.#deps.types)
    let wake = Promise.withResolvers<void>()
    using _ = runtime.on('task.*', ({ type, taskId, data }) => {
      if (type === 'task.queued' && types.has(data.type)) wake.resolve()
      if (type === 'task.started' && types.has(data.type) && data.lane === LANE) this.#taken(taskId)
    })
    const aborted = Promise.withResolvers<void>()
    call.signal.addEventListener('abort', () => aborted.resolve(), { once: true })
    while (!call.signal.aborted) {
      // A store or a service that does not answer keeps nobody from ending.
      await Promise.race([this.#tryLook(), aborted.promise])
      const isOver = new AbortController()
      const pause = call.system.sleep(LOOK_MS, AbortSignal.any([call.signal, isOver.signal]))
      await Promise.race([pause, wake.promise])
      isOver.abort()
      wake = Promise.withResolvers()
    }
  }

  /** Asks every job to end. Resolves when the target has been asked. */
  async stop(): Promise<void> {
    const { target } = this.#deps
    await Promise.all([...this.#jobs].map(({ handle }) => target.stop(handle).catch(() => false)))
  }

  /** A store that is away for a while is looked at again; any other error ends the command. */
  async #tryLook(): Promise<void> {
    const { call } = this.#deps
    try {
      await this.#look()
      this.#isAway = false
    } catch (error) {
      if (call.signal.aborted) return
      if (!isPassing(error)) throw error
      const why = describeError(error).message
      if (!this.#isAway)
        say(call, { type: 'store.away', why }, `no jobs are started until the store answers: ${why}`)
      this.#isAway = true
    }
  }

  async #look(): Promise<void> {
    const { call, types, most } = this.#deps
    if (types.length === 0) return
    const now = call.system.now()
    const due = await this.#due(now)
    await Promise.all([...this.#jobs].map((job) => this.#ask(job, due)))
    if (now < this.#restUntil) return
    const served = new Set([...this.#jobs].map(({ taskId }) => taskId))
    for (const [taskId, type] of due) {
      if (this.#jobs.size >= most || call.signal.aborted) return
      if (!served.has(taskId) && !(await this.#start(taskId, type))) return
    }
  }

  /** Queued tasks that a job would take now, by id, with their types: as many as jobs may be started for, and some more. */
  async #due(now: number): Promise<ReadonlyMap<string, string>> {
    const { runtime, types, most } = this.#deps
    const due = new Map<string, string>()
    const { depth, paused } = await runtime.stats()
    if (depth[LANE] === 0) return due
    const enough = most * 4
    let cursor: number | undefined
    do {
      // Tasks that were submitted for later stand on the same pages, and there may be many.
      const page = await runtime.list({
        states: ['queued'],
        types,
        lanes: [LANE],
        limit: cursor === undefined ? Math.min(1_000, enough) : 1_000,
        ...(cursor === undefined ? {} : { cursor }),
      })
      for (const task of page.tasks)
        if (
          task.state === 'queued' &&
          pauseOf(paused, task) === undefined &&
          (task.dueAt === undefined || task.dueAt <= now)
        )
          due.set(task.taskId, task.type)
      ;({ cursor } = page)
    } while (due.size < enough && cursor !== undefined)
    return due
  }

  /** A task has been started, by a job or by another worker. */
  #taken(taskId: string): void {
    const jobs = [...this.#jobs]
    // A job that is still looking may have taken it; if it was another worker's, one job more than needed finds nothing to do.
    const job = jobs.find((it) => it.taskId === taskId) ?? jobs.find(({ hasTask }) => !hasTask)
    if (job === undefined || job.hasTask) return
    job.taskId = taskId
    job.hasTask = true
    this.#restMs = 0
    say(this.#deps.call, { type: 'job.claimed', taskId }, `job claimed ${taskId}`)
  }

  async #ask(job: Job, due: ReadonlyMap<string, string>): Promise<void> {
    const { target, call, runtime } = this.#deps
    const now = call.system.now()
    if (target.name !== 'process' && now - job.askedAt < ASK_MS) return
    job.askedAt = now
    let state: JobState = await target.state(job.handle).catch(() => 'unknown')
    if (state === 'unknown' && job.hasTask) {
      // A service that does not say leaves the store to say it.
      const task = await runtime.status(job.taskId)
      if (task?.state !== 'running') state = 'gone'
    }
    if (state === 'succeeded' || state === 'failed' || state === 'gone') return this.#over(job, state, due)
    if (job.hasTask || now - job.since < START_MS) return
    this.#jobs.delete(job)
    say(
      call,
      { type: 'job.late', taskId: job.taskId, job: job.handle },
      `job ${job.handle.id} has taken no task for ${START_MS / 1_000} s and is stopped`,
    )
    await target.stop(job.handle).catch(() => false)
  }

  #over(job: Job, how: JobState, due: ReadonlyMap<string, string>): void {
    const { taskId } = job
    this.#jobs.delete(job)
    const isIdle = !job.hasTask && due.has(taskId)
    if (isIdle) this.#rest()
    if (isIdle && how === 'failed')
      say(this.#deps.call, { type: 'job.broken', taskId }, `a job failed before it took task ${taskId}`)
    else say(this.#deps.call, { type: 'job.ended', taskId, how }, `job ended ${taskId} (${how})`)
  }

  /** Whether it could be started. */
  async #start(taskId: string, type: string): Promise<boolean> {
    const { target, types, call } = this.#deps
    try {
      const since = call.system.now()
      const handle = await target.start({ taskId, type, types, lanes: [LANE] })
      this.#jobs.add({ handle, since, taskId, hasTask: false, askedAt: since })
      say(call, { type: 'job.started', taskId, job: handle }, `job started for ${taskId}`)
      return true
    } catch (error) {
      this.#rest()
      const why = describeError(error).message
      say(call, { type: 'job.refused', taskId, why }, `no job could be started for ${taskId}: ${why}`)
      return false
    }
  }

  #rest(): void {
    this.#restMs = Math.min(REST_MS, Math.max(LOOK_MS, this.#restMs * 2))
    this.#restUntil = this.#deps.call.system.now() + this.#restMs
  }
}

function isPassing(error: unknown): boolean {
  if (!(error instanceof RuntimeError)) return false
  const entry = errorCodes[error.code]
  return 'retryable' in entry && entry.retryable
}

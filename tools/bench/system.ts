/** Where a run has its data. */
export interface Place {
  /** A folder of the run's own. */
  readonly folder: string
  /** How to reach the server that the run has to itself; empty for a system without one. */
  readonly url: string
  /** The process of that server. */
  readonly server?: number
}

/** What a task does in a run. */
export interface Job {
  /** Durable steps of each task, or of one of this number; with 0 it is a handler alone. */
  readonly steps: number | ((task: number) => number)
  /** Called in each step, or once by a handler without steps. */
  readonly run: (task: number, step: number) => unknown
  /** Whether a task waits before it runs: durably, without a slot, until it is woken. */
  readonly waits?: (task: number) => boolean
  /** Called when a handler is about to wait, also by one that runs again. */
  readonly reached?: (task: number) => void
  /** Called when a handler is about to return. */
  readonly ended?: (task: number) => void
}

/** Which tasks go first. */
export type Lane = 'interactive' | 'normal' | 'batch'

interface OpenOptions {
  readonly place: Place
  /** Absent for a process that submits and runs nothing. */
  readonly job?: Job
  /** How many tasks may run at once; absent: what the system is fastest with. */
  readonly atOnce?: number
  /** How many workers the process has, each of which runs `atOnce` tasks; one by default. */
  readonly workers?: number
}

/** One process's end of a system. */
export interface Connection {
  /** Resolves when the task is stored as durably as the system promises. */
  submit(task: number, lane?: Lane): Promise<unknown>
  /** Many tasks in one call, by the system's own call for that. */
  readonly submitMany?: (tasks: readonly number[]) => Promise<unknown>
  /** Wakes a task that waits. Resolves when that is stored. Only in systems whose handlers can wait. */
  readonly wake?: (task: number) => Promise<unknown>
  /** How many tasks wait, as the store says. */
  readonly waiting?: () => Promise<number>
  /** Starts to run tasks. Resolves when it has begun to look for them. */
  start(): Promise<unknown>
  /** Lets running tasks end, acknowledges them, and lets go of everything. */
  close(): Promise<unknown>
}

/** Opens a system in this process, its tables included. */
export type Open = (options: OpenOptions) => Promise<Connection>

/** Runs the steps of a task, for systems whose steps are calls of one function. */
export async function runSteps(
  job: Job,
  task: number,
  step: (name: string, run: () => unknown) => Promise<unknown>,
): Promise<void> {
  const steps = stepsOf(job, task)
  if (steps === 0) await job.run(task, 0)
  for (let n = 0; n < steps; n += 1)
    await step(`step ${n}`, async () => {
      await job.run(task, n)
      return n
    })
  job.ended?.(task)
}

/** Lets a task wait first, when it is one that does. */
export async function waitFirst(job: Job, task: number, wait: () => Promise<unknown>): Promise<void> {
  if (job.waits?.(task) !== true) return
  job.reached?.(task)
  await wait()
}

export function stepsOf({ steps }: Job, task: number): number {
  return typeof steps === 'number' ? steps : steps(task)
}

export const nothing: Job = { steps: 0, run: () => undefined }

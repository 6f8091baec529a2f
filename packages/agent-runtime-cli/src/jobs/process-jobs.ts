import { type Spawn, spawnSelf, type Started } from '../spawn.ts'
import { jobArguments, type JobState, type JobTarget, type JobTask } from './job-target.ts'

export interface ProcessJobsOptions {
  /** The arguments of `agent-runtime`; those of `jobArguments` by default. */
  readonly args?: ((task: JobTask) => readonly string[]) | undefined
  /** Gets each line that a job writes to its standard output, which is one JSON document. */
  readonly heard?: ((line: string) => void) | undefined
  /** Starts a process of this program; on the Node and the code of this one by default. */
  readonly spawn?: Spawn | undefined
}

/** Jobs in child processes of this one. Its handles mean nothing to another process. */
export interface ProcessJobs extends JobTarget {
  /** Resolves when no job runs any more. */
  readonly ended: () => Promise<void>
}

/** Starts each job as a child process. This is what a hybrid worker uses when its configuration names no other target. */
export function processJobs({
  args = jobArguments,
  heard = () => undefined,
  spawn = spawnSelf,
}: ProcessJobsOptions = {}): ProcessJobs {
  const jobs = new Map<string, { readonly process: Started; code?: number }>()
  let count = 0
  return {
    name: 'process',
    start: (task) => {
      const id = String((count += 1))
      const job: { readonly process: Started; code?: number } = { process: spawn(args(task), { heard }) }
      jobs.set(id, job)
      const over = (code: number) => {
        job.code = code
      }
      job.process.ended.then(over, () => over(1))
      return Promise.resolve({ target: 'process', id })
    },
    stop: ({ id }) => {
      const job = jobs.get(id)
      if (job === undefined || job.code !== undefined) return Promise.resolve(false)
      job.process.stop()
      return Promise.resolve(true)
    },
    state: ({ id }) => {
      const job = jobs.get(id)
      if (job === undefined) return Promise.resolve('gone')
      if (job.code === undefined) return Promise.resolve('running')
      // Its end has been told; what is kept of it would only grow.
      jobs.delete(id)
      const state: JobState = job.code === 0 ? 'succeeded' : 'failed'
      return Promise.resolve(state)
    },
    ended: async () => {
      await Promise.all([...jobs.values()].map(({ process }) => process.ended.catch(() => 1)))
    },
  }
}

import { jobArguments, type JobHandle, type JobState, type JobTarget } from './job-target.ts'
import { callService, idOf, type ServiceOptions, textAt, valueAt } from './service.ts'

export interface CloudRunJobsOptions extends ServiceOptions {
  /** The job that is run: `projects/PROJECT/locations/LOCATION/jobs/JOB`. Its image has `agent-runtime` as its entrypoint, and its `maxRetries` is 0. */
  readonly job: string
  /** Environment variables of each run, beside those of the job. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** How long a run may last, in s; what the job says by default. */
  readonly timeoutSeconds?: number | undefined
  /** The URL of the service; `https://run.googleapis.com` by default. */
  readonly server?: string | undefined
}

/** Runs an existing Cloud Run job once for each task. The headers carry an OAuth token for `https://www.googleapis.com/auth/cloud-platform`. */
export function cloudRunJobs(options: CloudRunJobsOptions): JobTarget {
  const { job, env = {}, timeoutSeconds, server = 'https://run.googleapis.com' } = options
  const urlOf = (path: string) => new URL(`/v2/${path}`, server).href
  const call = (method: 'GET' | 'POST', url: string, json?: unknown) =>
    callService('Cloud Run', options, method, url, json)
  return {
    name: 'cloud-run',
    start: async (task) => {
      const { body } = await call('POST', urlOf(`${job}:run`), {
        overrides: {
          taskCount: 1,
          ...(timeoutSeconds === undefined ? {} : { timeout: `${timeoutSeconds}s` }),
          containerOverrides: [
            {
              args: jobArguments(task),
              env: Object.entries(env).map(([name, value]) => ({ name, value })),
            },
          ],
        },
      })
      // The answer is a long-running operation, whose metadata are the execution.
      const id = idOf('Cloud Run', textAt(body, 'metadata', 'name'), 'the name of the execution')
      return { target: 'cloud-run', id }
    },
    stop: async ({ id }) => (await call('POST', urlOf(`${id}:cancel`), {})).status !== 404,
    state: async ({ id }: JobHandle) => {
      const { status, body } = await call('GET', urlOf(id))
      return status === 404 ? 'gone' : stateOf(body)
    },
  }
}

function stateOf(execution: unknown): JobState {
  const count = (name: string) => Number(valueAt(execution, name) ?? 0)
  if (textAt(execution, 'completionTime') !== undefined)
    return count('succeededCount') > 0 ? 'succeeded' : 'failed'
  return count('runningCount') > 0 ? 'running' : 'starting'
}

import { jobArguments, type JobHandle, type JobState, type JobTarget } from './job-target.ts'
import { callService, idOf, type ServiceOptions, textAt } from './service.ts'

export interface ModalJobsOptions extends ServiceOptions {
  /** The URL of the deployed web function of `docs/deploy/modal_jobs.py`, such as `https://WORKSPACE--agent-jobs-web.modal.run`. */
  readonly url: string
}

/**
 * Starts each job by the web function of `docs/deploy/modal_jobs.py`, which spawns a function call of Modal: Modal has no HTTP API of its
 * own for this. The headers are those of a proxy token: `Modal-Key` and `Modal-Secret`.
 */
export function modalJobs(options: ModalJobsOptions): JobTarget {
  const jobs = new URL('jobs', options.url.endsWith('/') ? options.url : `${options.url}/`).href
  const one = ({ id }: JobHandle) => `${jobs}/${encodeURIComponent(id)}`
  const call = (method: 'GET' | 'POST' | 'DELETE', url: string, json?: unknown) =>
    callService('Modal', options, method, url, json)
  return {
    name: 'modal',
    start: async (task) => {
      const { taskId, type } = task
      const { body } = await call('POST', jobs, { taskId, type, args: jobArguments(task) })
      return { target: 'modal', id: idOf('Modal', textAt(body, 'id'), 'the id of the call') }
    },
    stop: async (handle) => (await call('DELETE', one(handle))).status !== 404,
    state: async (handle) => {
      const { status, body } = await call('GET', one(handle))
      return status === 404 ? 'gone' : (states[textAt(body, 'state') ?? ''] ?? 'unknown')
    },
  }
}

const states: Readonly<Record<string, JobState>> = {
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
}

import { jobArguments, type JobHandle, type JobState, type JobTarget, type JobTask } from './job-target.ts'
import { callService, idOf, type ServiceOptions, textAt, valueAt } from './service.ts'

export interface KubernetesJobsOptions extends ServiceOptions {
  /** The URL of the API server, such as `https://kubernetes.default.svc`. */
  readonly server: string
  /** The namespace of the jobs; `default` by default. */
  readonly namespace?: string | undefined
  /** The image, whose entrypoint is `agent-runtime`. */
  readonly image: string
  /** The beginning of the names of the jobs; `agent-job` by default. */
  readonly name?: string | undefined
  /** Environment variables of the container. Take secrets from the cluster with `container: { envFrom }`. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** How long a pod may take to drain, in s; 60 by default. It is longer than `drainGraceMs + killGraceMs + cleanupTimeoutMs`. */
  readonly graceSeconds?: number | undefined
  /** How long an ended job is kept, in s; 3600 by default. */
  readonly keepSeconds?: number | undefined
  /** Further fields of the container, such as `resources` and `envFrom`. */
  readonly container?: Readonly<Record<string, unknown>> | undefined
  /** Further fields of the pod, such as `serviceAccountName` and `nodeSelector`. */
  readonly pod?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Starts each job as a `batch/v1` Job of Kubernetes, with one pod and without retries: a task that is lost with its pod is queued again by
 * its lease. The headers carry the token of a service account that may create, get and delete Jobs.
 */
export function kubernetesJobs(options: KubernetesJobsOptions): JobTarget {
  const { server, namespace = 'default' } = options
  const jobs = new URL(`/apis/batch/v1/namespaces/${encodeURIComponent(namespace)}/jobs`, server).href
  const one = ({ id }: JobHandle) => `${jobs}/${encodeURIComponent(id)}`
  const call = (method: 'GET' | 'POST' | 'DELETE', url: string, json?: unknown) =>
    callService('Kubernetes', options, method, url, json)
  return {
    name: 'kubernetes',
    start: async (task) => {
      const { body } = await call('POST', jobs, jobOf(options, task))
      return {
        target: 'kubernetes',
        id: idOf('Kubernetes', textAt(body, 'metadata', 'name'), 'the name of the job'),
      }
    },
    // The pod gets a SIGTERM, and has its grace to end.
    stop: async (handle) => {
      const { status } = await call('DELETE', one(handle), {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        propagationPolicy: 'Background',
      })
      return status !== 404
    },
    state: async (handle) => {
      const { status, body } = await call('GET', one(handle))
      return status === 404 ? 'gone' : stateOf(valueAt(body, 'status'))
    },
  }
}

function jobOf(
  {
    image,
    name = 'agent-job',
    env = {},
    graceSeconds = 60,
    keepSeconds = 3_600,
    container,
    pod,
  }: KubernetesJobsOptions,
  task: JobTask,
): unknown {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      generateName: `${name}-`,
      // A label could not hold every id.
      annotations: { 'agent-runtime/task': task.taskId, 'agent-runtime/type': task.type },
    },
    spec: {
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      ttlSecondsAfterFinished: keepSeconds,
      template: {
        spec: {
          ...pod,
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: graceSeconds,
          containers: [
            {
              ...container,
              name: 'agent',
              image,
              args: jobArguments(task),
              env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
            },
          ],
        },
      },
    },
  }
}

function stateOf(status: unknown): JobState {
  const conditions = valueAt(status, 'conditions')
  const isTrue = (type: string) =>
    Array.isArray(conditions) &&
    conditions.some((it) => textAt(it, 'type') === type && textAt(it, 'status') === 'True')
  if (isTrue('Complete')) return 'succeeded'
  if (isTrue('Failed')) return 'failed'
  // `ready` counts pods whose container runs.
  return Number(valueAt(status, 'ready') ?? 0) > 0 ? 'running' : 'starting'
}

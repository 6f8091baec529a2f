import { jobArguments, type JobHandle, type JobState, type JobTarget } from './job-target.ts'
import { callService, idOf, type ServiceOptions, textAt } from './service.ts'

export interface AzureJobsOptions extends ServiceOptions {
  /** The id of the subscription. */
  readonly subscription: string
  readonly resourceGroup: string
  /** The Container Apps job that is started: its trigger is manual, and its `replicaRetryLimit` is 0. */
  readonly job: string
  /** The image, whose entrypoint is `agent-runtime`. A start replaces the containers of the job, so it names its image. */
  readonly image: string
  /** The name of the container; `agent` by default. */
  readonly container?: string | undefined
  /** Environment variables of the container. A value `{ secretRef }` is a secret of the job. */
  readonly env?: Readonly<Record<string, string | { readonly secretRef: string }>> | undefined
  /** Processors and memory, such as `{ cpu: 1, memory: '2Gi' }`. */
  readonly resources?: { readonly cpu: number; readonly memory: string } | undefined
  /** The URL of the service; `https://management.azure.com` by default. */
  readonly server?: string | undefined
}

/** Starts an existing job of Azure Container Apps once for each task. The headers carry a token of the resource manager, such as that of a managed identity. */
export function azureJobs(options: AzureJobsOptions): JobTarget {
  const { subscription, resourceGroup, job, server = 'https://management.azure.com' } = options
  const parts = ['subscriptions', subscription, 'resourceGroups', resourceGroup]
  const root = [...parts, 'providers', 'Microsoft.App', 'jobs', job].map(encodeURIComponent).join('/')
  const urlOf = (rest: string) => new URL(`/${root}/${rest}?api-version=2024-03-01`, server).href
  const call = (method: 'GET' | 'POST', url: string, json?: unknown) =>
    callService('Azure Container Apps', options, method, url, json)
  return {
    name: 'azure-container-apps',
    start: async (task) => {
      const { image, container = 'agent', env = {}, resources } = options
      const { body } = await call('POST', urlOf('start'), {
        containers: [
          {
            name: container,
            image,
            args: jobArguments(task),
            env: Object.entries(env).map(([name, value]) =>
              typeof value === 'string' ? { name, value } : { name, ...value },
            ),
            ...(resources === undefined ? {} : { resources }),
          },
        ],
      })
      return {
        target: 'azure-container-apps',
        id: idOf('Azure Container Apps', textAt(body, 'name'), 'the name of the execution'),
      }
    },
    stop: async ({ id }) =>
      (await call('POST', urlOf(`executions/${encodeURIComponent(id)}/stop`))).status !== 404,
    state: async ({ id }: JobHandle) => {
      const { status, body } = await call('GET', urlOf(`executions/${encodeURIComponent(id)}`))
      if (status === 404) return 'gone'
      return states[textAt(body, 'properties', 'status') ?? ''] ?? 'unknown'
    },
  }
}

const states: Readonly<Record<string, JobState>> = {
  Processing: 'starting',
  Running: 'running',
  Degraded: 'running',
  Succeeded: 'succeeded',
  Failed: 'failed',
  Stopped: 'failed',
}

import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  azureJobs,
  cloudRunJobs,
  dockerJobs,
  JobTargetError,
  kubernetesJobs,
  lambdaJobs,
  modalJobs,
} from '../../src/jobs/index.ts'
import { scratchFolder } from '../stores-and-shells.ts'
import { formOf } from './form-of.ts'
import { serviceWith } from './service-on-loopback.ts'

const task = { taskId: 'task-1/é', type: 'digest', types: ['digest', 'scan'], lanes: ['batch'] } as const
const args = [
  'worker',
  '--mode',
  'job',
  '--types',
  'digest,scan',
  '--lanes',
  'batch',
  '--waiting-exit',
  '0',
  '--json',
]
const headers = () => ({ authorization: 'Bearer it' })

const everyState = ['running', 'starting', 'succeeded', 'failed', 'gone']

test('kubernetes: a Job of batch/v1 with one pod and no retry', async () => {
  const jobs = '/apis/batch/v1/namespaces/agents/jobs'
  const { asked, url } = await serviceWith({
    [`POST ${jobs}`]: { status: 201, body: { metadata: { name: 'agent-job-x1' } } },
    [`GET ${jobs}/agent-job-x1`]: { body: { status: { active: 1, ready: 1 } } },
    [`GET ${jobs}/new`]: { body: { status: { active: 1, ready: 0 } } },
    [`GET ${jobs}/done`]: { body: { status: { conditions: [{ type: 'Complete', status: 'True' }] } } },
    [`GET ${jobs}/broken`]: { body: { status: { conditions: [{ type: 'Failed', status: 'True' }] } } },
    [`DELETE ${jobs}/agent-job-x1`]: { body: { kind: 'Status' } },
  })
  const target = kubernetesJobs({
    server: url,
    namespace: 'agents',
    image: 'registry.example/agent:1',
    env: { AGENT_RUNTIME_STORE: 'https://tasks.example.com' },
    container: { resources: { limits: { memory: '1Gi' } }, envFrom: [{ secretRef: { name: 'agent' } }] },
    pod: { serviceAccountName: 'agent' },
    headers,
  })
  const handle = await target.start(task)
  expect(handle).toEqual({ target: 'kubernetes', id: 'agent-job-x1' })
  const [{ body, headers: sent } = {}] = asked
  expect(formOf('kubernetes-job').parse(body)).toMatchObject({
    metadata: { annotations: { 'agent-runtime/task': 'task-1/é' } },
    spec: {
      backoffLimit: 0,
      template: { spec: { restartPolicy: 'Never', serviceAccountName: 'agent', containers: [{ args }] } },
    },
  })
  expect(sent).toMatchObject({ authorization: 'Bearer it', 'content-type': 'application/json' })
  const state = (id: string) => target.state({ target: 'kubernetes', id })
  expect(await Promise.all(['agent-job-x1', 'new', 'done', 'broken', 'other'].map(state))).toEqual(everyState)
  expect([await target.stop(handle), await target.stop({ target: 'kubernetes', id: 'other' })]).toEqual([
    true,
    false,
  ])
  expect(asked.at(-2)).toMatchObject({ body: { kind: 'DeleteOptions', propagationPolicy: 'Background' } })
})

test('cloud-run: an execution of an existing job with its own arguments', async () => {
  const job = 'projects/p/locations/europe-west1/jobs/agent'
  const execution = `${job}/executions/agent-1`
  const { asked, url } = await serviceWith({
    [`POST /v2/${job}:run`]: { body: { name: 'operations/1', metadata: { name: execution } } },
    [`GET /v2/${execution}`]: { body: { runningCount: 1 } },
    [`GET /v2/${job}/executions/done`]: {
      body: { completionTime: '2026-01-01T00:00:00Z', succeededCount: 1 },
    },
    [`GET /v2/${job}/executions/broken`]: {
      body: { completionTime: '2026-01-01T00:00:00Z', failedCount: 1 },
    },
    [`GET /v2/${job}/executions/new`]: { body: {} },
    [`POST /v2/${execution}:cancel`]: { body: { name: 'operations/2' } },
  })
  const target = cloudRunJobs({ job, server: url, timeoutSeconds: 3_600, env: { A: '1' }, headers })
  const handle = await target.start(task)
  expect(handle).toEqual({ target: 'cloud-run', id: execution })
  expect(formOf('cloud-run-run').parse(asked[0]?.body)).toEqual({
    overrides: {
      taskCount: 1,
      timeout: '3600s',
      containerOverrides: [{ args, env: [{ name: 'A', value: '1' }] }],
    },
  })
  const state = (name: string) => target.state({ target: 'cloud-run', id: `${job}/executions/${name}` })
  expect(await Promise.all(['agent-1', 'new', 'done', 'broken', 'other'].map(state))).toEqual(everyState)
  expect(await target.stop(handle)).toBe(true)
})

test('azure-container-apps: an execution of an existing job', async () => {
  const root = '/subscriptions/s/resourceGroups/g/providers/Microsoft.App/jobs/agent'
  const version = '?api-version=2024-03-01'
  const said = (status: string) => ({ body: { properties: { status } } })
  const { asked, url } = await serviceWith({
    [`POST ${root}/start${version}`]: { status: 202, body: { id: `${root}/executions/e1`, name: 'e1' } },
    [`GET ${root}/executions/e1${version}`]: said('Running'),
    [`GET ${root}/executions/new${version}`]: said('Processing'),
    [`GET ${root}/executions/done${version}`]: said('Succeeded'),
    [`GET ${root}/executions/broken${version}`]: said('Failed'),
    [`GET ${root}/executions/odd${version}`]: said('Unknown'),
    [`POST ${root}/executions/e1/stop${version}`]: { status: 202 },
  })
  const target = azureJobs({
    subscription: 's',
    resourceGroup: 'g',
    job: 'agent',
    image: 'registry.example/agent:1',
    env: { A: '1', AGENT_RUNTIME_TOKEN: { secretRef: 'token' } },
    resources: { cpu: 1, memory: '2Gi' },
    server: url,
    headers,
  })
  const handle = await target.start(task)
  expect(handle).toEqual({ target: 'azure-container-apps', id: 'e1' })
  expect(formOf('azure-start').parse(asked[0]?.body)).toMatchObject({
    containers: [{ name: 'agent', args, env: [{ name: 'A', value: '1' }, { secretRef: 'token' }] }],
  })
  const state = (id: string) => target.state({ target: 'azure-container-apps', id })
  expect(await Promise.all(['e1', 'new', 'done', 'broken', 'odd', 'other'].map(state))).toEqual([
    'running',
    'starting',
    'succeeded',
    'failed',
    'unknown',
    'gone',
  ])
  expect(await target.stop(handle)).toBe(true)
})

test('docker: a container over the socket of the daemon', async () => {
  const socket = join(scratchFolder(), 'docker.sock')
  const said = (Status: string, ExitCode = 0) => ({ body: { State: { Status, ExitCode } } })
  const { asked } = await serviceWith(
    {
      'POST /v1.44/containers/create': { status: 201, body: { Id: 'c1', Warnings: [] } },
      'POST /v1.44/containers/c1/start': { status: 204 },
      'GET /v1.44/containers/c1/json': said('running'),
      'GET /v1.44/containers/new/json': said('created'),
      'GET /v1.44/containers/done/json': said('exited'),
      'GET /v1.44/containers/broken/json': said('exited', 1),
      'POST /v1.44/containers/c1/stop?t=60': { status: 204 },
    },
    socket,
  )
  const target = dockerJobs({
    image: 'agent',
    socket,
    env: { A: '1=2' },
    binds: ['data:/data'],
    network: 'agents',
    memoryBytes: 1_000_000_000,
  })
  const handle = await target.start(task)
  expect(handle).toEqual({ target: 'docker', id: 'c1' })
  expect(formOf('docker-create').parse(asked[0]?.body)).toMatchObject({
    Image: 'agent',
    Cmd: args,
    Env: ['A=1=2'],
    HostConfig: { AutoRemove: true, Init: true, Binds: ['data:/data'] },
  })
  expect(asked[1]?.path).toBe('/v1.44/containers/c1/start')
  const state = (id: string) => target.state({ target: 'docker', id })
  expect(await Promise.all(['c1', 'new', 'done', 'broken', 'other'].map(state))).toEqual(everyState)
  expect(await target.stop(handle)).toBe(true)
})

test('lambda: an asynchronous invocation, which has no state', async () => {
  const { asked, url } = await serviceWith({
    'POST /2015-03-31/functions/agent/invocations': { status: 202, headers: { 'x-amzn-requestid': 'r1' } },
  })
  const signed: unknown[] = []
  const target = lambdaJobs({
    function: 'agent',
    region: 'eu-central-1',
    server: url,
    headers: (request) => {
      signed.push(request)
      return { authorization: 'AWS4-HMAC-SHA256 it' }
    },
  })
  const handle = await target.start(task)
  expect(handle).toEqual({ target: 'lambda', id: 'r1' })
  expect(asked[0]).toMatchObject({
    headers: { 'x-amz-invocation-type': 'Event', authorization: 'AWS4-HMAC-SHA256 it' },
    body: { taskId: 'task-1/é', type: 'digest', args },
  })
  // A signature covers the method, the URL and the body.
  expect(signed).toEqual([
    {
      method: 'POST',
      url: `${url}/2015-03-31/functions/agent/invocations`,
      body: JSON.stringify(asked[0]?.body),
    },
  ])
  expect([await target.state(handle), await target.stop(handle)]).toEqual(['unknown', false])
})

test('modal: a call by the deployed web function', async () => {
  const { asked, url } = await serviceWith({
    'POST /jobs': { body: { id: 'fc-1' } },
    'GET /jobs/fc-1': { body: { state: 'running' } },
    'GET /jobs/done': { body: { state: 'succeeded' } },
    'GET /jobs/broken': { body: { state: 'failed' } },
    'DELETE /jobs/fc-1': { body: {} },
  })
  const target = modalJobs({ url, headers: () => ({ 'Modal-Key': 'wk', 'Modal-Secret': 'ws' }) })
  const handle = await target.start(task)
  expect(handle).toEqual({ target: 'modal', id: 'fc-1' })
  expect(asked[0]).toMatchObject({
    headers: { 'modal-key': 'wk', 'modal-secret': 'ws' },
    body: { taskId: 'task-1/é', type: 'digest', args },
  })
  const state = (id: string) => target.state({ target: 'modal', id })
  expect(await Promise.all(['fc-1', 'done', 'broken', 'other'].map(state))).toEqual([
    'running',
    'succeeded',
    'failed',
    'gone',
  ])
  expect(await target.stop(handle)).toBe(true)
})

test('a service that refuses, names no job or cannot be reached is an error that says where', async () => {
  const jobs = '/apis/batch/v1/namespaces/default/jobs'
  const { url } = await serviceWith({
    [`POST ${jobs}`]: { status: 403, body: { message: 'jobs.batch is forbidden' } },
    'POST /jobs': { body: {} },
  })
  const refused = kubernetesJobs({ server: url, image: 'agent' }).start(task)
  await expect(refused).rejects.toThrow(JobTargetError)
  await expect(refused).rejects.toThrow(
    `Kubernetes refused POST ${url}${jobs}: 403 {"message":"jobs.batch is forbidden"}`,
  )
  await expect(modalJobs({ url }).start(task)).rejects.toThrow('Modal answered without the id of the call')
  const socket = join(scratchFolder(), 'none.sock')
  await expect(dockerJobs({ image: 'agent', socket }).start(task)).rejects.toThrow(
    `Docker could not be reached for POST ${socket}`,
  )
})

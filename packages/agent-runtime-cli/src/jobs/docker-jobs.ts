import { request, type RequestOptions } from 'node:http'
import { jobArguments, type JobHandle, type JobState, type JobTarget } from './job-target.ts'
import { type Answer, answered, idOf, textAt, unreached, valueAt, within } from './service.ts'

export interface DockerJobsOptions {
  /** The image, whose entrypoint is `agent-runtime`. Docker has to have it already: it is not pulled. */
  readonly image: string
  /** Environment variables of the container. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Volumes, such as `data:/data` for a store in a file. */
  readonly binds?: readonly string[] | undefined
  /** The network that the container joins; the default one otherwise. */
  readonly network?: string | undefined
  /** The memory limit, in bytes. */
  readonly memoryBytes?: number | undefined
  /** How long a container may take to drain, in s; 60 by default. */
  readonly graceSeconds?: number | undefined
  /** The socket of the Docker daemon; `/var/run/docker.sock` by default. */
  readonly socket?: string | undefined
  /** How long the daemon may take to answer, in ms; 30 000 by default. */
  readonly timeoutMs?: number | undefined
}

/** Starts each job as a container on a Docker daemon, which removes the container when it has ended: its state is `gone` then. */
export function dockerJobs(options: DockerJobsOptions): JobTarget {
  const { graceSeconds = 60 } = options
  const one = ({ id }: JobHandle) => `/containers/${encodeURIComponent(id)}`
  return {
    name: 'docker',
    start: async (task) => {
      const { status, body } = await call(options, 'POST', '/containers/create', {
        Image: options.image,
        Cmd: jobArguments(task),
        Env: Object.entries(options.env ?? {}).map(([name, value]) => `${name}=${value}`),
        Labels: { 'agent-runtime.task': task.taskId, 'agent-runtime.type': task.type },
        StopTimeout: graceSeconds,
        HostConfig: {
          AutoRemove: true,
          // Process 1 has to reap what a task leaves behind.
          Init: true,
          ...(options.binds === undefined ? {} : { Binds: options.binds }),
          ...(options.network === undefined ? {} : { NetworkMode: options.network }),
          ...(options.memoryBytes === undefined ? {} : { Memory: options.memoryBytes }),
        },
      })
      const what =
        status === 404 ? `a container: it has no image ${options.image}` : 'the id of the container'
      const handle = { target: 'docker', id: idOf('Docker', textAt(body, 'Id'), what) }
      await call(options, 'POST', `${one(handle)}/start`)
      return handle
    },
    stop: async (handle) => {
      const { status } = await call(
        { ...options, timeoutMs: (options.timeoutMs ?? 30_000) + graceSeconds * 1_000 },
        'POST',
        `${one(handle)}/stop?t=${graceSeconds}`,
      )
      return status !== 404
    },
    state: async (handle) => {
      const { status, body } = await call(options, 'GET', `${one(handle)}/json`)
      return status === 404 ? 'gone' : stateOf(valueAt(body, 'State'))
    },
  }
}

function stateOf(state: unknown): JobState {
  const status = textAt(state, 'Status')
  if (status === 'created') return 'starting'
  if (status === 'exited' || status === 'dead')
    return valueAt(state, 'ExitCode') === 0 ? 'succeeded' : 'failed'
  return status === undefined ? 'unknown' : 'running'
}

/** `fetch` knows no sockets of the file system. */
async function call(
  { socket = '/var/run/docker.sock', timeoutMs = 30_000 }: DockerJobsOptions,
  method: string,
  path: string,
  json?: unknown,
): Promise<Answer> {
  const url = `/v1.44${path}`
  const sent = within(timeoutMs, (signal) => send({ socketPath: socket, path: url, method, signal }, json))
  const { status, text } = await sent.catch((error: unknown) => {
    throw unreached('Docker', method, `${socket} ${url}`, error)
  })
  return answered('Docker', method, `${socket} ${url}`, { status, header: () => null, text })
}

function send(
  options: RequestOptions,
  json: unknown,
): Promise<{ readonly status: number; readonly text: string }> {
  const body = json === undefined ? '' : JSON.stringify(json)
  const headers = {
    host: 'docker',
    'content-length': Buffer.byteLength(body),
    ...(body === '' ? {} : { 'content-type': 'application/json' }),
  }
  return new Promise((resolve, reject) => {
    const sent = request({ ...options, headers }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }),
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

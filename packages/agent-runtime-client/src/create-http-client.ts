import type {
  Divergence,
  ErrorRecord,
  Explanation,
  FailureKind,
  RejectionReason,
} from '@ku0/agent-runtime-core'
import { ApiError, TaskCanceled, TaskDiverged, TaskFailed, TaskRejected, TimeoutError } from './errors.ts'
import { follow } from './follow.ts'
import type { HttpClient } from './http-client.ts'
import type { CallOptions, HttpClientOptions } from './options.ts'
import type { InputOf, ResultOf } from './typed.ts'
import type {
  ListFilter,
  OutputItem,
  Receipt,
  RuntimeEvent,
  StoredCheckpoint,
  SubmitItem,
  SubmitOptions,
  TaskDetails,
  TaskName,
} from './records.ts'
import { operationsOn } from './operations.ts'
import { monotonic } from './system.ts'
import { type Query, Transport } from './transport.ts'
import { taskIdOf, type TaskLike } from './task-id.ts'
import { unlessUnknown } from './unless-unknown.ts'
import { valueToJson } from './value-to-json.ts'

/**
 * A client of a server's HTTP API. It needs nothing but `fetch`, so it runs in Node and in browsers, and holds nothing open between
 * calls. Throws a `TypeError` for a `url` that is none of HTTP. Source: `docs/http-api.md`.
 *
 *     const client = createHttpClient({ url: 'http://localhost:7007' })
 *     const receipt = await client.submit('review', { repo: 'a/b' })
 *     const report = await client.result(receipt)
 */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const transport = new Transport(options)

  /** A submission's answer: what was rejected is a problem that has the receipt. */
  async function receiptOf(asked: Promise<unknown>): Promise<Receipt> {
    try {
      return (await asked) as Receipt
    } catch (error) {
      if (!(error instanceof ApiError) || !('receipt' in error.problem)) throw error
      const { retryAfterMs, problem } = error
      return { ...(problem['receipt'] as Receipt), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
    }
  }

  const client: HttpClient = {
    ...operationsOn(transport),
    async submit<const Task extends TaskName>(
      task: Task,
      input: InputOf<Task>,
      { signal, ...given }: SubmitOptions & CallOptions = {},
    ) {
      const repeatable = given.idempotencyKey !== undefined || given.taskId !== undefined
      const body = itemOf({ task, input, options: given })
      return receiptOf(
        transport.json({
          method: 'POST',
          path: '/tasks',
          body,
          signal,
          repeatable: repeatable && given.idempotencyKey !== undefined,
        }),
      ) as Promise<Receipt<ResultOf<Task>>>
    },
    async submitMany(items, { signal } = {}) {
      if (items.length === 0) return []
      const body = { tasks: items.map(itemOf) }
      const repeatable = items.every(({ options: given }) => given?.idempotencyKey !== undefined)
      const { receipts } = (await transport.json({
        method: 'POST',
        path: '/tasks:batch',
        body,
        signal,
        repeatable,
      })) as { readonly receipts: readonly Receipt[] }
      return receipts
    },
    async status(task, { signal } = {}) {
      const details = await unlessUnknown<TaskDetails>(transport.json({ path: pathOf(task), signal }))
      return details?.task
    },
    async get(task, { signal } = {}) {
      return (await transport.json({ path: pathOf(task), signal })) as TaskDetails
    },
    result: <Output>(task: TaskLike<Output>, given = {}) =>
      resultOf(transport, task, given) as Promise<Output>,
    async cancel(task, { signal, reason } = {}) {
      const { canceled } = (await transport.json({
        method: 'POST',
        path: pathOf(task, '/cancel'),
        body: { reason },
        signal,
        // A second cancellation of a task changes nothing, but its answer would be another one.
        repeatable: false,
      })) as { readonly canceled: boolean }
      return canceled
    },
    retry(task, { signal, ...body } = {}) {
      const repeatable = body.again !== true
      return receiptOf(
        transport.json({ method: 'POST', path: pathOf(task, '/retry'), body, signal, repeatable }),
      )
    },
    async fork(task, { signal, edits, ...rest } = {}) {
      const repeatable = rest.idempotencyKey !== undefined
      const body = { ...rest, ...(edits === undefined ? {} : { edits: valuesToJson(edits) }) }
      return receiptOf(
        transport.json({ method: 'POST', path: pathOf(task, '/fork'), body, signal, repeatable }),
      )
    },
    async signal(task, name, value, { signal } = {}) {
      const answer = await transport.json({
        method: 'POST',
        path: pathOf(task, '/signal'),
        body: { name, ...(value === undefined ? {} : { value: valueToJson(value, 'the value') }) },
        signal,
      })
      return answer as Awaited<ReturnType<HttpClient['signal']>>
    },
    async resume(task, { signal } = {}) {
      await transport.send({ method: 'POST', path: pathOf(task, '/resume'), signal })
    },
    async list(filter = {}, { signal } = {}) {
      const page = await transport.json({ path: '/tasks', query: queryOf(filter), signal })
      return page as Awaited<ReturnType<HttpClient['list']>>
    },
    async count(filter: ListFilter = {}, { signal } = {}) {
      const query = { ...queryOf(filter), limit: 1, count: true }
      const { count } = (await transport.json({ path: '/tasks', query, signal })) as {
        readonly count: number
      }
      return count
    },
    async history(task, { signal, ...query } = {}) {
      const page = await transport.json({ path: pathOf(task, '/events'), query, signal })
      return page as Awaited<ReturnType<HttpClient['history']>>
    },
    async emitted(task, { signal, ...query } = {}) {
      const page = await transport.json({ path: pathOf(task, '/output'), query, signal })
      return page as Awaited<ReturnType<HttpClient['emitted']>>
    },
    async steps(task, { signal, ...query } = {}) {
      const page = await transport.json({ path: pathOf(task, '/steps'), query, signal })
      return page as Awaited<ReturnType<HttpClient['steps']>>
    },
    events: (task, given = {}) => follow<RuntimeEvent>(transport, pathOf(task, '/events'), given),
    output: (task, given = {}) => follow<OutputItem>(transport, pathOf(task, '/output'), given),
    async checkpoint(task, { signal } = {}) {
      const path = pathOf(task, '/checkpoint')
      const { checkpoint } = (await transport.json({ path, signal })) as { checkpoint?: StoredCheckpoint }
      return checkpoint
    },
    async explain(task, { signal } = {}) {
      return unlessUnknown<Explanation>(transport.json({ path: pathOf(task, '/explain'), signal }))
    },
  }
  return client
}

/** Each of them, `undefined` too, which is another result of a step than none. */
function valuesToJson(values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, valueToJson(value, `the edit of ${name}`)]),
  )
}

function pathOf(task: TaskLike, rest = ''): string {
  return `/tasks/${encodeURIComponent(taskIdOf(task))}${rest}`
}

function itemOf({ task, input, options = {} }: SubmitItem): object {
  const { dueAt, ...rest } = options
  return {
    task: typeof task === 'string' ? task : task.type,
    input: valueToJson(input, 'the input'),
    options: {
      ...rest,
      ...(dueAt === undefined ? {} : { dueAt: new Date(dueAt).toISOString() }),
    } satisfies Omit<SubmitOptions, 'dueAt'> & { dueAt?: string },
  }
}

function queryOf({ labels = {}, states, types, lanes, ...rest }: ListFilter): Query {
  return {
    ...rest,
    states: states?.map((state) => (state === 'cancelled' ? 'canceled' : state)),
    types,
    lanes,
    label: Object.entries(labels).map(([name, value]) => `${name}=${value}`),
  }
}

type Outcome =
  | { readonly state: 'completed'; readonly output: unknown }
  | { readonly state: 'failed'; readonly kind: FailureKind; readonly error: ErrorRecord }
  | { readonly state: 'canceled'; readonly reason?: string }
  | { readonly state: 'rejected'; readonly reason: RejectionReason; readonly message: string }
  | { readonly state: 'queued' | 'running' | 'waiting'; readonly divergence?: Divergence }

async function resultOf(
  transport: Transport,
  task: TaskLike,
  {
    signal,
    timeoutMs = Number.POSITIVE_INFINITY,
  }: { signal?: AbortSignal | undefined; timeoutMs?: number | undefined },
): Promise<unknown> {
  const taskId = typeof task === 'string' ? task : task.taskId
  const startedAt = monotonic()
  for (;;) {
    const left = Math.max(0, timeoutMs - (monotonic() - startedAt))
    const waitMs = Math.floor(Math.min(LONG_POLL_MS, left))
    const outcome = (await transport.json({
      path: pathOf(task, '/result'),
      query: { waitMs },
      signal,
    })) as Outcome
    switch (outcome.state) {
      case 'completed':
        return outcome.output
      case 'failed':
        throw new TaskFailed(taskId, outcome.kind, outcome.error)
      case 'canceled':
        throw new TaskCanceled(taskId, outcome.reason)
      case 'rejected':
        throw new TaskRejected(taskId, outcome.reason, outcome.message)
      case 'queued':
      case 'running':
      case 'waiting':
        if (outcome.divergence !== undefined) throw new TaskDiverged(taskId, outcome.divergence)
        if (left <= waitMs) throw new TimeoutError(taskId, timeoutMs)
    }
  }
}

/** How long one request for a result waits. */
const LONG_POLL_MS = 30_000

import type {
  CancelFilter,
  CancelManyOptions,
  CancelOptions,
  Client,
  FollowOptions,
  ListFilter,
  PipelinePage,
  RetriedMany,
  RetryFilter,
  RetryManyOptions,
  RetryOptions,
  SupervisorPage,
  WaitOptions,
} from '@ku0/agent-runtime'
import {
  ApiError,
  createHttpClient,
  type HttpClient,
  TaskCanceled,
  TaskDiverged,
  TaskFailed,
  TaskRejected,
  TimeoutError,
} from '@ku0/agent-runtime-client'
import { RuntimeError, TaskCanceled as Canceled } from '@ku0/agent-runtime-core'

/** The calls of commands on a store, or of the server in front of it. */
export type Connection = AsyncDisposable &
  Pick<
    Client,
    | 'cancel'
    | 'cancelMany'
    | 'events'
    | 'explain'
    | 'drainWorker'
    | 'explainQueue'
    | 'fork'
    | 'list'
    | 'output'
    | 'pauseQueue'
    | 'pipeline'
    | 'pipelines'
    | 'prune'
    | 'resumeQueue'
    | 'result'
    | 'retry'
    | 'series'
    | 'signal'
    | 'stats'
    | 'status'
    | 'submit'
    | 'undrainWorker'
    | 'workers'
  > & {
    readonly approvals: Pick<Client['approvals'], 'approve' | 'list' | 'reject' | 'trail'>
    readonly budgets: Pick<Client['budgets'], 'continue' | 'get' | 'list' | 'stop'>
    readonly agreements: Client['agreements']
    /** Tasks by their ids are retried one by one. */
    retryMany(filter: RetryFilter, options?: RetryManyOptions): Promise<RetriedMany>
    readonly credits: Client['credits']
    readonly accessTokens: Client['accessTokens']
    readonly supervisors: Pick<Client['supervisors'], 'list' | 'restart' | 'start' | 'stop' | 'which'>
    readonly schedules: Pick<Client['schedules'], 'list' | 'pause' | 'put' | 'remove' | 'resume' | 'trigger'>
  }

/** The client of a server, for what only servers can be asked. */
export function clientOfServer(url: string, token: string | undefined): HttpClient {
  return createHttpClient({
    url,
    ...(token === undefined ? {} : { token }),
    fetch: (request) => reached(request, url),
    // Whoever typed a command would rather hear of it than wait.
    retries: 1,
  })
}

/** A server as commands ask it. Values come as JSON: a Date of a task is in the form of the codec. */
export function connectServer(url: string, token: string | undefined): Connection {
  const client = clientOfServer(url, token)
  const { approvals, budgets, supervisors } = client
  const remote = {
    ...client,
    // The runtime's own retry starts another task each time, where it is given no key.
    retry: (task: string, options: RetryOptions = {}) =>
      client.retry(task, options.idempotencyKey === undefined ? { ...options, again: true } : options),
    result: (task: string, options?: WaitOptions) =>
      client.result(task, options).catch((error: unknown) => asOfRuntime(error, task)),
    async cancel(task: string, options?: CancelOptions) {
      try {
        return await client.cancel(task, options)
      } catch (error) {
        if (error instanceof ApiError && error.code === 'not_found') return false
        throw error
      }
    },
    list: async ({ cursor, parent, ...filter }: ListFilter = {}) =>
      numbered(await client.list({ ...filter, ...named(parent), ...texted(cursor) })),
    cancelMany: ({ parent, ...filter }: CancelFilter, options?: CancelManyOptions) =>
      client.cancelMany({ ...filter, ...named(parent) }, options),
    // The server leaves out at once what it cannot retry.
    retryMany: async ({ parent, ...filter }: RetryFilter, options?: RetryManyOptions) => ({
      ...(await client.retryMany({ ...filter, ...named(parent) }, options)),
      skipped: 0,
    }),
    events: (task: string, { live = true, ...options }: FollowOptions = {}) =>
      live
        ? client.events(task, options)
        : stored(async (after) => {
            const { events, cursor } = await client.history(task, { after, limit: 1_000 })
            return { items: events, cursor }
          }, options.after),
    output: (task: string, { live = true, ...options }: FollowOptions = {}) =>
      live
        ? client.output(task, options)
        : stored((after) => client.emitted(task, { after, limit: 1_000 }), options.after),
    approvals: {
      ...approvals,
      trail: (task: string | { readonly taskId: string }) =>
        approvals.trail(typeof task === 'string' ? task : task.taskId),
      list: async ({
        cursor,
        task,
        ...filter
      }: NonNullable<Parameters<Client['approvals']['list']>[0]> = {}) =>
        numbered(
          await approvals.list({
            ...filter,
            ...texted(cursor),
            ...(task === undefined ? {} : { task: typeof task === 'string' ? task : task.taskId }),
          }),
        ),
    },
    pipelines: async ({ cursor, ...page }: PipelinePage = {}) =>
      numbered(await client.pipelines({ ...page, ...texted(cursor) })),
    supervisors: {
      ...supervisors,
      list: async ({ cursor, ...page }: SupervisorPage = {}) =>
        numbered(await supervisors.list({ ...page, ...texted(cursor) })),
    },
    budgets: {
      ...budgets,
      list: async ({ cursor, ...page }: NonNullable<Parameters<Client['budgets']['list']>[0]> = {}) =>
        numbered(await budgets.list({ ...page, ...texted(cursor) })),
    },
    // It holds nothing open between calls.
    [Symbol.asyncDispose]: async () => {},
  } satisfies Record<keyof Connection, unknown>
  // The records are those of the runtime, which tests hold; only its types know the values of users.
  return remote as unknown as Connection
}

/** How a task ended, as the runtime throws it: with its code, for exit codes and programs. */
async function asOfRuntime(error: unknown, taskId: string): Promise<never> {
  const runtime = await import('@ku0/agent-runtime')
  if (error instanceof TaskFailed) throw new runtime.TaskFailed(error.taskId, error.kind, error.error)
  if (error instanceof TaskCanceled) throw new Canceled(error.taskId, error.reason)
  if (error instanceof TaskRejected) throw new runtime.TaskRejected(error.taskId, error.reason, error.message)
  if (error instanceof TaskDiverged) throw new runtime.TaskDiverged(error.taskId, error.divergence)
  if (error instanceof TimeoutError)
    throw new runtime.TimeoutError(`waiting for the result of task ${taskId}`, error.timeoutMs)
  throw error
}

/** Commands select by the name of a parent, or not. */
function named(parent: string | null | undefined): { readonly parent?: string } {
  return typeof parent === 'string' ? { parent } : {}
}

/** All that is stored now, page after page. */
async function* stored<Item>(
  read: (after: number) => Promise<{ readonly items: readonly Item[]; readonly cursor?: number | undefined }>,
  from = 0,
): AsyncGenerator<Item, void> {
  let after: number | undefined = from
  while (after !== undefined) {
    const page: Awaited<ReturnType<typeof read>> = await read(after)
    yield* page.items
    after = page.cursor
  }
}

/** Cursors are opaque texts on the wire, and numbers on the command line. */
function numbered<Page extends { readonly cursor?: string | undefined }>({ cursor, ...page }: Page) {
  return { ...page, ...(cursor === undefined ? {} : { cursor: Number(cursor) }) }
}

function texted(cursor: number | undefined): { readonly cursor?: string } {
  return cursor === undefined ? {} : { cursor: String(cursor) }
}

/** Says which server it was that cannot be reached. */
async function reached(request: Request, url: string): Promise<Response> {
  try {
    return await fetch(request)
  } catch (error) {
    if (request.signal.aborted) throw error
    const { cause } = error as { readonly cause?: { readonly message?: string; readonly code?: string } }
    throw new RuntimeError(
      'timeout',
      `no server answers at ${url}: ${cause?.message || cause?.code || String(error)}`,
      {
        cause: error,
      },
    )
  }
}

import { z } from '../wire/zod.ts'
import { lanes, RuntimeError } from '@ku0/agent-runtime-core'
import { allows, owner } from '../access/caller.ts'
import { scopes } from '../access/token-options.ts'
import { problemOf } from '../problem/problem.ts'
import { answer, nothing, type Serving } from '../serving.ts'
import { API_VERSION } from '../version.ts'
import { CursorText, LimitText, wholeText, WorkerPath } from '../wire/parameters.ts'
import { LeaseSchema, TaskSchema, WorkerSchema } from '../wire/records.ts'
import { Moment } from '../wire/schema.ts'
import { endpoint } from './endpoint.ts'
import { pageOfTasks, ValuesFlag } from './list-tasks.ts'

export const listWorkers = endpoint({
  method: 'get',
  path: '/workers',
  id: 'listWorkers',
  tag: 'operation',
  summary: 'The workers of every process on the store',
  scope: 'read',
  bound: 'none',
  answers: { 200: { description: 'All workers', schema: z.object({ workers: z.array(WorkerSchema) }) } },
  run: async ({ serving }) => answer(serving, { workers: await serving.runtime.workers() }),
})

const DrainedSchema = z.object({
  workerId: z.string(),
  workers: z.int().openapi({ description: 'How many registered workers have this id' }),
})

export const drainWorker = endpoint({
  method: 'post',
  path: '/workers/{worker}/drain',
  id: 'drainWorker',
  repeat: 'harmless',
  tag: 'operation',
  summary: 'Give a worker no more tasks; those that it runs go on',
  scope: 'operate',
  bound: 'none',
  params: WorkerPath,
  answers: { 200: { description: 'It is given none from now on', schema: DrainedSchema } },
  problems: [404],
  async run({ serving, params: { worker: workerId } }) {
    return drained(serving, workerId, await serving.runtime.drainWorker(workerId))
  },
})

export const undrainWorker = endpoint({
  method: 'post',
  path: '/workers/{worker}/undrain',
  id: 'undrainWorker',
  repeat: 'harmless',
  tag: 'operation',
  summary: 'Give a drained worker tasks again',
  scope: 'operate',
  bound: 'none',
  params: WorkerPath,
  answers: { 200: { description: 'It is given tasks again', schema: DrainedSchema } },
  problems: [404],
  async run({ serving, params: { worker: workerId } }) {
    return drained(serving, workerId, await serving.runtime.undrainWorker(workerId))
  },
})

function drained(serving: Serving, workerId: string, workers: number) {
  if (workers === 0) throw problemOf(new RuntimeError('not_found', `there is no worker ${workerId}`))
  return answer(serving, { workerId, workers })
}

export const listLeases = endpoint({
  method: 'get',
  path: '/leases',
  id: 'listLeases',
  tag: 'operation',
  summary: 'The live leases, newest task first',
  description: 'While a page has a `cursor` there may be more, even after a short or empty one.',
  scope: 'read',
  bound: 'own',
  query: z.strictObject({ limit: LimitText, cursor: CursorText }),
  answers: {
    200: {
      description: 'A page of leases',
      schema: z.object({ leases: z.array(LeaseSchema), cursor: z.string().optional() }),
    },
  },
  async run({ serving, caller, query: { limit = 100, cursor } }) {
    const { running } = await serving.runtime.stats()
    const { tasks, ...more } = await pageOfTasks(
      serving,
      caller,
      { states: ['running'], values: false },
      limit,
      cursor,
    )
    const leases = tasks.flatMap((task) => (task.state === 'running' ? [task.lease] : []))
    // Older tasks that nobody runs need no second look.
    const isWhole = cursor === undefined && leases.length >= running
    return answer(serving, { leases, ...(isWhole ? {} : more) })
  },
})

export const showQueue = endpoint({
  method: 'get',
  path: '/queue',
  id: 'showQueue',
  tag: 'operation',
  summary: 'How many tasks wait, and why',
  scope: 'read',
  bound: 'none',
  answers: {
    200: {
      description: 'The queue as it stands',
      schema: z.object({
        depth: z.record(z.string(), z.int()).openapi({ description: 'Queued and due, by lane' }),
        delayed: z.int(),
        queued: z.int(),
        waiting: z.int(),
        reasons: z.array(
          z.object({
            reason: z.string(),
            state: z.enum(['queued', 'waiting']),
            count: z.int(),
            oldest: z.object({ taskId: z.string(), ageMs: z.number() }),
            clients: z
              .array(
                z.object({
                  client: z.string(),
                  credits: z.number(),
                  asked: z.number(),
                  missing: z.number(),
                  since: Moment.optional(),
                  count: z.int(),
                }),
              )
              .optional()
              .openapi({
                description: 'Of credits: who has too few, what is missing, and for how many tasks',
              }),
          }),
        ),
      }),
    },
  },
  async run({ serving }) {
    const { runtime } = serving
    const [{ depth, delayed }, why] = await Promise.all([runtime.stats(), runtime.explainQueue()])
    return answer(serving, { depth, delayed, ...why })
  },
})

const SelectionBody = z.strictObject({
  types: z.array(z.string().min(1).max(255)).max(1_000).optional(),
  lanes: z.array(z.enum(lanes)).max(lanes.length).optional(),
})
const PausedSchema = z.object({
  changed: z.int().openapi({ description: 'How many of the types and lanes were not so before' }),
  paused: z.array(z.looseObject({ since: Moment })).openapi({ description: 'All that is paused now' }),
})

export const pauseQueue = endpoint({
  method: 'post',
  path: '/queue/pause',
  id: 'pauseQueue',
  repeat: 'harmless',
  tag: 'operation',
  summary: 'Start no more tasks of some types and lanes; those that run go on',
  scope: 'operate',
  bound: 'none',
  body: SelectionBody,
  answers: { 200: { description: 'None is started from now on', schema: PausedSchema } },
  async run({ serving, body }) {
    return paused(serving, await serving.runtime.pauseQueue(body))
  },
})

export const resumeQueue = endpoint({
  method: 'post',
  path: '/queue/resume',
  id: 'resumeQueue',
  repeat: 'harmless',
  tag: 'operation',
  summary: 'Start tasks of some types and lanes again',
  scope: 'operate',
  bound: 'none',
  body: SelectionBody,
  answers: { 200: { description: 'They are started again', schema: PausedSchema } },
  async run({ serving, body }) {
    return paused(serving, await serving.runtime.resumeQueue(body))
  },
})

async function paused(serving: Serving, changed: number) {
  return answer(serving, { changed, paused: (await serving.runtime.stats()).paused })
}

const PrunedSchema = z
  .object({
    completed: z.int(),
    failed: z.int(),
    canceled: z.int(),
    folded: z.int().openapi({
      description: "The entries of clients' ledgers that went into the opening entries of their clients",
    }),
    dryRun: z.boolean(),
  })
  .openapi('Pruned')

export const prune = endpoint({
  method: 'post',
  path: '/prune',
  id: 'prune',
  repeat: 'harmless',
  tag: 'operation',
  summary: 'Delete the tasks that the rules of the store no longer keep, or count them',
  description:
    'The rules are those of `config.retention` that are in force; without any it is refused. Old entries of ledgers are folded, too. It ends when nothing is left to delete, or when the caller leaves. Ask again to go on.',
  scope: 'admin',
  bound: 'none',
  body: z.strictObject({
    dryRun: z.boolean().openapi({ description: 'True: nothing is deleted or folded, only counted' }),
  }),
  answers: {
    200: { description: 'The numbers of what was deleted and folded, or would be', schema: PrunedSchema },
  },
  async run({ serving, request: { signal }, body: { dryRun } }) {
    try {
      return answer(serving, await serving.runtime.prune({ dryRun, signal }))
    } catch (error) {
      if (!signal.aborted) throw error
      // Nobody hears it, and it is no fault of the server.
      return nothing
    }
  },
})

export const showStats = endpoint({
  method: 'get',
  path: '/stats',
  id: 'showStats',
  tag: 'operation',
  summary: 'The counters of the store',
  scope: 'read',
  bound: 'none',
  answers: {
    200: {
      description: 'The counters',
      schema: z
        .looseObject({
          depth: z.record(z.string(), z.int()),
          running: z.int(),
          waiting: z.int(),
          delayed: z.int(),
          totals: z.record(z.string(), z.int()),
        })
        .openapi('Stats'),
    },
  },
  run: async ({ serving }) => answer(serving, await serving.runtime.stats()),
})

const StepCounts = z
  .object({
    at: Moment,
    started: z.int(),
    completed: z.int(),
    failed: z.int(),
    running: z.int(),
    refused: z.record(z.string(), z.int()).optional().openapi({
      description:
        'Submissions that were refused, by reason; absent where the records are deleted, and only some in the step in which they begin',
    }),
    queued: z
      .object({ interactive: z.int(), normal: z.int(), batch: z.int() })
      .optional()
      .openapi({ description: 'At the end of the step; absent where no sample was kept' }),
    wait: z.object({ half: z.number(), most: z.number(), nearly: z.number() }).optional(),
  })
  .openapi('SeriesPoint')

export const showSeries = endpoint({
  method: 'get',
  path: '/series',
  id: 'showSeries',
  tag: 'operation',
  summary: 'How many tasks started, ended and ran in the past, step by step, also after a restart',
  description:
    'It is counted from the newest 10,000 runs that the store holds, and before those from samples, which the server keeps each minute. There a step is a minute at least.',
  scope: 'read',
  bound: 'none',
  query: z.strictObject({
    windowMs: wholeText(1_000, 31 * 86_400_000),
    stepMs: wholeText(1_000, 86_400_000),
    type: z.string().min(1).max(255).optional(),
    lane: z.enum(lanes).optional(),
  }),
  answers: {
    200: {
      description: 'The steps, the newest last',
      schema: z
        .object({
          stepMs: z.int(),
          points: z.array(StepCounts),
          workers: z.array(z.object({ workerId: z.string(), running: z.array(z.int().nullable()) })).openapi({
            description:
              'The workers that ran the most at once, with what each ran at the end of each step; null before the runs that are looked at',
          }),
        })
        .openapi('Series'),
    },
  },
  run: async ({ serving, query }) => answer(serving, await serving.runtime.series(query)),
})

export const showInfo = endpoint({
  method: 'get',
  path: '/info',
  id: 'showInfo',
  tag: 'operation',
  summary: 'Which store is served, and what an acknowledgement means',
  description: 'Where the store is stays unsaid.',
  scope: 'read',
  bound: 'own',
  answers: {
    200: {
      description: 'Facts about the store',
      schema: z.object({
        kind: z.string(),
        storeId: z.string(),
        durability: z.string(),
        schemaVersion: z.int(),
        apiVersion: z.string(),
        versions: z
          .record(z.string(), z.string())
          .openapi({ description: 'The versions of Node and of the database, as the server has them' }),
        at: Moment.openapi({ description: "The server's clock" }),
        readOnly: z.boolean(),
        remoteWorkers: z.boolean().openapi({ description: 'Whether it takes remote workers' }),
        replays: z.boolean().openapi({ description: 'Whether tasks can be replayed here' }),
        scopes: z.array(z.enum(scopes)).openapi({ description: 'What the caller may do here' }),
        token: z
          .object({
            name: z.string(),
            client: z.string().optional(),
            types: z.array(z.string()).optional(),
            expiresAt: Moment.optional(),
          })
          .optional()
          .openapi({ description: "The caller's token; absent where the server asks for none" }),
      }),
    },
  },
  async run({ serving, caller }) {
    const { kind, storeId, durability, schemaVersion, versions } = serving.runtime.info
    const { readOnly, remote, environment } = serving
    const own = scopes.filter((scope) => allows(caller, scope) && (scope === 'read' || !serving.readOnly))
    const { name, client, types, expiresAt } = caller
    return answer(serving, {
      kind,
      storeId,
      durability,
      schemaVersion,
      apiVersion: API_VERSION,
      versions,
      at: environment.clock.now(),
      readOnly,
      remoteWorkers: remote !== undefined && !readOnly,
      replays: serving.runtime.replay !== undefined,
      scopes: own,
      token: caller === owner ? undefined : { name, client, types: types && [...types], expiresAt },
    })
  },
})

export const deadLetters = endpoint({
  method: 'get',
  path: '/dead-letters',
  id: 'deadLetters',
  tag: 'operation',
  summary: 'Failed tasks with their reasons, newest first',
  description:
    'One that was lost to crashes too often has the kind `poisoned`. Submit one again with `/tasks/{taskId}/retry`, or many with `/tasks:bulk`.',
  scope: 'read',
  bound: 'own',
  query: z.strictObject({
    kind: z.string().max(64).optional(),
    type: z.string().min(1).max(255).optional(),
    limit: LimitText,
    cursor: CursorText,
    values: ValuesFlag,
  }),
  answers: {
    200: {
      description: 'A page of failed tasks',
      schema: z.object({ tasks: z.array(TaskSchema), cursor: z.string().optional() }),
    },
  },
  async run({ serving, caller, query: { kind, type, limit = 100, cursor, values } }) {
    const wish = { states: ['failed' as const], ...(type === undefined ? {} : { types: [type] }), kind }
    return answer(serving, await pageOfTasks(serving, caller, { ...wish, values }, limit, cursor))
  },
})

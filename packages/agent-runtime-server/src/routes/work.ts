import { RuntimeError } from '@ku0/agent-runtime-core'
import type { Caller } from '../access/caller.ts'
import { refusal } from '../problem/problem.ts'
import { hasTurn, putBack } from '../remote/before-handler.ts'
import { claimJson, ClaimSchema } from '../remote/claim-json.ts'
import { silentMs } from '../remote/ends.ts'
import type { RequestWorker } from '../remote/request-worker.ts'
import { answer, nothing, type Serving } from '../serving.ts'
import { WorkerPath } from '../wire/parameters.ts'
import { z } from '../wire/zod.ts'
import { endpoint } from './endpoint.ts'

const Held = z
  .array(z.string().max(255))
  .max(1_000)
  .openapi({ description: 'The leases that it holds: all claims that it received and has not ended' })

export const registerWorker = endpoint({
  method: 'post',
  path: '/workers',
  id: 'registerWorker',
  repeat: 'anew',
  tag: 'workers',
  summary: 'Registers a worker of another language',
  description: 'See docs/remote-workers.md for how the requests of a worker belong together.',
  scope: 'work',
  bound: 'own',
  problems: [404],
  body: z.strictObject({
    types: z
      .array(z.string().min(1).max(255))
      .min(1)
      .max(1_000)
      .openapi({ description: 'The task types that it runs' }),
    capacity: z.int().min(1).max(1_000).default(1).openapi({ description: 'How many tasks it runs at once' }),
  }),
  answers: {
    201: {
      description: 'The worker',
      schema: z.object({
        workerId: z.string(),
        heartbeatMs: z.int().openapi({ description: 'How often to send a heartbeat while it holds leases' }),
        leaseTtlMs: z
          .int()
          .openapi({ description: 'Leases of a worker that is silent for this long may end' }),
      }),
    },
  },
  async run({ serving, caller, body: { types, capacity } }) {
    const { workers, host } = remoteOf(serving, caller)
    const { workerId } = await workers.register(caller, capacity, types)
    const { leaseTtlMs } = host.lines.config
    const heartbeatMs = Math.max(1, Math.floor(silentMs(leaseTtlMs) / 3))
    return answer(serving, { workerId, heartbeatMs, leaseTtlMs }, 201)
  },
})

export const removeWorker = endpoint({
  method: 'delete',
  path: '/workers/{worker}',
  id: 'removeWorker',
  repeat: 'harmless',
  tag: 'workers',
  summary: 'Ends a worker; what it holds goes back to the queue',
  scope: 'work',
  bound: 'own',
  problems: [404],
  params: WorkerPath,
  answers: { 204: { description: 'It has left' } },
  async run({ serving, caller, params }) {
    const worker = await workerOf(serving, caller, params.worker)
    await serving.remote?.workers.remove(worker)
    return nothing
  },
})

export const claimTasks = endpoint({
  method: 'post',
  path: '/workers/{worker}/claims',
  id: 'claimTasks',
  repeat: 'harmless',
  tag: 'workers',
  summary: 'Waits for tasks; each comes with a lease and with what earlier passes recorded',
  description:
    'Claims that are not in `held` are given again. A worker has one such request open; a second one ends the first.',
  scope: 'work',
  bound: 'own',
  problems: [404],
  params: WorkerPath,
  body: z.strictObject({
    held: Held.default([]),
    waitMs: z
      .int()
      .min(0)
      .max(3_600_000)
      .default(20_000)
      .openapi({ description: 'How long to wait for a task' }),
  }),
  answers: {
    200: {
      description:
        'The tasks that it is to run; none if the time is over, or if the server had to do something first',
      schema: z.object({ claims: z.array(ClaimSchema) }),
    },
  },
  async run({ serving, caller, params, body, request }) {
    const worker = await workerOf(serving, caller, params.worker)
    using poll = serving.streams.poll(caller, request)
    const waitMs = Math.min(body.waitMs, serving.limits.maxWaitMs)
    const claims = await worker.claims(new Set(body.held), waitMs, poll.signal)
    poll.assertAccepted()
    const { store, report, environment } = remoteOf(serving, caller).host
    const { random } = environment
    const told = []
    // One after the other: memos may be large.
    for (const claim of claims) {
      const { taskId } = claim
      try {
        const memos = claim.replays ? await store.read({ kind: 'memos', taskId }) : undefined
        if (memos === undefined || (await hasTurn({ store, worker, claim, memos, random })))
          told.push(claimJson(claim, memos))
      } catch (error) {
        // One that cannot be given keeps no other from the worker.
        await putBack({ worker, claim, random }, error)
        const message = `task ${taskId} went back to the queue: it could not be prepared for ${worker.workerId}`
        report(new RuntimeError('internal', message, { cause: error }))
      }
    }
    return plain({ claims: told })
  },
})

export const heartbeat = endpoint({
  method: 'post',
  path: '/workers/{worker}/heartbeat',
  id: 'heartbeat',
  repeat: 'harmless',
  tag: 'workers',
  summary: 'Shows that a worker lives, which renews its leases, and says which of them are over',
  scope: 'work',
  bound: 'own',
  problems: [404],
  params: WorkerPath,
  body: z.strictObject({ held: Held }),
  answers: {
    200: {
      description: 'What became of the leases that it holds; those that go on are not named',
      schema: z.object({
        news: z.array(
          z.object({
            leaseId: z.string(),
            verdict: z.enum(['lost', 'canceled', 'failed', 'yield']).openapi({
              description:
                '`yield`: give the task back before its next step, with the settlement `released`. Any other: stop its handler and leave the lease out of `held`.',
            }),
            reason: z.string().optional(),
          }),
        ),
      }),
    },
  },
  async run({ serving, caller, params, body }) {
    const worker = await workerOf(serving, caller, params.worker)
    return plain({ news: await worker.news(new Set(body.held)) })
  },
})

/** A worker of the caller. */
export async function workerOf(serving: Serving, caller: Caller, workerId: string): Promise<RequestWorker> {
  return remoteOf(serving, caller).workers.find(caller, workerId)
}

/** An answer whose values are as they are stored: a worker gets them whole, whatever is redacted for those who look. */
export function plain(record: object, status = 200) {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(record) }
}

/** Without a store that has lines there is no work; and work is given by task type, whoever submitted it. */
export function remoteOf(serving: Serving, caller: Caller): NonNullable<Serving['remote']> {
  if (serving.remote === undefined)
    throw refusal('no_remote_workers', 'this server takes no remote workers (the option remoteWorkers)')
  if (caller.client !== undefined)
    throw refusal('forbidden', 'the token is bound to a client, and a worker runs the tasks of all clients')
  return serving.remote
}

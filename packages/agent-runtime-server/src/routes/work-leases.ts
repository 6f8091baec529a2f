import { createHash } from 'node:crypto'
import { encode, idempotencyKey, RESERVED, type WaitRequest } from '@ku0/agent-runtime-core'
import type { Serving } from '../serving.ts'
import { waitJson } from '../remote/claim-json.ts'
import { nothing } from '../serving.ts'
import { Value } from '../wire/schema.ts'
import { valueFromJson } from '../wire/values.ts'
import { WorkerPath } from '../wire/parameters.ts'
import { z } from '../wire/zod.ts'
import { endpoint } from './endpoint.ts'
import { plain, remoteOf, workerOf } from './work.ts'

const LeasePath = WorkerPath.extend({
  leaseId: z.string().min(1).max(255),
})
const call = z.int().min(1).max(Number.MAX_SAFE_INTEGER).openapi({
  description:
    'The number of this request: it rises with each of the worker. The same request under the same number is answered again, and not done twice.',
})
const key = z
  .string()
  .min(1)
  .max(255)
  .refine((text) => !text.startsWith(RESERVED), {
    error: `1 to 255 characters that do not begin with ${RESERVED}`,
  })
const position = z.int().min(0).openapi({ description: 'How many calls of this pass came before, from 0' })
const ErrorGiven = z
  .strictObject({
    name: z.string().max(255),
    message: z.string().max(65_536),
    code: z.string().max(255).optional(),
    stack: z.string().max(65_536).optional(),
    retryable: z.boolean().optional(),
  })
  .openapi('WorkerError')

/** A failure says what failed, and nothing else has an error. */
function errorGoesWith(kinds: readonly string[]) {
  return z.check<{ readonly as: string; readonly error?: unknown }>(({ value, issues }) => {
    const isFailure = kinds.includes(value.as)
    if (isFailure === (value.error !== undefined)) return
    const message = isFailure ? `the error, which \`${value.as}\` needs` : `none with \`${value.as}\``
    issues.push({ code: 'custom', path: ['error'], message, input: value.error })
  })
}

export const recordStep = endpoint({
  method: 'post',
  path: '/workers/{worker}/leases/{leaseId}/steps',
  id: 'recordStep',
  repeat: 'harmless',
  tag: 'workers',
  summary: 'Records that a step was begun, has completed, or has failed',
  description:
    'A step that was begun and not completed is in doubt: begin only those whose effect must not be done twice unseen. Every other step needs `completed` only.',
  scope: 'work',
  bound: 'own',
  problems: [404, 409],
  params: LeasePath,
  body: z
    .strictObject({
      as: z.enum(['begun', 'completed', 'failed']),
      call,
      key,
      position,
      input: Value.optional().openapi({ description: 'The input of the step; its hash is kept' }),
      durationMs: z.number().min(0).max(1e15).default(0),
      result: Value.optional().openapi({ description: 'For `completed`; null without it' }),
      error: ErrorGiven.optional().openapi({ description: 'For `failed`' }),
      retry: z.int().min(1).optional().openapi({
        description: 'For `failed`: it is tried again, and this is the number of that retry',
      }),
    })
    .check(errorGoesWith(['failed'])),
  answers: {
    200: {
      description: 'It is recorded',
      schema: z.object({
        recorded: z
          .boolean()
          .openapi({ description: 'False if the key had a result already, which is `result`' }),
        result: Value.optional(),
        idempotencyKey: z
          .string()
          .optional()
          .openapi({ description: 'For `begun`: the same in every pass, for services that take such a key' }),
      }),
    },
  },
  async run({ serving, caller, params: { worker: workerId, leaseId }, body }) {
    const { host } = remoteOf(serving, caller)
    const worker = await workerOf(serving, caller, workerId)
    const inputHash =
      body.input === undefined ? undefined : sha256Hex(stored(serving, body.input, 'body.input'))
    const step = {
      leaseId,
      key: body.key,
      position: body.position,
      ...(inputHash === undefined ? {} : { inputHash }),
    }
    switch (body.as) {
      case 'begun': {
        const taskId = worker.taskOf(leaseId)
        await worker.write({ kind: 'startStep', ...step }, body.call)
        const { rejections, effectKeys } = await host.store.read({ kind: 'memos', taskId })
        const earlier = effectKeys.find((it) => it.key === body.key)?.effectKey
        const own = idempotencyKey({ sha256Hex }, taskId, body.key, inputHash ?? null, rejections.length)
        return plain({ recorded: true, idempotencyKey: earlier ?? own })
      }
      case 'completed': {
        const result = stored(serving, body.result ?? null, 'body.result')
        const { durationMs: took } = body
        const outcome = await worker.write(
          { kind: 'recordStep', ...step, durationMs: took, result },
          body.call,
        )
        const memo = 'memo' in outcome ? outcome.memo : undefined
        return memo === undefined
          ? plain({ recorded: true })
          : plain({ recorded: false, result: JSON.parse(memo) as unknown })
      }
      case 'failed': {
        const { inputHash: _, ...place } = step as typeof step & { readonly inputHash?: string }
        const error = stored(serving, body.error ?? null, 'body.error')
        const retry = body.retry === undefined ? {} : { retry: body.retry }
        await worker.write(
          { kind: 'failStep', ...place, durationMs: body.durationMs, error, ...retry },
          body.call,
        )
        return plain({ recorded: true })
      }
    }
  },
})

export const emitOutput = endpoint({
  method: 'post',
  path: '/workers/{worker}/leases/{leaseId}/output',
  id: 'emitOutput',
  repeat: 'harmless',
  tag: 'workers',
  summary: "Appends to the task's output stream",
  description: 'What an earlier pass has emitted is there already: emit in what runs once, such as a step.',
  scope: 'work',
  bound: 'own',
  problems: [404, 409],
  params: LeasePath,
  body: z.strictObject({ call, chunks: z.array(Value).min(1).max(1_000) }),
  answers: { 204: { description: 'They are stored' } },
  async run({ serving, caller, params: { worker: workerId, leaseId }, body }) {
    const worker = await workerOf(serving, caller, workerId)
    const chunks = body.chunks.map((chunk, index) => stored(serving, chunk, `body.chunks.${index}`))
    await worker.write({ kind: 'appendOutput', leaseId, chunks }, body.call)
    return nothing
  },
})

const waitMs = z.number().min(0).max(1e15)
const WaitGiven = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('sleep'), key, position, ms: waitMs }),
  z.strictObject({ kind: z.literal('until'), key, position, at: z.iso.datetime({ offset: true }) }),
  z.strictObject({
    kind: z.literal('signal'),
    key,
    position,
    signal: key.openapi({ description: 'The name of the signal' }),
    timeoutMs: waitMs.optional(),
  }),
])

export const waitFor = endpoint({
  method: 'post',
  path: '/workers/{worker}/leases/{leaseId}/waits',
  id: 'waitFor',
  repeat: 'harmless',
  tag: 'workers',
  summary: 'Ends the pass at its waits: the task goes on, in a later claim, when the first of them is over',
  description: 'If one is over already, nothing ends, and `resolved` says how it ended.',
  scope: 'work',
  bound: 'own',
  problems: [404, 409],
  params: LeasePath,
  body: z.strictObject({ call, waits: z.array(WaitGiven).min(1).max(100) }),
  answers: {
    200: {
      description: 'Whether the lease has ended',
      schema: z.object({
        suspended: z.boolean(),
        resolved: z.array(
          z.object({
            key: z.string(),
            position: z.int(),
            kind: z.string(),
            outcome: z.string(),
            value: Value.optional(),
          }),
        ),
      }),
    },
  },
  async run({ serving, caller, params: { worker: workerId, leaseId }, body }) {
    const worker = await workerOf(serving, caller, workerId)
    const waits = body.waits.map(requestOf)
    const outcome = await worker.write({ kind: 'suspend', leaseId, waits, stay: false }, body.call)
    const { suspended, resolved } = outcome as Extract<typeof outcome, { readonly fenced: 'ok' }>
    return plain({ suspended, resolved: resolved.map(waitJson) })
  },
})

export const settleTask = endpoint({
  method: 'post',
  path: '/workers/{worker}/leases/{leaseId}/settle',
  id: 'settleTask',
  repeat: 'harmless',
  tag: 'workers',
  summary: 'Ends a lease: the task has completed, has failed, is tried again, or is given back',
  scope: 'work',
  bound: 'own',
  problems: [404, 409],
  params: LeasePath,
  body: z
    .strictObject({
      as: z.enum(['completed', 'failed', 'retry', 'released']),
      call,
      output: Value.optional().openapi({ description: 'For `completed`; null without it' }),
      kind: z.enum(['error', 'timeout', 'invalid_output', 'not_approved']).default('error').openapi({
        description: 'For `failed`: the kind of the failure',
      }),
      error: ErrorGiven.optional().openapi({ description: 'For `failed` and `retry`' }),
      delayMs: waitMs.default(0).openapi({ description: 'For `retry`: when the next attempt may begin' }),
    })
    .check(errorGoesWith(['failed', 'retry'])),
  answers: { 204: { description: 'The lease has ended' } },
  async run({ serving, caller, params: { worker: workerId, leaseId }, body }) {
    const worker = await workerOf(serving, caller, workerId)
    const error = stored(serving, body.error ?? null, 'body.error')
    switch (body.as) {
      case 'completed': {
        const output = stored(serving, body.output ?? null, 'body.output')
        await worker.write({ kind: 'settle', leaseId, settlement: { as: 'completed', output } }, body.call)
        break
      }
      case 'failed': {
        const { kind } = body
        await worker.write({ kind: 'settle', leaseId, settlement: { as: 'failed', kind, error } }, body.call)
        break
      }
      case 'retry': {
        const { delayMs } = body
        await worker.write(
          { kind: 'settle', leaseId, settlement: { as: 'retry', error, delayMs } },
          body.call,
        )
        break
      }
      case 'released':
        await worker.write({ kind: 'release', leaseId, reason: 'yielded' }, body.call)
    }
    return nothing
  },
})

function requestOf(wait: z.output<typeof WaitGiven>): WaitRequest {
  const { key: name, position: place } = wait
  const asked = { key: name, position: place }
  switch (wait.kind) {
    case 'sleep':
      return { ...asked, kind: 'timer', delayMs: wait.ms }
    case 'until':
      return { ...asked, kind: 'timer', dueAt: Math.max(0, Date.parse(wait.at)) }
    case 'signal': {
      const { signal, timeoutMs } = wait
      return {
        ...asked,
        kind: 'signal',
        name: signal,
        ...(timeoutMs === undefined ? {} : { delayMs: timeoutMs }),
      }
    }
  }
}

/** A value as a handler of this library would store it. */
function stored(serving: Serving, json: unknown, place: string): string {
  const maxBytes = serving.remote?.host.lines.config.maxPayloadBytes
  return encode(valueFromJson(json, place), { what: place, ...(maxBytes === undefined ? {} : { maxBytes }) })
}

function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

import { z } from '../wire/zod.ts'
import { type Receipt, type Rejected, type SubmitOptions, TaskRejected } from '@ku0/agent-runtime'
import { errorCodes, type Explanation } from '@ku0/agent-runtime-core'
import { allows, assertType, type Caller } from '../access/caller.ts'
import { fieldsRefused, Problem, refusal } from '../problem/problem.ts'
import { answer, type Serving } from '../serving.ts'
import { flagText, wholeText } from '../wire/parameters.ts'
import { ReceiptSchema, SubmissionSchema, SubmittedSchema } from '../wire/records.ts'
import { valueFromJson } from '../wire/values.ts'
import { assertAgreement } from './agreements.ts'
import { endpoint } from './endpoint.ts'
import { KeyHeader, keyOf } from './idempotency-key.ts'
import { waited } from './show-task.ts'

type Submission = z.output<typeof SubmissionSchema>

export const submitTask = endpoint({
  method: 'post',
  path: '/tasks',
  id: 'submitTask',
  repeat: 'keyed',
  tag: 'tasks',
  summary: 'Submit a task',
  description:
    'Answers once the task is committed. With `waitMs` it answers when the task has ended or the time is over, and has the `outcome`. That needs the scope `read`, too. The server waits for `maxWaitMs` at most. A caller who leaves meanwhile leaves the task to go on, or cancels it with `cancelOnDisconnect`. A submission that a limit refuses is a 429 with `receipt` and the header Retry-After; one that can never be accepted as things are set is a 422.',
  scope: 'submit',
  bound: 'own',
  headers: KeyHeader,
  query: z.strictObject({
    waitMs: wholeText(0, 600_000),
    cancelOnDisconnect: flagText,
  }),
  body: SubmissionSchema,
  answers: {
    201: { description: 'The task is stored', schema: SubmittedSchema },
  },
  problems: [409, 422],
  async run({ serving, caller, request, query: { waitMs = 0, cancelOnDisconnect = false }, body }) {
    if (waitMs > 0 && !allows(caller, 'read'))
      throw refusal('forbidden', 'the token lacks the scope read, which waiting for the outcome needs')
    if (cancelOnDisconnect && waitMs === 0)
      throw fieldsRefused([{ field: 'query.cancelOnDisconnect', allowed: 'only with a waitMs above 0' }])
    // Nothing is submitted for a caller who may not wait now.
    using poll = waitMs > 0 ? serving.streams.poll(caller, request) : undefined
    const item = submissionFor(caller, body, 'body', request.header('idempotency-key'))
    await assertAgreement(serving, caller, body.options?.agreement, 'body')
    const receipt = await serving.runtime.submit(item.task, item.input, item.options)
    if (!receipt.accepted) throw await rejection(serving, receipt)
    const { taskId, deduplicated } = receipt
    const headers = { location: `/api/v1/tasks/${encodeURIComponent(taskId)}` }
    if (poll === undefined) return answer(serving, receipt, 201, headers)
    const { outcome, over } = await waited(serving, taskId, waitMs, poll.signal)
    // A task that another request has submitted is not this one's to end.
    if (cancelOnDisconnect && !over && !deduplicated && request.signal.aborted)
      await serving.runtime.cancel(taskId, { reason: 'the request that waited for it was closed' })
    // The task is stored, whatever has become of the token meanwhile.
    return answer(serving, poll.isAccepted() ? { ...receipt, outcome } : receipt, 201, headers)
  },
})

export const submitTasks = endpoint({
  method: 'post',
  path: '/tasks:batch',
  id: 'submitTasks',
  repeat: 'anew',
  tag: 'tasks',
  summary: 'Submit several tasks in one commit',
  description: 'The receipts are in the order of the submissions; a rejected one has `accepted: false`.',
  scope: 'submit',
  bound: 'own',
  body: z.strictObject({ tasks: z.array(SubmissionSchema).min(1) }),
  answers: {
    201: {
      description: 'All are stored, as tasks or as rejections',
      schema: z.object({ receipts: z.array(ReceiptSchema) }),
    },
  },
  problems: [409, 422],
  async run({ serving, caller, body: { tasks } }) {
    const { maxSubmissions } = serving.limits
    if (tasks.length > maxSubmissions)
      throw fieldsRefused([
        { field: 'body.tasks', allowed: `at most ${maxSubmissions} submissions (maxSubmissions)` },
      ])
    const items = tasks.map((task, index) => submissionFor(caller, task, `body.tasks.${index}`))
    for (const [index, { options }] of tasks.entries())
      await assertAgreement(serving, caller, options?.agreement, `body.tasks.${index}`)
    return answer(serving, { receipts: await serving.runtime.submitMany(items) }, 201)
  },
})

/** A submission as its caller may make it. */
function submissionFor(caller: Caller, given: Submission, place: string, keyHeader?: string | null) {
  const { task, input, options: { dueAt, ...options } = {} } = given
  assertType(caller, task, `${place}.task`)
  const key = keyOf(caller, options.idempotencyKey, keyHeader, `${place}.options`)
  return {
    task,
    input: valueFromJson(input, `${place}.input`),
    options: {
      ...options,
      ...(dueAt === undefined ? {} : { dueAt: Date.parse(dueAt) }),
      ...(key === undefined ? {} : { idempotencyKey: key }),
      ...(caller.client === undefined ? {} : { client: caller.client }),
    } satisfies SubmitOptions,
  }
}

/** The problem that a rejected submission is answered with. */
export async function rejection(serving: Serving, receipt: Extract<Receipt, Rejected>): Promise<Problem> {
  const { taskId, reason, message, forGood } = receipt
  const final = forGood === true || reason === 'unknown_task_type' || reason === 'invalid_payload'
  const status = final || reason === 'budget_exceeded' ? 422 : 429
  // The code that a program in this process would catch.
  const { code } = new TaskRejected(taskId, reason, message, forGood)
  const body = {
    type: `urn:ku0:error:${code}`,
    title: errorCodes[code].meaning,
    status,
    detail: message,
    code,
    remedy: errorCodes[code].remedy,
    receipt,
  }
  if (status === 422) return new Problem(body)
  const wait = retryAfterOf((await serving.runtime.explain(taskId))?.verdict, serving.environment.clock.now())
  return new Problem(body, { 'retry-after': String(wait) })
}

/** Whole seconds until there may be room: what the verdict knows, else one. */
function retryAfterOf(verdict: Explanation['verdict'], now: number): number {
  if (verdict?.by === 'quota' && verdict.resetsAt !== undefined) return secondsUntil(verdict.resetsAt - now)
  if (verdict?.by === 'block') return secondsUntil(verdict.blockedUntil - now)
  if (verdict?.by === 'circuit') return secondsUntil(verdict.retryAfterMs)
  return 1
}

function secondsUntil(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000))
}

import { z } from '../wire/zod.ts'
import { RuntimeError, taskStates } from '@ku0/agent-runtime-core'
import { isBound, sees } from '../access/caller.ts'
import { problemOf } from '../problem/problem.ts'
import { answer, type Serving } from '../serving.ts'
import type { Caller } from '../access/caller.ts'
import { CursorText, flagText, LimitText, TaskPath } from '../wire/parameters.ts'
import { Moment, Value } from '../wire/schema.ts'
import { valueFromJson } from '../wire/values.ts'
import { endpoint } from './endpoint.ts'

const ApprovalPath = z.strictObject({ approvalId: z.string().min(1).max(300) })

const ApprovalSchema = z
  .object({
    approvalId: z.string(),
    taskId: z.string(),
    type: z.string(),
    key: z.string(),
    mode: z.string(),
    artifact: Value,
    requestedAt: Moment,
    dueAt: Moment.optional(),
    rejections: z.int(),
  })
  .openapi('Approval')

export const listApprovals = endpoint({
  method: 'get',
  path: '/approvals',
  id: 'listApprovals',
  tag: 'approvals',
  summary: 'The requests that can be answered now',
  scope: 'read',
  bound: 'own',
  query: z.strictObject({
    task: z.string().min(1).max(255).optional(),
    children: flagText,
    limit: LimitText,
    cursor: CursorText,
  }),
  answers: {
    200: {
      description: 'A page of requests',
      schema: z.object({ approvals: z.array(ApprovalSchema), cursor: z.string().optional() }),
    },
  },
  async run({ serving, caller, query }) {
    const page = await serving.runtime.approvals.list(query)
    const seen = await Promise.all(page.approvals.map(async (it) => isSeen(serving, caller, it.taskId)))
    return answer(serving, {
      approvals: page.approvals.filter((_, index) => seen[index]),
      ...(page.cursor === undefined ? {} : { cursor: String(page.cursor) }),
    })
  },
})

export const showApproval = endpoint({
  method: 'get',
  path: '/approvals/{approvalId}',
  id: 'showApproval',
  tag: 'approvals',
  summary: 'One request that can be answered now',
  scope: 'read',
  bound: 'own',
  params: ApprovalPath,
  answers: { 200: { description: 'The request', schema: ApprovalSchema } },
  problems: [404],
  async run({ serving, caller, params: { approvalId } }) {
    const task = taskOf(approvalId)
    await refuseUnseen(serving, caller, approvalId)
    const { approvals } = await serving.runtime.approvals.list({ task })
    const found = approvals.find((it) => it.approvalId === approvalId)
    if (found === undefined) throw noApproval(approvalId)
    return answer(serving, found)
  },
})

const verdict = {
  scope: 'operate',
  bound: 'own',
  method: 'post',
  tag: 'approvals',
  params: ApprovalPath,
  body: z.strictObject({
    by: z.string().min(1).max(255).optional(),
    feedback: z.string().optional(),
    value: Value.optional(),
  }),
  bodyOptional: true,
  answers: {
    200: {
      description: 'The verdict is committed',
      schema: z.object({ approvalId: z.string(), taskId: z.string(), state: z.enum(taskStates) }),
    },
  },
  problems: [404, 409],
} as const

export const approve = endpoint({
  ...verdict,
  path: '/approvals/{approvalId}/approve',
  id: 'approve',
  repeat: 'refused',
  summary: 'Approve a request, and the task goes on',
  async run({ serving, caller, params: { approvalId }, body: { value, ...rest } }) {
    await refuseUnseen(serving, caller, approvalId)
    const given = { ...rest, ...valueOf(value) }
    return answer(serving, await serving.runtime.approvals.approve(approvalId, given))
  },
})

export const reject = endpoint({
  ...verdict,
  path: '/approvals/{approvalId}/reject',
  id: 'reject',
  repeat: 'refused',
  summary: 'Reject a request; the feedback tells the handler what to do better',
  async run({ serving, caller, params: { approvalId }, body: { value, ...rest } }) {
    await refuseUnseen(serving, caller, approvalId)
    const given = { ...rest, ...valueOf(value) }
    return answer(serving, await serving.runtime.approvals.reject(approvalId, given))
  },
})

export const approvalTrail = endpoint({
  method: 'get',
  path: '/tasks/{taskId}/approvals',
  id: 'approvalTrail',
  tag: 'approvals',
  summary: 'Every request that a task ever made, and how it ended',
  scope: 'read',
  bound: 'task',
  params: TaskPath,
  answers: {
    200: {
      description: 'The trail, oldest first',
      schema: z.object({
        trail: z.array(
          z
            .looseObject({
              approvalId: z.string(),
              key: z.string(),
              outcome: z.string(),
              requestedAt: Moment,
            })
            .openapi('ApprovalEntry'),
        ),
      }),
    },
  },
  problems: [404],
  run: async ({ serving, params: { taskId } }) =>
    answer(serving, { trail: await serving.runtime.approvals.trail(taskId) }),
})

function valueOf(value: unknown): { readonly value?: unknown } {
  return value === undefined ? {} : { value: valueFromJson(value, 'body.value') }
}

/** The id of a request begins with that of its task. */
function taskOf(approvalId: string): string {
  const task = /^(.+):\d{1,15}$/s.exec(approvalId)?.[1]
  if (task === undefined) throw noApproval(approvalId)
  return task
}

async function refuseUnseen(serving: Serving, caller: Caller, approvalId: string): Promise<void> {
  if (!(await isSeen(serving, caller, taskOf(approvalId)))) throw noApproval(approvalId)
}

async function isSeen({ runtime }: Serving, caller: Caller, taskId: string): Promise<boolean> {
  if (!isBound(caller)) return true
  const task = await runtime.status(taskId)
  return task !== undefined && sees(caller, task)
}

function noApproval(approvalId: string) {
  return problemOf(new RuntimeError('not_found', `there is no open request ${approvalId}`))
}

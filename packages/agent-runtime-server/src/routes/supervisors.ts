import { z } from '../wire/zod.ts'
import type { SupervisedOptions } from '@ku0/agent-runtime'
import {
  childRestarts,
  lanes,
  MAX_SHUTDOWN_MS,
  RuntimeError,
  supervisionStrategies,
  supervisorEnds,
  taskStates,
} from '@ku0/agent-runtime-core'
import { allowsType, assertType, type Caller, isBound, sees } from '../access/caller.ts'
import { problemOf } from '../problem/problem.ts'
import { answer, type Serving } from '../serving.ts'
import { CursorText, flagText, LimitText, TaskPath } from '../wire/parameters.ts'
import { BudgetOptionsSchema } from '../wire/records.ts'
import { Input, Moment } from '../wire/schema.ts'
import { valueFromJson } from '../wire/values.ts'
import { endpoint } from './endpoint.ts'

const name = z.string().min(1).max(255)
const ChildPath = z.strictObject({ taskId: TaskPath.shape.taskId, child: name })

const TermsSchema = z.object({
  strategy: z.enum(supervisionStrategies),
  maxRestarts: z.int(),
  periodMs: z.int(),
  endsWith: z.enum(supervisorEnds),
  shutdownMs: z.int().optional().openapi({
    description: 'How long a child may take to stop; without it its task type decides',
  }),
})

const SummarySchema = z
  .object({
    taskId: z.string(),
    type: z.string(),
    state: z.enum(taskStates),
    terms: TermsSchema.optional().openapi({ description: 'Absent once it supervises no more' }),
    children: z.object({
      total: z.int().openapi({ description: 'Without temporary ones that ended' }),
      open: z.int().openapi({ description: 'Those that have not ended' }),
      running: z.int(),
    }),
    restarts: z.int().openapi({ description: 'How many restarts count now: those of the last `periodMs`' }),
  })
  .openapi('SupervisorSummary')

const SupervisorSchema = z
  .looseObject({
    taskId: z.string(),
    terms: TermsSchema.optional(),
    restartedAt: z.array(Moment),
    children: z.array(
      z.looseObject({
        id: z.string(),
        taskId: z.string(),
        type: z.string(),
        state: z.enum(taskStates),
        attempt: z.int(),
        shutdownMs: z.int().optional().openapi({
          description:
            'How long it may take to stop, its own or that of its supervisor; without it its task type decides',
        }),
      }),
    ),
  })
  .openapi('Supervisor')

const supervisor = { tag: 'tasks', bound: 'task' } as const
const Started = z.object({ taskId: z.string() })

export const listSupervisors = endpoint({
  method: 'get',
  path: '/supervisors',
  id: 'listSupervisors',
  tag: 'tasks',
  summary: 'The supervisors, their children in numbers and the restarts that count now, newest first',
  scope: 'read',
  bound: 'own',
  query: z.strictObject({
    limit: LimitText,
    cursor: CursorText,
    supervising: flagText.openapi({ description: 'Only those that supervise now' }),
  }),
  answers: {
    200: {
      description: 'A page of supervisors',
      schema: z.object({ supervisors: z.array(SummarySchema), cursor: z.string().optional() }),
    },
  },
  async run({ serving, caller, query }) {
    const { supervisors, cursor } = await serving.runtime.supervisors.list(query)
    const seen = isBound(caller)
      ? await Promise.all(
          supervisors.map(async ({ taskId }) => {
            const task = await serving.runtime.status(taskId)
            return task !== undefined && sees(caller, task)
          }),
        )
      : undefined
    return answer(serving, {
      supervisors: supervisors.filter((_, index) => seen?.[index] ?? true),
      ...(cursor === undefined ? {} : { cursor: String(cursor) }),
    })
  },
})

export const showSupervised = endpoint({
  ...supervisor,
  method: 'get',
  path: '/tasks/{taskId}/supervised',
  id: 'showSupervised',
  summary: 'The children of a supervisor, in the order in which they were started first',
  scope: 'read',
  params: TaskPath,
  answers: { 200: { description: 'The supervisor', schema: SupervisorSchema } },
  problems: [404],
  async run({ serving, caller, params: { taskId } }) {
    const { children, ...rest } = await serving.runtime.supervisors.which(taskId)
    return answer(serving, { ...rest, children: children.filter(({ type }) => allowsType(caller, type)) })
  },
})

export const startSupervised = endpoint({
  ...supervisor,
  method: 'post',
  path: '/tasks/{taskId}/supervised',
  id: 'startSupervised',
  repeat: 'refused',
  summary: 'Start one more child of a supervisor',
  scope: 'operate',
  params: TaskPath,
  body: z.strictObject({
    id: name,
    task: name,
    input: Input,
    options: z
      .strictObject({
        restart: z.enum(childRestarts).optional(),
        shutdownMs: z.int().min(1).max(MAX_SHUTDOWN_MS).optional(),
        lane: z.enum(lanes).optional(),
        model: z.string().optional(),
        tools: z.array(z.string()).optional(),
        labels: z.record(z.string(), z.string()).optional(),
        timeoutMs: z.number().min(0).optional(),
        tokens: z.number().min(0).optional(),
        cost: z.number().min(0).optional(),
        budget: BudgetOptionsSchema.optional(),
      })
      .optional(),
  }),
  answers: { 201: { description: 'The task of the child', schema: Started } },
  problems: [404, 409, 413, 422],
  async run({ serving, caller, params: { taskId }, body: { id, task, input, options } }) {
    assertType(caller, task, 'body.task')
    const value = valueFromJson(input, 'body.input')
    const given = options as SupervisedOptions | undefined
    return answer(serving, await serving.runtime.supervisors.start(taskId, id, task, value, given), 201)
  },
})

export const stopSupervised = endpoint({
  ...supervisor,
  method: 'post',
  path: '/tasks/{taskId}/supervised/{child}/stop',
  id: 'stopSupervised',
  repeat: 'harmless',
  summary: 'Cancel a child of a supervisor, which does not start it again',
  scope: 'operate',
  params: ChildPath,
  answers: {
    200: {
      description: 'Whether this call ended it, and its state',
      schema: z.object({ stopped: z.boolean(), taskId: z.string(), state: z.enum(taskStates) }),
    },
  },
  problems: [404],
  async run({ serving, caller, params: { taskId, child } }) {
    await assertChild(serving, caller, taskId, child)
    return answer(serving, await serving.runtime.supervisors.stop(taskId, child))
  },
})

export const restartSupervised = endpoint({
  ...supervisor,
  method: 'post',
  path: '/tasks/{taskId}/supervised/{child}/restart',
  id: 'restartSupervised',
  repeat: 'anew',
  summary: 'Start a child of a supervisor that has ended once more, as a new task',
  scope: 'operate',
  params: ChildPath,
  answers: { 201: { description: 'The new task', schema: Started } },
  problems: [404, 409],
  async run({ serving, caller, params: { taskId, child } }) {
    await assertChild(serving, caller, taskId, child)
    return answer(serving, await serving.runtime.supervisors.restart(taskId, child), 201)
  },
})

/** Throws where a caller may not act on a child of this type. Other children than those of its types are not shown to it either. */
async function assertChild({ runtime }: Serving, caller: Caller, taskId: string, child: string) {
  if (caller.types === undefined) return
  const { children } = await runtime.supervisors.which(taskId)
  const found = children.find(({ id }) => id === child)
  // A temporary child that has ended is not listed any more, so nothing says whose it is.
  if (found === undefined)
    throw problemOf(new RuntimeError('not_found', `the supervisor ${taskId} has no child ${child}`))
  assertType(caller, found.type, 'path.child')
}

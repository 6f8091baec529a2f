import { z } from '../wire/zod.ts'
import type { ScheduleOptions, Timing } from '@ku0/agent-runtime'
import { catchUps, lanes, overlaps, RuntimeError } from '@ku0/agent-runtime-core'
import { problemOf } from '../problem/problem.ts'
import { answer, nothing } from '../serving.ts'
import { AcceptedSchema, BudgetOptionsSchema } from '../wire/records.ts'
import { wholeText } from '../wire/parameters.ts'
import { isoOf } from '../wire/times.ts'
import { Input, Moment, Value } from '../wire/schema.ts'
import { valueFromJson } from '../wire/values.ts'
import { assertAgreement } from './agreements.ts'
import { endpoint } from './endpoint.ts'
import { KeyHeader, keyOf } from './idempotency-key.ts'
import { rejection } from './submit-tasks.ts'

const SchedulePath = z.strictObject({ schedule: z.string().min(1).max(255) })

const ScheduleSchema = z
  .looseObject({
    name: z.string(),
    task: z.string(),
    input: Value,
    paused: z.boolean(),
    timing: z.looseObject({}),
    nextAt: Moment.optional(),
    lastAt: Moment.optional(),
    lastTaskId: z.string().optional(),
    runs: z.int(),
  })
  .openapi('Schedule')

const schedule = { tag: 'schedules', bound: 'none' } as const

export const listSchedules = endpoint({
  ...schedule,
  method: 'get',
  path: '/schedules',
  id: 'listSchedules',
  summary: 'All schedules, by name',
  scope: 'read',
  answers: {
    200: { description: 'All schedules', schema: z.object({ schedules: z.array(ScheduleSchema) }) },
  },
  run: async ({ serving }) => answer(serving, { schedules: await serving.runtime.schedules.list() }),
})

export const showSchedule = endpoint({
  ...schedule,
  method: 'get',
  path: '/schedules/{schedule}',
  id: 'showSchedule',
  summary: 'One schedule',
  scope: 'read',
  params: SchedulePath,
  answers: { 200: { description: 'The schedule', schema: ScheduleSchema } },
  problems: [404],
  async run({ serving, params: { schedule: name } }) {
    const found = await serving.runtime.schedules.get(name)
    if (found === undefined) throw noSchedule(name)
    return answer(serving, found)
  },
})

export const upcomingTimes = endpoint({
  ...schedule,
  method: 'get',
  path: '/schedules/{schedule}/upcoming',
  id: 'upcomingTimes',
  summary: 'The next times of a schedule, the soonest first; none while it is paused',
  scope: 'read',
  params: SchedulePath,
  query: z.strictObject({ count: wholeText(1, 100) }),
  answers: { 200: { description: 'Five times, or `count`', schema: z.object({ times: z.array(Moment) }) } },
  problems: [404],
  async run({ serving, params: { schedule: name }, query: { count } }) {
    const times = await serving.runtime.schedules.upcoming(name, count)
    return answer(serving, { times: times.map(isoOf) })
  },
})

export const putSchedule = endpoint({
  ...schedule,
  method: 'put',
  path: '/schedules/{schedule}',
  id: 'putSchedule',
  repeat: 'harmless',
  summary: 'Create or change a schedule',
  scope: 'operate',
  params: SchedulePath,
  body: z.strictObject({
    timing: z.union([
      z.strictObject({ cron: z.string().max(255), timeZone: z.string().max(64).optional() }),
      z.strictObject({ everyMs: z.int().min(1_000) }),
    ]),
    task: z.string().min(1).max(255),
    input: Input,
    options: z
      .strictObject({
        lane: z.enum(lanes).optional(),
        client: z.string().min(1).max(255).optional(),
        model: z.string().optional(),
        tools: z.array(z.string()).optional(),
        labels: z.record(z.string(), z.string()).optional(),
        timeoutMs: z.number().min(0).optional(),
        tokens: z.number().min(0).optional(),
        cost: z.number().min(0).optional(),
        budget: BudgetOptionsSchema.optional(),
        agreement: z.string().min(1).max(255).optional(),
        catchUp: z.enum(catchUps).optional(),
        graceMs: z.number().min(0).optional(),
        overlap: z.enum(overlaps).optional(),
      })
      .optional(),
  }),
  answers: { 200: { description: 'The schedule', schema: ScheduleSchema } },
  problems: [422],
  async run({ serving, caller, params: { schedule: name }, body: { timing, task, input, options } }) {
    await assertAgreement(serving, caller, options?.agreement, 'body')
    const { schedules } = serving.runtime
    const value = valueFromJson(input, 'body.input')
    return answer(
      serving,
      await schedules.put(name, timing as Timing, task, value, options as ScheduleOptions),
    )
  },
})

export const removeSchedule = endpoint({
  ...schedule,
  method: 'delete',
  path: '/schedules/{schedule}',
  id: 'removeSchedule',
  repeat: 'harmless',
  summary: 'Remove a schedule; the tasks that it submitted stay',
  scope: 'operate',
  params: SchedulePath,
  answers: { 204: { description: 'It is removed' } },
  problems: [404],
  async run({ serving, params: { schedule: name } }) {
    if (await serving.runtime.schedules.remove(name)) return nothing
    throw noSchedule(name)
  },
})

export const pauseSchedule = endpoint({
  ...schedule,
  method: 'post',
  path: '/schedules/{schedule}/pause',
  id: 'pauseSchedule',
  repeat: 'harmless',
  summary: 'Stop a schedule until it is resumed',
  scope: 'operate',
  params: SchedulePath,
  answers: { 200: { description: 'The schedule', schema: ScheduleSchema } },
  problems: [404],
  run: async ({ serving, params }) => answer(serving, await serving.runtime.schedules.pause(params.schedule)),
})

export const resumeSchedule = endpoint({
  ...schedule,
  method: 'post',
  path: '/schedules/{schedule}/resume',
  id: 'resumeSchedule',
  repeat: 'harmless',
  summary: 'Go on with the next time from now',
  scope: 'operate',
  params: SchedulePath,
  answers: { 200: { description: 'The schedule', schema: ScheduleSchema } },
  problems: [404],
  run: async ({ serving, params }) =>
    answer(serving, await serving.runtime.schedules.resume(params.schedule)),
})

export const triggerSchedule = endpoint({
  ...schedule,
  method: 'post',
  path: '/schedules/{schedule}/trigger',
  id: 'triggerSchedule',
  repeat: 'keyed',
  summary: 'Submit one run now',
  scope: 'operate',
  params: SchedulePath,
  headers: KeyHeader,
  body: z.strictObject({ idempotencyKey: z.string().min(1).max(255).optional() }),
  bodyOptional: true,
  answers: { 201: { description: 'The task', schema: AcceptedSchema } },
  problems: [404, 409, 422],
  async run({ serving, caller, request, params, body }) {
    const idempotencyKey = keyOf(caller, body.idempotencyKey, request.header('idempotency-key'), 'body')
    const receipt = await serving.runtime.schedules.trigger(params.schedule, { idempotencyKey })
    if (!receipt.accepted) throw await rejection(serving, receipt)
    return answer(serving, receipt, 201)
  },
})

function noSchedule(name: string) {
  return problemOf(new RuntimeError('not_found', `there is no schedule ${name}`))
}

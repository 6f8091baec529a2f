import { z } from '../wire/zod.ts'
import { RuntimeError } from '@ku0/agent-runtime-core'
import { problemOf } from '../problem/problem.ts'
import { answer } from '../serving.ts'
import { Moment } from '../wire/schema.ts'
import { endpoint } from './endpoint.ts'

const reports = { tag: 'operation', method: 'get', scope: 'read', bound: 'none' } as const

export const listReports = endpoint({
  ...reports,
  path: '/reports',
  id: 'listReports',
  summary: 'The reports of the gym that the server was given, newest first',
  answers: {
    200: {
      description: 'All reports; none without the option `reports`',
      schema: z.object({
        reports: z.array(z.object({ name: z.string(), bytes: z.int(), changedAt: Moment })),
      }),
    },
  },
  run: async ({ serving }) => answer(serving, { reports: await serving.reports.list() }),
})

export const showReport = endpoint({
  ...reports,
  path: '/reports/{report}',
  id: 'showReport',
  summary: 'One report of the gym, as `gym:run` has written it',
  params: z.strictObject({ report: z.string().min(1).max(255) }),
  answers: {
    200: {
      description: 'The report',
      schema: z.looseObject({ schemaVersion: z.int() }).openapi('GymReport'),
    },
  },
  problems: [404],
  async run({ serving, params: { report: name } }) {
    const { reports: source } = serving
    // Whatever a source does with a name, it gets none but its own.
    const isThere = (await source.list()).some((file) => file.name === name)
    const body = isThere ? await source.read(name) : undefined
    if (body === undefined) throw problemOf(new RuntimeError('not_found', `there is no report ${name}`))
    return { status: 200, headers: { 'content-type': 'application/json' }, body }
  },
})

import { z } from '../wire/zod.ts'
import type { Verification } from '@ku0/agent-runtime-persistence'
import type { VerificationRun } from '../care/verifications.ts'
import { refusal } from '../problem/problem.ts'
import { answer, type Serving } from '../serving.ts'
import { REDACTED } from '../wire/redaction.ts'
import { Moment } from '../wire/schema.ts'
import { endpoint } from './endpoint.ts'

const care = { tag: 'operation', scope: 'admin', bound: 'none' } as const

const verifying = { ...care, onlyReads: true } as const

const RunPath = z.strictObject({ verification: z.uuid() })

const SealSchema = z
  .strictObject({
    storeId: z.string().min(1).max(64),
    commit: z.int().min(0),
    hash: z.string().regex(/^[\da-f]{64}$/, { error: '64 hex digits' }),
  })
  .openapi('Seal')

const ReportSchema = z
  .object({
    ok: z.boolean().openapi({ description: 'Nothing is wrong' }),
    storeId: z.string(),
    tasks: z.int(),
    events: z.int(),
    commits: z.int(),
    faults: z.array(
      z.object({
        what: z.enum(['file', 'anchor', 'journal', 'event', 'row', 'sum']),
        where: z.string(),
        expected: z.string(),
        actual: z.string(),
      }),
    ),
    faultCount: z.int(),
    lastGood: z
      .object({ commit: z.int(), at: Moment.nullable() })
      .openapi({ description: 'The last commit up to which all is as it was written' }),
    remedy: z
      .string()
      .nullable()
      .openapi({ description: 'The way to mend the store; null where nothing is wrong' }),
    anchored: z
      .int()
      .nullable()
      .openapi({ description: 'The commit that the anchor names; null without one' }),
    sealed: z
      .int()
      .nullable()
      .openapi({ description: 'The commit of the seal after which it began; null if it read all' }),
    seal: SealSchema.nullable().openapi({
      description: 'For the next verification: keep it apart from the store. Null if something is wrong',
    }),
  })
  .openapi('VerificationReport')

const RunSchema = z
  .object({
    id: z.string(),
    state: z.enum(['running', 'done', 'stopped', 'failed']),
    tasks: z.int().openapi({ description: 'The tasks that were looked at so far' }),
    events: z.int().openapi({ description: 'The events that were looked at so far' }),
    report: ReportSchema.optional().openapi({ description: 'The findings, once it is done' }),
    problem: z.string().optional().openapi({ description: 'Why it failed' }),
    code: z.string().optional().openapi({ description: 'The code of the error by which it failed' }),
  })
  .openapi('Verification')

export const startVerification = endpoint({
  ...verifying,
  method: 'post',
  path: '/verifications',
  id: 'startVerification',
  repeat: 'anew',
  summary: 'Begin to check that the store holds what was written',
  description:
    'The store is used meanwhile, and nothing is written to it. It reads all of the store, or, with the seal of an earlier verification, what came after that. One runs at a time; another one is a 429. One that was stopped is waited for, and is a 429 only where it takes long to end.',
  body: z.strictObject({
    maxFaults: z
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .openapi({ description: 'How many faults to list in full; 100 by default' }),
    since: SealSchema.optional().openapi({ description: 'The seal of an earlier verification' }),
  }),
  answers: { 202: { description: 'It runs', schema: RunSchema } },
  problems: [501],
  async run({ serving, body: { maxFaults, since } }) {
    const { environment, verifications, storeCare } = serving
    const options = {
      ...(maxFaults === undefined ? {} : { maxFaults }),
      ...(since === undefined ? {} : { since }),
    }
    const run = await verifications.start(environment.ids.uuid(), options, storeCare.verify())
    return answer(serving, shown(serving, run), 202, { location: `/api/v1/verifications/${run.id}` })
  },
})

export const showVerification = endpoint({
  ...verifying,
  method: 'get',
  path: '/verifications/{verification}',
  id: 'showVerification',
  summary: 'How far a verification is, and what it found',
  params: RunPath,
  answers: { 200: { description: 'Its progress', schema: RunSchema } },
  problems: [404],
  run: async ({ serving, params: { verification } }) =>
    answer(serving, shown(serving, serving.verifications.find(verification))),
})

export const stopVerification = endpoint({
  ...verifying,
  method: 'delete',
  path: '/verifications/{verification}',
  id: 'stopVerification',
  repeat: 'harmless',
  summary: 'End a verification',
  params: RunPath,
  answers: { 200: { description: 'It stops', schema: RunSchema } },
  problems: [404],
  run: async ({ serving, params: { verification } }) =>
    answer(serving, shown(serving, serving.verifications.stop(verification))),
})

export const inspectStore = endpoint({
  ...care,
  method: 'get',
  path: '/inspection',
  id: 'inspectStore',
  summary: 'How the store is set up, and what is wrong with that',
  description:
    'Of a file: durability, versions, files, sizes, the clock and processes, with `problems`. Of PostgreSQL: `checks`, each of which tries something that a store needs, in a schema of its own that is dropped again. It says where the store is.',
  answers: {
    200: {
      description: 'The findings',
      schema: z
        .looseObject({ ok: z.boolean().openapi({ description: 'All that was promised holds' }) })
        .openapi('Inspection'),
    },
  },
  problems: [501],
  async run({ serving, request }) {
    // Its headers say nothing that would be worth the look.
    if (request.method === 'HEAD')
      throw refusal('method_not_allowed', 'this path takes GET', { allow: 'GET' })
    return answer(serving, await serving.storeCare.inspect())
  },
})

function shown(serving: Serving, { report, ...run }: VerificationRun) {
  return report === undefined ? run : { ...run, report: reported(serving, report) }
}

/** A number of a commit is no time, as `since` is elsewhere. A fault may quote a value that is not to be shown. */
function reported({ redacts }: Serving, { since, ...report }: Verification) {
  const quoted = (fault: Verification['faults'][number]) =>
    redacts && (fault.what === 'row' || fault.what === 'event')
      ? { ...fault, expected: REDACTED, actual: REDACTED }
      : fault
  return { ...report, faults: report.faults.map(quoted), sealed: since }
}

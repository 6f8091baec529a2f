import { z } from '../wire/zod.ts'
import type { Agreement } from '@ku0/agent-runtime'
import { clientTiers, lanes, outOfCreditsChoices, oversightModes } from '@ku0/agent-runtime-core'
import type { Caller } from '../access/caller.ts'
import { fieldsRefused } from '../problem/problem.ts'
import { answer, type Serving } from '../serving.ts'
import { endpoint } from './endpoint.ts'

export const listAgreements = endpoint({
  method: 'get',
  path: '/agreements',
  id: 'listAgreements',
  tag: 'limits',
  summary: 'The agreements that a submission can name, with their terms',
  description: 'They are those that the served runtime was given. A token of a client sees its own.',
  scope: 'read',
  bound: 'own',
  answers: {
    200: {
      description: 'All agreements, by name',
      schema: z.object({
        agreements: z.array(
          z
            .looseObject({
              kind: z.literal('agreement'),
              name: z.string(),
              client: z.string(),
              agents: z.array(z.string()).optional(),
              tier: z.enum(clientTiers).optional(),
              lane: z.enum(lanes).optional(),
              timeoutMs: z.number().optional(),
              deadlineMs: z.number().optional(),
              latencyMs: z.number().optional(),
              oversight: z.enum(oversightModes).optional(),
              outOfCredits: z.enum(outOfCreditsChoices).optional(),
            })
            .openapi('Agreement'),
        ),
      }),
    },
  },
  run: async ({ serving, caller }) => answer(serving, { agreements: await usable(serving, caller) }),
})

/** The agreements that a caller may use: those of its client, or all. */
async function usable(serving: Serving, { client }: Caller): Promise<readonly Agreement[]> {
  const all = await serving.runtime.agreements.list()
  return client === undefined ? all : all.filter((it) => it.client === client)
}

/** Refuses the name of an agreement that its caller may not use, as if it were not there. */
export async function assertAgreement(
  serving: Serving,
  caller: Caller,
  name: string | undefined,
  place: string,
): Promise<void> {
  if (name === undefined) return
  const known = (await usable(serving, caller)).map((it) => it.name)
  if (known.includes(name)) return
  throw fieldsRefused([
    {
      field: `${place}.options.agreement`,
      allowed: `there is no agreement ${JSON.stringify(name)}: ${known.length === 0 ? 'you may use none' : `you may use ${known.join(', ')}`}`,
    },
  ])
}

import { type AccessTokenRecord, accessScopes, RuntimeError } from '@ku0/agent-runtime-core'
import { hashToken } from '../access/tokens.ts'
import { problemOf } from '../problem/problem.ts'
import { answer } from '../serving.ts'
import { secret } from '../system.ts'
import { Moment } from '../wire/schema.ts'
import { z } from '../wire/zod.ts'
import { endpoint } from './endpoint.ts'

const name = z.string().min(1).max(255)

const TokenFields = z.object({
  name: z.string(),
  scopes: z.array(z.enum(accessScopes)),
  client: z.string().optional(),
  types: z.array(z.string()).optional(),
  createdAt: Moment,
  expiresAt: Moment.optional(),
  revokedAt: Moment.optional(),
})
const TokenSchema = TokenFields.openapi('Token')

const tokens = { tag: 'access', bound: 'none', scope: 'admin' } as const

export const listTokens = endpoint({
  ...tokens,
  method: 'get',
  path: '/tokens',
  id: 'listTokens',
  summary: 'The access tokens of the store by name, revoked and expired ones among them',
  answers: { 200: { description: 'The tokens', schema: z.object({ tokens: z.array(TokenSchema) }) } },
  run: async ({ serving }) =>
    answer(serving, { tokens: (await serving.runtime.accessTokens.list()).map(withoutHash) }),
})

export const createToken = endpoint({
  ...tokens,
  method: 'post',
  path: '/tokens',
  id: 'createToken',
  repeat: 'refused',
  summary: 'Make an access token, and show it this once',
  description:
    'The store keeps its hash. Servers that take their tokens from the store accept it within a second, those of other processes too.',
  body: z.strictObject({
    name,
    scopes: z.array(z.enum(accessScopes)).min(1).max(accessScopes.length),
    client: name.optional(),
    types: z.array(name).min(1).max(1_000).optional(),
    expiresAt: Moment.optional(),
    hash: z
      .string()
      .regex(/^[\da-f]{64}$/i, { error: 'the SHA-256 of the token, 64 hex digits' })
      .optional()
      .openapi({ description: 'The hash of a token that the caller has drawn: the answer then has none' }),
  }),
  answers: {
    201: {
      description: 'The token',
      schema: TokenFields.extend({ token: z.string().optional() }).openapi('NewToken'),
    },
  },
  problems: [409, 422],
  async run({ serving, body: { name: holder, expiresAt, hash, ...terms } }) {
    const token = hash === undefined ? `ku0_${secret()}` : undefined
    const kept = await serving.runtime.accessTokens.put(holder, {
      ...terms,
      hash: hash ?? hashToken(token ?? ''),
      expiresAt: expiresAt === undefined ? undefined : Date.parse(expiresAt),
    })
    return answer(serving, { ...withoutHash(kept), ...(token === undefined ? {} : { token }) }, 201)
  },
})

export const revokeToken = endpoint({
  ...tokens,
  method: 'delete',
  path: '/tokens/{token}',
  id: 'revokeToken',
  repeat: 'harmless',
  summary: 'Refuse an access token from now on, by its name',
  params: z.strictObject({ token: name }),
  answers: { 200: { description: 'The token that was revoked', schema: TokenSchema } },
  problems: [404],
  async run({ serving, params: { token } }) {
    const revoked = await serving.runtime.accessTokens.revoke(token)
    if (revoked === undefined)
      throw problemOf(new RuntimeError('not_found', `no token ${token} is accepted or has expired`))
    return answer(serving, withoutHash(revoked))
  },
})

function withoutHash(token: AccessTokenRecord): Omit<AccessTokenRecord, 'hash'> {
  const { hash: _, ...shown } = token
  return shown
}

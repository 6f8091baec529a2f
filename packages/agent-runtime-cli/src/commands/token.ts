import type { AccessTokenRecord } from '@ku0/agent-runtime-core'
import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { table } from '../screen/table.ts'
import { ago } from '../screen/words.ts'

export const run: Run = async ({ print, settings, system }) => {
  await using connection = await connect(await settings())
  const now = system.now()
  const tokens = (await connection.accessTokens.list()).map((kept) => {
    const { hash: _, ...token } = kept
    return { ...token, state: stateOf(kept, now) }
  })
  print.answer({ tokens }, () =>
    tokens.length === 0
      ? ['there are no tokens; agent-runtime token create makes one']
      : table(
          ['TOKEN', 'STATE', 'SCOPES', 'CLIENT', 'TYPES', 'MADE', 'EXPIRES'],
          tokens.map(({ name, state, scopes, client, types, createdAt, expiresAt }) => [
            name,
            { text: state, style: state === 'accepted' ? ('green' as const) : ('dim' as const) },
            scopes.join(', '),
            client ?? '',
            types?.join(', ') ?? '',
            ago(createdAt, now),
            expiresAt === undefined ? '' : ago(expiresAt, now),
          ]),
        ),
  )
  return 0
}

function stateOf({ revokedAt, expiresAt }: Pick<AccessTokenRecord, 'revokedAt' | 'expiresAt'>, now: number) {
  if (revokedAt !== undefined) return 'revoked'
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'accepted'
}

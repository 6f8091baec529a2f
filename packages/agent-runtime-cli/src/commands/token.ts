import type { Run } from '../call.ts'
import { table } from '../screen/table.ts'
import { ago } from '../screen/words.ts'
import { type KeptToken, readTokens } from '../tokens/token-file.ts'

export const run: Run = async ({ print, settings, system }) => {
  const { tokens: path } = (await settings()).serve
  const now = system.now()
  const tokens = readTokens(path).map((token) => ({ ...token, hash: undefined, state: stateOf(token, now) }))
  print.answer({ file: path, tokens }, () =>
    tokens.length === 0
      ? [`there are no tokens in ${path}`]
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

function stateOf({ revokedAt, expiresAt }: Pick<KeptToken, 'revokedAt' | 'expiresAt'>, now: number) {
  if (revokedAt !== undefined) return 'revoked'
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'accepted'
}

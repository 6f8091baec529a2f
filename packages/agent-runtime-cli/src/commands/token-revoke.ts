import { instead, RuntimeError } from '@ku0/agent-runtime-core'
import type { Run } from '../call.ts'
import { changeTokens, readTokens } from '../tokens/token-file.ts'

export const run: Run = async ({ args: [name = ''], print, settings, system }) => {
  const { tokens: path } = (await settings()).serve
  const revokedAt = system.now()
  const open = readTokens(path).filter((token) => token.revokedAt === undefined)
  if (!open.some((token) => token.name === name))
    throw new RuntimeError(
      'not_found',
      `there is no token ${name} in ${path}${instead(
        name,
        open.map((token) => token.name),
      )}`,
    )
  changeTokens(path, (tokens) =>
    tokens.map((token) =>
      token.name === name && token.revokedAt === undefined ? { ...token, revokedAt } : token,
    ),
  )
  print.answer({ name, revokedAt }, () => [`${name}: revoked; servers refuse it within a second`])
  return 0
}

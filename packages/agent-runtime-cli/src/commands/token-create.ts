import { RuntimeError } from '@ku0/agent-runtime-core'
import { hashToken, type Scope } from '@ku0/agent-runtime-server'
import type { Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import { changeTokens, type KeptToken } from '../tokens/token-file.ts'

interface Options {
  readonly scopes?: readonly Scope[]
  readonly client?: string
  readonly types?: readonly string[]
  readonly expires?: number
}

export const run: Run = async ({ args: [name = ''], options, print, settings, system }) => {
  const { scopes, client, types, expires } = options as Options
  if (scopes === undefined) throw new UsageError('say what the token allows, such as --scopes read,submit')
  if (name === '' || name.length > 255) throw new UsageError('the name of a token has 1 to 255 characters')
  const { tokens: path } = (await settings()).serve
  const createdAt = system.now()
  const token = `ku0_${system.secret()}`
  const kept: KeptToken = {
    name,
    hash: hashToken(token),
    scopes: [...new Set(scopes)],
    ...(client === undefined ? {} : { client }),
    ...(types === undefined ? {} : { types }),
    createdAt,
    ...(expires === undefined ? {} : { expiresAt: createdAt + expires }),
  }
  changeTokens(path, (tokens) => {
    if (tokens.some((it) => it.name === name && it.revokedAt === undefined))
      throw new RuntimeError(
        'already_exists',
        `there is a token ${name}: revoke it first, or take another name`,
      )
    return [...tokens, kept]
  })
  print.answer({ ...kept, hash: undefined, token, file: path }, () => [token])
  print.note(`this is the only time that it is shown; its hash is in ${path}`)
  return 0
}

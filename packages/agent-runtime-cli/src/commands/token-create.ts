import type { AccessScope } from '@ku0/agent-runtime-core'
import { hashToken } from '@ku0/agent-runtime-server'
import type { Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import { connect } from '../connect.ts'

interface Options {
  readonly scopes?: readonly AccessScope[]
  readonly client?: string
  readonly types?: readonly string[]
  readonly expires?: number
}

export const run: Run = async ({ args: [name = ''], options, print, settings, system }) => {
  const { scopes, client, types, expires } = options as Options
  if (scopes === undefined) throw new UsageError('say what the token allows, such as --scopes read,submit')
  if (name === '' || name.length > 255) throw new UsageError('the name of a token has 1 to 255 characters')
  const token = `ku0_${system.secret()}`
  await using connection = await connect(await settings(), {
    print,
  })
  const { hash: _, ...kept } = await connection.accessTokens.put(name, {
    hash: hashToken(token),
    scopes,
    client,
    types,
    expiresAt: expires === undefined ? undefined : system.now() + expires,
  })
  print.answer({ ...kept, token }, () => [token])
  print.note('this is the only time that it is shown; the store has its hash')
  return 0
}

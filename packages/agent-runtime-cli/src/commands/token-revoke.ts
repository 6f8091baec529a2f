import { instead, RuntimeError } from '@ku0/agent-runtime-core'
import type { Run } from '../call.ts'
import { connect } from '../connect.ts'

export const run: Run = async ({ args: [name = ''], print, settings }) => {
  await using connection = await connect(await settings())
  const revoked = await connection.accessTokens.revoke(name)
  if (revoked === undefined) {
    const names = (await connection.accessTokens.list()).flatMap((it) =>
      it.revokedAt === undefined ? [it.name] : [],
    )
    throw new RuntimeError('not_found', `there is no token ${name} to revoke${instead(name, names)}`)
  }
  const { revokedAt } = revoked
  print.answer({ name, revokedAt }, () => [`${name}: revoked; servers refuse it within a second`])
  return 0
}

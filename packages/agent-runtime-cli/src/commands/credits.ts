import { RuntimeError } from '@ku0/agent-runtime-core'
import type { Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import { connect } from '../connect.ts'
import { cliExitCodes } from '../exit-codes.ts'
import { pairs, table } from '../screen/table.ts'
import { clientName, dated, many } from '../screen/words.ts'

export const run: Run = () => {
  throw new UsageError('credits has no list: give show, ledger or buy, and the name of a client')
}

export const show: Run = async ({ args: [client = ''], print, settings }) => {
  await using connection = await connect(await settings())
  const found = await connection.credits.balance(client)
  if (found === undefined)
    throw new RuntimeError('not_found', `there is no client ${clientName(client)}`, { details: { client } })
  const { asks } = found
  print.answer(found, () =>
    pairs([
      ['client', clientName(found.client)],
      ['free', String(found.credits)],
      ['reserved', String(found.reserved)],
      ['spent', String(found.spent)],
      ['ledger', many(found.entries, 'entry', 'entries')],
      ...(asks === undefined
        ? []
        : [
            [
              'asks for',
              `${asks.missing} more, since ${dated(asks.since)}, for task ${asks.taskId}`,
            ] as const,
          ]),
    ]),
  )
  return cliExitCodes.ok
}

export const ledger: Run = async ({ args: [client = ''], options, print, settings }) => {
  const { after, limit = 20 } = options as { readonly after?: number; readonly limit?: number }
  await using connection = await connect(await settings())
  const entries = await connection.credits.entries(client, { after, limit })
  print.answer({ entries }, () =>
    entries.length === 0
      ? ['no entry']
      : table(
          ['NUMBER', 'WHEN', 'KIND', 'AMOUNT', 'FREE', 'RESERVED', 'WHY'],
          entries.map(({ seq, at, kind, amount, credits, reserved, why }) => [
            String(seq),
            dated(at),
            kind,
            String(amount),
            String(credits),
            String(reserved),
            why,
          ]),
        ),
  )
  const last = entries.at(-1)
  if (last !== undefined && entries.length === limit) print.note(`there may be more: --after ${last.seq}`)
  return cliExitCodes.ok
}

export const buy: Run = async ({ args: [client = '', amount = ''], options, print, settings }) => {
  const { key, note } = options as { readonly key?: string; readonly note?: string }
  const credits = Number(amount)
  if (!(credits > 0)) throw new UsageError(`the amount is a number above 0; given ${amount}`)
  await using connection = await connect(await settings())
  const purchase = await connection.credits.purchase(client, credits, { key, note })
  const { entry, deduplicated } = purchase
  const who = client === '' ? `the client ${clientName(client)}` : client
  print.answer(purchase, () => [
    deduplicated
      ? `bought before with this key: ${who} had ${entry.credits} free credits after entry ${entry.seq} of its ledger`
      : `${who} has ${entry.credits} free credits`,
  ])
  return cliExitCodes.ok
}

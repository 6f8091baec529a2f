import type { Query } from 'pg'
import { expect, test } from 'vitest'
import { Batch, type Found, Prepared } from '../../src/postgres/batch.ts'

/** What the driver calls of a query. */
interface Driven {
  submit(wire: unknown): void
  handleRowDescription(it: { fields: readonly { name: string; dataTypeID: number }[] }): void
  handleDataRow(it: { fields: readonly string[] }): void
  handleCommandComplete(it: { text: string }): void
  handleReadyForQuery(): void
}

/** Asks for a number, as a server that answers with `name`. Tells whether that was asked for a description of its rows. */
async function ask(
  prepared: Prepared,
  text: string,
  name: string,
): Promise<{ readonly isDescribed: boolean; readonly found: Found | undefined }> {
  const batch = new Batch([{ text, values: [] }], prepared)
  const query = batch.into({} as Query) as unknown as Driven
  let isDescribed = false
  const nothing = () => undefined
  query.submit({
    stream: { cork: nothing, uncork: nothing },
    parse: nothing,
    bind: nothing,
    describe: () => (isDescribed = true),
    execute: nothing,
    sync: nothing,
  })
  if (isDescribed) query.handleRowDescription({ fields: [{ name, dataTypeID: 23 }] })
  query.handleDataRow({ fields: ['7'] })
  query.handleCommandComplete({ text: 'SELECT 1' })
  query.handleReadyForQuery()
  const [found] = await batch.answer.promise
  return { isDescribed, found }
}

test('the rows of a query that the server keeps are described once', async () => {
  const prepared = new Prepared(true)
  const first = await ask(prepared, 'SELECT seven', 'seven')
  const second = await ask(prepared, 'SELECT seven', 'seven')
  expect([first.isDescribed, second.isDescribed]).toEqual([true, false])
  expect(second.found).toEqual({ fields: ['seven'], rows: [[7]], command: 'SELECT 1' })
})

test('the rows of a cursor are described each time, since another one may have its name by then', async () => {
  const prepared = new Prepared(true)
  await ask(prepared, 'FETCH 100 FROM copied', 'seven')
  expect(await ask(prepared, 'FETCH 100 FROM copied', 'eight')).toMatchObject({
    isDescribed: true,
    found: { fields: ['eight'] },
  })
})

test('the rows of a query that the server has never seen are described', async () => {
  const prepared = new Prepared(true)
  await ask(prepared, 'SELECT seven', 'seven')
  prepared.forget('SELECT seven')
  expect((await ask(prepared, 'SELECT seven', 'seven')).isDescribed).toBe(true)
  const unkept = new Prepared(false)
  await ask(unkept, 'SELECT seven', 'seven')
  expect((await ask(unkept, 'SELECT seven', 'seven')).isDescribed).toBe(true)
})

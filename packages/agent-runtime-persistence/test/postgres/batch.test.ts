import type { Query } from 'pg'
import { expect, test } from 'vitest'
import { Batch, Prepared } from '../../src/postgres/connection/batch.ts'
import type { Found } from '../../src/postgres/connection/statement.ts'

/** What the driver calls of a query. */
interface Driven {
  submit(wire: unknown): void
  handleRowDescription(it: { fields: readonly { name: string; dataTypeID: number }[] }): void
  handleDataRow(it: { fields: readonly string[] }): void
  handleCommandComplete(it: { text: string }): void
  handleError(error: unknown): void
  handleReadyForQuery(): void
}

/** What was sent of a query for a number, and how a server answers it. */
interface Asked {
  readonly isDescribed: boolean
  /** Says what its row looks like. */
  readonly describe: (name: string) => void
  readonly fail: () => Promise<void>
  /** Sends its row, and that it is done. */
  readonly end: () => Promise<Found | undefined>
}

function send(prepared: Prepared, text: string, isSilent = false): Asked {
  const batch = new Batch([{ text, values: [], isSilent }], prepared)
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
  return {
    isDescribed,
    describe: (name) => query.handleRowDescription({ fields: [{ name, dataTypeID: 23 }] }),
    fail: async () => {
      query.handleError(new Error('no'))
      query.handleReadyForQuery()
      await expect(batch.answer.promise).rejects.toThrow('no')
    },
    end: async () => {
      query.handleDataRow({ fields: ['7'] })
      query.handleCommandComplete({ text: 'SELECT 1' })
      query.handleReadyForQuery()
      const [found] = await batch.answer.promise
      return found
    },
  }
}

/** Asks a server that answers with `name`. Tells whether that was asked for a description of its rows. */
async function ask(
  prepared: Prepared,
  text: string,
  name: string,
): Promise<{ readonly isDescribed: boolean; readonly found: Found | undefined }> {
  const { isDescribed, describe, end } = send(prepared, text)
  if (isDescribed) describe(name)
  return { isDescribed, found: await end() }
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

test('rows of which no description was asked are read, although the query that was described fails before they come', async () => {
  const prepared = new Prepared(true)
  const first = send(prepared, 'SELECT seven')
  first.describe('seven')
  const second = send(prepared, 'SELECT seven')
  expect(second.isDescribed).toBe(false)
  await first.fail()
  expect(prepared.columnsOf('SELECT seven')).toBeUndefined()
  expect(await second.end()).toEqual({ fields: ['seven'], rows: [[7]], command: 'SELECT 1' })
})

test('a query whose rows come without a description fails, as on a lost connection, unless nobody reads them', async () => {
  await expect(send(new Prepared(true), 'SELECT seven').end()).rejects.toMatchObject({ code: '08P01' })
  expect(await send(new Prepared(true), 'SELECT seven', true).end()).toMatchObject({ rows: [] })
})

import { join } from 'node:path'
import type { ExecutionStore } from '@ku0/agent-runtime-core'
import { Client } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { backupStore, openStore, verifyStore } from '../../src/index.ts'
import { startPostgres, type StartedPostgres } from '../../../agent-gym/src/place/postgres-server.ts'
import { CuttingProxy } from '../helpers/cutting-proxy.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

const config = { queueDepthLimit: 10_000, batchBackpressureThreshold: 10_000 }

/** A primary, a standby that follows it without being waited for, and the one address by which programs reach whichever is in charge. */
interface Pair {
  readonly primary: StartedPostgres
  readonly standby: StartedPostgres
  readonly address: CuttingProxy
  /** The standby hears of nothing more. */
  readonly cutOff: () => void
  /** Resolves once the standby has all that the primary has. */
  readonly caughtUp: () => Promise<void>
  /** How many connections of processes the standby has. */
  readonly connections: () => Promise<number>
  /** The address leads to the standby. */
  readonly move: () => void
  /** The standby is in charge. */
  readonly promote: () => Promise<void>
}

async function newPair(): Promise<Pair> {
  const primary = await startPostgres({ fsync: false })
  onTestFinished(primary.stop)
  const link = await CuttingProxy.start(primary.url)
  const standby = await primary.standby(Number(new URL(link.url).port))
  onTestFinished(standby.stop)
  const address = await CuttingProxy.start(`${primary.url}?schema=shared`)
  return {
    primary,
    standby,
    address,
    cutOff: () => {
      link.isDown = true
      link.cutAll()
    },
    caughtUp: async () => {
      const end = String(await ask(primary, 'SELECT pg_current_wal_flush_lsn()'))
      await expect.poll(() => ask(standby, `SELECT pg_last_wal_replay_lsn() >= '${end}'`)).toBe(true)
    },
    move: () => {
      address.target = `${standby.url}?schema=shared`
      address.cutAll()
    },
    connections: async () =>
      Number(
        await ask(
          standby,
          "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'agent-runtime %'",
        ),
      ),
    promote: async () => {
      expect(await ask(standby, 'SELECT pg_promote()')).toBe(true)
    },
  }
}

async function ask(server: StartedPostgres, text: string): Promise<unknown> {
  const client = new Client({ connectionString: server.url })
  await client.connect()
  const { rows } = await client.query({ text, rowMode: 'array' })
  await client.end()
  return (rows as unknown[][])[0]?.[0]
}

function submit(store: ExecutionStore, key: string) {
  return store.write({
    kind: 'submit',
    tasks: [{ type: 'work', lane: 'normal', input: 'null', idempotencyKey: key }],
  })
}

const accepted = [{ accepted: true, deduplicated: false }]

async function open(url: string, options: { readonly acceptLoss?: boolean } = {}) {
  const store = await openStore(url, { config, thread: false, ...options })
  const failures: unknown[] = []
  store.listen({ failed: (error) => void failures.push(error) })
  return { store, failures }
}

test('D20 a fail-over that loses nothing: calls that come meanwhile wait until the standby is promoted, and each happens once', async () => {
  const pair = await newPair()
  const { store, failures } = await open(pair.address.url)
  expect(await submit(store, 'before')).toMatchObject(accepted)
  await pair.caughtUp()
  await pair.primary.crash()
  // The address leads to a server that does not take writes yet.
  const { connections } = pair.address
  const since = performance.now()
  pair.move()
  const during = submit(store, 'during')
  // Its answer is awaited below.
  during.catch(() => undefined)
  await expect.poll(() => pair.address.connections - connections).toBeGreaterThan(8)
  // It begins no commit there: all that the standby refuses is to tell of commits.
  const refused = pair.standby.log().match(/(?<=STATEMENT: +)\w+/g) ?? []
  expect(new Set(refused)).toEqual(new Set(['LISTEN']))
  // It tries less and less often, and leaves no connection open there.
  // The pauses alone take more than a second.
  expect(performance.now() - since).toBeGreaterThan(1_000)
  expect(await pair.connections()).toBeLessThanOrEqual(3)
  await pair.promote()
  expect(await during).toMatchObject(accepted)
  expect(await submit(store, 'before')).toMatchObject([{ accepted: true, deduplicated: true }])
  expect(failures).toEqual([])
  await store.close()
  expect(await verifyStore(`${pair.standby.url}?schema=shared`)).toMatchObject({ ok: true, tasks: 2 })
})

test('D20 a promoted standby without the last commits: a process that has seen them stops with store_data_loss', async () => {
  const pair = await newPair()
  const { store, failures } = await open(pair.address.url)
  await submit(store, 'kept')
  await pair.caughtUp()
  pair.cutOff()
  expect(await submit(store, 'lost')).toMatchObject(accepted)
  await pair.primary.crash()
  await pair.promote()
  pair.move()
  const loss = { code: 'store_data_loss' }
  await expect(submit(store, 'after')).rejects.toMatchObject(loss)
  expect(failures).toMatchObject([loss])
  await expect(submit(store, 'later')).rejects.toMatchObject(loss)
  await store.close()
  // It has told those that start afterwards.
  const found = { kind: 'lost_tail', anchored: 2, lastGood: 1 }
  await expect(open(pair.address.url)).rejects.toMatchObject({ ...loss, details: found })
  const verified = await verifyStore(pair.address.url)
  expect(verified).toMatchObject({ ok: false, faults: [{ what: 'row', where: 'meta, lost_commits' }] })
  const copy = join(scratchFolder(), 'copy.db')
  await expect(backupStore(pair.address.url, copy)).rejects.toMatchObject(loss)
  // Who accepts the loss goes on with what there is. Nothing of the refused calls was stored.
  const next = await open(pair.address.url, { acceptLoss: true })
  expect(next.store.info.acceptedLoss).toMatchObject(found)
  expect((await next.store.read({ kind: 'stats' })).totals.submitted).toBe(1)
  expect(await submit(next.store, 'lost')).toMatchObject(accepted)
  await next.store.close()
  const last = await open(pair.address.url)
  expect(last.store.info.acceptedLoss).toBeUndefined()
  await last.store.close()
  expect(await verifyStore(pair.address.url)).toMatchObject({ ok: true, tasks: 2 })
})

test('D20 a process that wakes up after a loss was accepted stops, and does not report that loss again', async () => {
  const pair = await newPair()
  const [early, late] = [await open(pair.address.url), await open(pair.address.url)]
  await submit(early.store, 'kept')
  await pair.caughtUp()
  pair.cutOff()
  for (const key of ['lost', 'lost too']) await submit(early.store, key)
  await submit(late.store, 'lost with them')
  await pair.primary.crash()
  await pair.promote()
  pair.move()
  const loss = { code: 'store_data_loss' }
  await expect(submit(early.store, 'after')).rejects.toMatchObject(loss)
  await early.store.close()
  const next = await open(pair.address.url, { acceptLoss: true })
  expect(next.store.info.acceptedLoss).toMatchObject({ lastGood: 1 })
  await expect(submit(late.store, 'after')).rejects.toMatchObject(loss)
  await late.store.close()
  expect(await submit(next.store, 'new')).toMatchObject(accepted)
  await next.store.close()
  await (await open(pair.address.url)).store.close()
})

test('D20 a promoted standby that has lost commits and got others since: a process that has seen the lost ones stops with store_data_loss', async () => {
  const pair = await newPair()
  const { store, failures } = await open(pair.address.url)
  await submit(store, 'kept')
  await pair.caughtUp()
  pair.cutOff()
  await submit(store, 'lost')
  await pair.primary.crash()
  await pair.promote()
  const other = await open(`${pair.standby.url}?schema=shared`)
  for (const key of ['one', 'two', 'three']) await submit(other.store, key)
  pair.move()
  await expect(submit(store, 'after')).rejects.toMatchObject({ code: 'store_data_loss' })
  expect(failures).toMatchObject([{ code: 'store_data_loss' }])
  expect((await other.store.read({ kind: 'stats' })).totals.submitted).toBe(4)
  await expect(open(pair.address.url)).rejects.toMatchObject({
    code: 'store_data_loss',
    details: { kind: 'other_history', anchored: 2, lastGood: 1 },
  })
  await Promise.all([store.close(), other.store.close()])
})

test('D20 a promoted standby that never heard of a process: it stops with store_data_loss, also if another has its number now', async () => {
  const pair = await newPair()
  await (await open(pair.address.url)).store.close()
  await pair.caughtUp()
  pair.cutOff()
  const { store, failures } = await open(pair.address.url)
  await pair.primary.crash()
  await pair.promote()
  const other = await open(`${pair.standby.url}?schema=shared`)
  pair.move()
  await expect(submit(store, 'after')).rejects.toMatchObject({ code: 'store_data_loss' })
  expect(failures).toMatchObject([{ code: 'store_data_loss' }])
  expect(await submit(other.store, 'other')).toMatchObject(accepted)
  await Promise.all([store.close(), other.store.close()])
})

test('D20 a primary that is set to take no writes: calls wait, and happen once when it takes them again', async () => {
  const server = await startPostgres({ fsync: false })
  onTestFinished(server.stop)
  const { store, failures } = await open(`${server.url}?schema=shared`)
  const client = new Client({ connectionString: server.url })
  await client.connect()
  await client.query('SET default_transaction_read_only TO off')
  const set = async (to: 'on' | 'off') => {
    await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${to}`)
    await client.query('SELECT pg_reload_conf()')
    // A connection that begins now comes after all others have been told.
    await expect.poll(() => ask(server, 'SHOW default_transaction_read_only'), { interval: 5 }).toBe(to)
  }
  expect(await submit(store, 'before')).toMatchObject(accepted)
  await set('on')
  const commits = `SELECT FROM pg_stat_activity WHERE application_name = 'agent-runtime commit'`
  const during = submit(store, 'during')
  // Its answer is awaited below.
  during.catch(() => undefined)
  // The connection that was refused a write is given up, and no other one is kept meanwhile.
  await expect.poll(async () => (await client.query(commits)).rowCount, { interval: 5 }).toBe(0)
  await set('off')
  expect(await during).toMatchObject(accepted)
  expect((await store.read({ kind: 'stats' })).totals.submitted).toBe(2)
  expect(failures).toEqual([])
  await Promise.all([client.end(), store.close()])
})

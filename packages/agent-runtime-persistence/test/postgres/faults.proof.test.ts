import type { Claim, ExecutionStore } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import type { Client } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { openStore, verifyStore } from '../../src/index.ts'
import { startPostgres } from '../../../agent-gym/src/place/postgres-server.ts'
import { CuttingProxy } from '../helpers/cutting-proxy.ts'
import { insisted } from '../helpers/insisted.ts'
import { type PostgresServer, sharedServer } from '../helpers/postgres-server.ts'
import { turns } from '../helpers/turns.ts'

const config = { queueDepthLimit: 10_000, batchBackpressureThreshold: 10_000, maxInFlightPerWorker: 50 }

interface Stage {
  readonly server: PostgresServer
  /** Of the store, at the server itself. */
  readonly url: string
  readonly client: Client
  /** What it sees changes while `client` is in a transaction. */
  readonly watcher: Client
}

async function newStage(options = ''): Promise<Stage> {
  const server = await sharedServer()
  const url = new URL(server.newStore())
  await (await openStore(url.href, { thread: false })).close()
  if (options !== '') url.searchParams.set('options', options)
  const [client, watcher] = [await server.connect(url.href), await server.connect(url.href)]
  onTestFinished(async () => void (await Promise.all([client.end(), watcher.end()])))
  return { server, url: url.href, client, watcher }
}

function submit(store: ExecutionStore, key: number) {
  return store.write({
    kind: 'submit',
    tasks: [{ type: 'work', lane: 'normal', input: 'null', idempotencyKey: `task ${key}` }],
  })
}

const once = <T>(ask: () => Promise<T>): Promise<T> => ask()

/**
 * Submits tasks one after the other in one process, which another one completes; `fault` comes with each of the submissions. `asks`: what a caller
 * does with a call that is refused.
 */
async function work(
  urls: readonly [string, string],
  tasks: number,
  fault: (n: number) => Promise<unknown>,
  asks: typeof once = once,
) {
  const [one, two] = [
    await openStore(urls[0], { config, thread: false }),
    await openStore(urls[1], { config, thread: false }),
  ]
  const done = Promise.withResolvers<void>()
  // It is awaited below, after a failure of the submissions perhaps never.
  done.promise.catch(() => undefined)
  let [credit, completed] = [20, 0]
  const complete = async (leaseId: string) => {
    const settlement = { as: 'completed', output: 'null' } as const
    await asks(() => two.write({ kind: 'settle', leaseId, settlement }))
    two.demand('w', (credit += 1))
    completed += 1
    if (completed === tasks) done.resolve()
  }
  two.listen({
    claimed: (claims) => {
      for (const { leaseId } of claims) complete(leaseId).catch(done.reject)
    },
  })
  await two.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 20, types: ['*'] }] })
  two.demand('w', credit)
  for (let n = 1; n <= tasks; n += 1) {
    const [answer] = await Promise.all([asks(() => submit(one, n)), fault(n)])
    expect(answer).toMatchObject([{ accepted: true, deduplicated: false }])
  }
  await done.promise
  const { totals } = await asks(() => one.read({ kind: 'stats' }))
  await Promise.all([one.close(), two.close()])
  expect(totals).toMatchObject({ submitted: tasks, completed: tasks })
}

const backends = `SELECT pid FROM pg_stat_activity WHERE application_name LIKE $1`

test('D13 T13 each connection of two processes is ended again and again by the server: every call is answered, and has happened once', async () => {
  const { url, client } = await newStage()
  const named = (name: string) => `${url}&application_name=${name}`
  const purposes = ['commit', 'read', 'listen'] as const
  let ended = 0
  await work([named('d13 one'), named('d13 two')], 120, async (n) => {
    if (n % 5 !== 0) return
    const { rows } = await client.query(`SELECT pg_terminate_backend(pid) FROM (${backends}) AS of_purpose`, [
      `d13 % ${purposes[n % purposes.length]}`,
    ])
    ended += rows.length
  })
  expect(ended).toBeGreaterThan(10)
  expect(await verifyStore(url)).toMatchObject({ ok: true, tasks: 120, faultCount: 0 })
})

test('D13 a process whose connection for listening was ended listens again', async () => {
  const { url, client } = await newStage()
  const store = await openStore(`${url}&application_name=d13`, { config, thread: false })
  const listening = async () => (await client.query(backends, ['d13 listen'])).rows as { pid: number }[]
  const [before] = await listening()
  await client.query('SELECT pg_terminate_backend($1)', [before?.pid])
  await expect.poll(async () => (await listening()).filter(({ pid }) => pid !== before?.pid).length).toBe(1)
  await store.close()
})

test('D14 the server is restarted again and again: every call is answered, and has happened once', async () => {
  const server = await startPostgres({ fsync: false })
  onTestFinished(server.stop)
  const url = `${server.url}?schema=d14`
  let restarts = 0
  const restart = async (n: number) => {
    if (n % 25 !== 10) return
    restarts += 1
    await server.restart()
  }
  // A busy machine takes more than the ten seconds for which a call waits: then the caller is refused, and asks again.
  await work([url, url], 100, restart, insisted)
  expect(restarts).toBe(4)
  expect(await verifyStore(url)).toMatchObject({ ok: true, tasks: 100, faultCount: 0 })
})

test('D15 T14 the connections of two processes are cut, each time after a commit has been sent: every call is answered, and has happened once', async () => {
  const { url } = await newStage()
  const proxies = [await CuttingProxy.start(url), await CuttingProxy.start(url)] as const
  const tasks = draws(24, 24, 60)
  await work([proxies[0].url, proxies[1].url], tasks, async (n) => {
    proxies[n % 2]?.cutNext('after the commit')
  })
  expect(proxies[0].cuts).toBeGreaterThan(tasks / 6)
  expect(proxies[1].cuts).toBeGreaterThan(tasks / 6)
  expect(await verifyStore(url)).toMatchObject({ ok: true, tasks, faultCount: 0 })
})

test('D16 the answer to a commit never comes, on a connection that looks alive: the call is answered over another one, and has happened once', async () => {
  const { url } = await newStage()
  const proxy = await CuttingProxy.start(url)
  const store = await openStore(proxy.url, { config, thread: false })
  const held = proxy.hold({ side: 'server', commits: 1 })
  const answer = submit(store, 1)
  await held.all
  held.drop()
  expect(await answer).toMatchObject([{ accepted: true, deduplicated: false }])
  expect((await store.read({ kind: 'stats' })).totals.submitted).toBe(1)
  await store.close()
})

test('D16 the commit of a process that holds the head never reaches the server: another process goes on before its calls are refused', async () => {
  const { url, watcher } = await newStage()
  const proxy = await CuttingProxy.start(`${url}&application_name=d16`)
  const [one, two] = [
    await openStore(proxy.url, { config, thread: false }),
    await openStore(url, { config, thread: false }),
  ]
  // With its first call it finds that the other has committed: so it locks the head before it decides the second one.
  await submit(two, 1)
  await submit(one, 2)
  await expect.poll(() => turns(watcher), { interval: 5 }).toEqual([])
  const held = proxy.hold({ side: 'client', commits: 1 })
  const late = submit(one, 3)
  await held.first
  held.drop()
  const holding = `SELECT FROM pg_stat_activity WHERE application_name = 'd16 commit' AND state = 'idle in transaction'`
  expect((await watcher.query(holding)).rows).toHaveLength(1)
  expect(await turns(watcher)).toHaveLength(1)
  expect(await submit(two, 4)).toMatchObject([{ accepted: true, deduplicated: false }])
  expect(await late).toMatchObject([{ accepted: true, deduplicated: false }])
  expect((await one.read({ kind: 'stats' })).totals.submitted).toBe(4)
  await Promise.all([one.close(), two.close()])
})

test('D24 a network on which each answer takes 200 ms: the queue drains, and no lease is lost', async () => {
  const { url } = await newStage()
  const proxy = await CuttingProxy.start(url)
  const leases = { leaseTtlMs: 6_000, heartbeatIntervalMs: 1_000 }
  const store = await openStore(proxy.url, {
    config: parseExecutionConfig({ ...config, ...leases }).config,
    thread: false,
  })
  const notices: unknown[] = []
  const claims: Claim[] = []
  store.listen({
    claimed: (more) => void claims.push(...more),
    noticed: (more) => void notices.push(...more),
  })
  const end = ({ leaseId }: Claim) =>
    store.write({ kind: 'settle', leaseId, settlement: { as: 'completed', output: 'null' } })
  await store.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 4, types: ['*'] }] })
  store.demand('w', 4)
  proxy.delayMs = 200
  const begun = performance.now()
  await Promise.all(Array.from({ length: 16 }, (_, n) => submit(store, n)))
  expect(performance.now() - begun).toBeGreaterThan(190)
  await expect.poll(() => claims.length).toBeGreaterThan(0)
  const held = claims[0] as Claim
  for (let next = 1; next < 16; next += 1) {
    await expect.poll(() => notices.length > 0 || claims.length > next).toBe(true)
    expect(notices).toEqual([])
    await end(claims[next] as Claim)
    store.demand('w', Math.min(16, 4 + next))
  }
  // It was renewed when it had been held for longer than a lease lasts that is not renewed.
  const expiresAt = async () => (await store.read({ kind: 'leases', taskId: held.taskId }))[0]?.expiresAt ?? 0
  const isRenewed = async () => (await expiresAt()) > held.expiresAt + leases.leaseTtlMs
  // Calls wait at every turn, and the renewal goes with them.
  for (let n = 16; notices.length === 0 && !(await isRenewed()); n += 4)
    await Promise.all([0, 1, 2, 3].map((more) => submit(store, n + more)))
  expect(notices).toEqual([])
  await end(held)
  expect((await store.read({ kind: 'stats' })).totals).toMatchObject({
    completed: 16,
    expired: 0,
    requeued: 0,
  })
  await store.close()
  expect(await verifyStore(url)).toMatchObject({ ok: true, faultCount: 0 })
})

test.each([
  { what: 'statement_timeout', options: '-c statement_timeout=500' },
  { what: 'the limit of time for a lock', options: '' },
])(
  'D18 another program holds the head for longer than $what: the call is answered once it lets go',
  async ({ options }) => {
    const { url, client, watcher } = await newStage(options)
    const store = await openStore(url, { config, thread: false })
    await client.query('SET statement_timeout TO 0; BEGIN; SELECT FROM head FOR UPDATE')
    const answer = submit(store, 1)
    // The server has given the statement up, and the store has asked again.
    const starts = new Set<string>()
    const look = async () => {
      for (const { start } of await waiting(watcher)) starts.add(start.toISOString())
      return starts.size
    }
    await expect.poll(look, { interval: 20 }).toBeGreaterThan(1)
    await client.query('COMMIT')
    expect(await answer).toMatchObject([{ accepted: true, deduplicated: false }])
    expect((await store.read({ kind: 'stats' })).totals.submitted).toBe(1)
    await store.close()
  },
)

test('D18 a call waits for a lock for longer than the server allows a transaction', async () => {
  const { url, client, watcher } = await newStage()
  const hasLimit = `SELECT FROM pg_settings WHERE name = 'transaction_timeout'`
  const limited = new URL(url)
  // PostgreSQL 17 and later.
  if ((await client.query(hasLimit)).rows.length > 0)
    limited.searchParams.set('options', '-c transaction_timeout=200')
  const store = await openStore(limited.href, { config, thread: false })
  await client.query('BEGIN; SELECT FROM head FOR UPDATE')
  const answer = submit(store, 1)
  await expect.poll(async () => (await waiting(watcher)).length, { interval: 5 }).toBe(1)
  const [before] = await waiting(watcher)
  await client.query('SELECT pg_sleep(0.5)')
  // It waits still, and did not ask again.
  expect(await waiting(watcher)).toEqual([before])
  await client.query('COMMIT')
  expect(await answer).toMatchObject([{ accepted: true, deduplicated: false }])
  await store.close()
})

test('D18 a deadlock with another program ends the flush, which is done again', async () => {
  const { url, client, watcher } = await newStage('-c deadlock_timeout=100')
  const store = await openStore(url, { config, thread: false })
  await submit(store, 1)
  const before = await deadlocks(client)
  // The store locks the head first, and this program after the totals.
  await client.query('SET deadlock_timeout TO 60000; BEGIN; UPDATE totals SET id = id')
  const answer = submit(store, 2)
  await expect.poll(async () => (await waiting(watcher)).length, { interval: 5 }).toBe(1)
  await client.query('SELECT FROM head FOR UPDATE')
  await client.query('COMMIT')
  expect(await answer).toMatchObject([{ accepted: true, deduplicated: false }])
  // The server counts late.
  await expect.poll(() => deadlocks(client)).toBeGreaterThan(before)
  expect((await store.read({ kind: 'stats' })).totals.submitted).toBe(2)
  await store.close()
})

/** The statements of stores that wait for a lock. */
async function waiting(client: Client): Promise<readonly { readonly start: Date }[]> {
  const { rows } = await client.query(
    `SELECT query_start AS start FROM pg_stat_activity WHERE application_name = 'agent-runtime commit' AND wait_event_type = 'Lock'`,
  )
  return rows as { start: Date }[]
}

async function deadlocks(client: Client): Promise<number> {
  const { rows } = await client.query(
    'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
  )
  return Number((rows[0] as { deadlocks: string }).deadlocks)
}

test('D18 T15 processes open a store at the isolation serializable while another one commits', async () => {
  const { url } = await newStage('-c default_transaction_isolation=serializable')
  const one = await openStore(url, { config, thread: false })
  const writing = new AbortController()
  const write = async () => {
    for (let n = 0; !writing.signal.aborted; n += 1) await submit(one, n)
  }
  const written = write()
  for (let n = 0; n < 20; n += 1) await (await openStore(url, { config, thread: false })).close()
  writing.abort()
  await written
  await one.close()
  expect(await verifyStore(url)).toMatchObject({ ok: true, faultCount: 0 })
})

test.each([
  ['others that open it', 'SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))'],
  ['the commits of those that have it open', 'SELECT 1 FROM head, (SELECT $1::text) it FOR UPDATE OF head'],
])('D18 a process that opens a store waits longer for %s than a commit would', async (_, lock) => {
  const { url, client } = await newStage()
  const schema = new URL(url).searchParams.get('schema') ?? ''
  await client.query('BEGIN')
  await client.query(lock, [`ku0 ${schema}`])
  const released = client.query('SELECT pg_sleep(6)').then(() => client.query('ROLLBACK'))
  const store = await openStore(url, { config, thread: false })
  expect(store.info.kind).toBe('postgres')
  await store.close()
  await released
})

test.each(['repeatable read', 'serializable'])(
  'D18 T15 two processes work at the isolation %s, which a server may have as its default: what fails to serialize is done again',
  async (level) => {
    const { url } = await newStage(`-c default_transaction_isolation=${level.replace(' ', '\\ ')}`)
    await work([url, url], 60, () => Promise.resolve())
    expect(await verifyStore(url)).toMatchObject({ ok: true, tasks: 60, faultCount: 0 })
  },
)

import { describe, expect, onTestFinished, test } from 'vitest'
import { openStore, verifyStore } from '../../src/index.ts'
import { type PostgresServer, sharedServer } from '../helpers/postgres-server.ts'

const task = { type: 'work', lane: 'normal', input: 'null' } as const

test('processes that open a new store at the same moment share it', async () => {
  const url = (await sharedServer()).newStore()
  const stores = await Promise.all([1, 2, 3].map(() => openStore(url, { thread: false })))
  expect(new Set(stores.map(({ info }) => info.storeId)).size).toBe(1)
  const receipts = await Promise.all(
    stores.map((store) => store.write({ kind: 'submit', tasks: [{ ...task, idempotencyKey: 'one' }] })),
  )
  expect(new Set(receipts.map(([receipt]) => receipt?.taskId)).size).toBe(1)
  await Promise.all(stores.map((store) => store.close()))
  expect(await verifyStore(url)).toMatchObject({ faults: [], ok: true, tasks: 1 })
})

test('a schema of a later version is refused by an open store and by one that opens, and keeps its rows', async () => {
  const server = await sharedServer()
  const url = server.newStore()
  const store = await openStore(url, { thread: false })
  await store.write({ kind: 'submit', tasks: [task] })
  const client = await server.connect(url)
  await client.query('UPDATE head SET schema = schema + 1, oldest = schema + 1')
  await expect(store.write({ kind: 'submit', tasks: [task] })).rejects.toMatchObject({ code: 'store_newer' })
  await store.close()
  await expect(openStore(url, { thread: false })).rejects.toMatchObject({ code: 'store_newer' })
  expect((await client.query('SELECT count(*)::int AS tasks FROM task')).rows).toEqual([{ tasks: 1 }])
  await client.end()
})

test('a store that has to exist is neither made nor migrated, in this thread and in its own', async () => {
  const server = await sharedServer()
  const url = server.newStore()
  const schema = new URL(url).searchParams.get('schema') ?? ''
  const client = await server.connect(url)
  for (const thread of [false, true])
    await expect(openStore(url, { existing: true, thread })).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringMatching(`^there is no store at postgres://.*schema=${schema}$`) as string,
    })
  const made = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])
  expect(made.rows).toEqual([])
  await (await openStore(url, { thread: false })).close()
  await (await openStore(url, { existing: true, thread: false })).close()
  await client.query('UPDATE head SET schema = 1')
  await expect(openStore(url, { existing: true, thread: false })).rejects.toMatchObject({
    code: 'store_schema',
    message: expect.stringContaining('was made by an older version (schema 1, ') as string,
  })
  expect((await client.query('SELECT schema::int FROM head')).rows).toEqual([{ schema: 1 }])
  await client.end()
})

describe('a process that opens a store beside others', () => {
  /** Keeps the second process of a store from showing itself, which it does before its row is written. */
  const pausedSecond = async () => {
    const server = await sharedServer()
    const url = server.newStore()
    const config = { queueDepthLimit: 7, batchBackpressureThreshold: 7 }
    const first = await openStore(url, { config, thread: false })
    const client = await server.connect(url)
    const schema = new URL(url).searchParams.get('schema') ?? ''
    const lock = `(hashtext('ku0 process ${schema}'), 2)`
    await client.query(`SELECT pg_advisory_lock${lock}`)
    const second = openStore(url, { config, thread: false })
    const waiting = async () =>
      (await client.query("SELECT FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND objid = 2"))
        .rowCount
    await expect.poll(waiting).toBe(1)
    const goOn = async () => {
      await client.query(`SELECT pg_advisory_unlock${lock}`)
      await client.end()
      return await second
    }
    return { url, first, goOn }
  }

  test('holds none of their commits up', async () => {
    const { first, goOn } = await pausedSecond()
    expect(await first.write({ kind: 'submit', tasks: [task] })).toMatchObject([{ accepted: true }])
    const second = await goOn()
    expect(await second.read({ kind: 'stats' })).toMatchObject({ totals: { submitted: 1 } })
    await Promise.all([first.close(), second.close()])
  })

  test('begins again where the last process that states its settings ends meanwhile', async () => {
    const { url, first, goOn } = await pausedSecond()
    await first.close()
    const second = await goOn()
    const third = await openStore(url, { thread: false })
    const { configurations } = await third.read({ kind: 'stats' })
    expect(configurations).toMatchObject([
      { inForce: true, processes: [{ processId: second.info.processId }] },
    ])
    expect(await second.write({ kind: 'submit', tasks: [task] })).toMatchObject([{ accepted: true }])
    await Promise.all([second.close(), third.close()])
    expect(await verifyStore(url)).toMatchObject({ faults: [], ok: true, tasks: 1 })
  })
})

test('a process that waits for the commits of others dates its row when that is written, so that it does not look silent at once', async () => {
  const server = await sharedServer()
  const url = server.newStore()
  const first = await openStore(url, { thread: false })
  const client = await server.connect(url)
  const time = async () =>
    (await client.query('SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at')).rows[0]
      .at as number
  const watcher = await server.connect(url)
  const waiting = async () =>
    (
      await watcher.query(
        "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%head%'",
      )
    ).rowCount
  await client.query('BEGIN; SELECT FROM head FOR UPDATE')
  const second = openStore(url, { thread: false })
  await expect.poll(waiting).toBe(1)
  const until = (await time()) + 50
  await expect.poll(time).toBeGreaterThan(until)
  await client.query('COMMIT')
  const { processId } = (await second).info
  const { rows } = await client.query(
    'SELECT last_seen_at::float8 AS at FROM process WHERE process_id = $1',
    [processId],
  )
  expect(rows[0].at).toBeGreaterThanOrEqual(until)
  await Promise.all([first.close(), (await second).close(), client.end(), watcher.end()])
})

test('the tests run on the release of PostgreSQL that was asked for', async () => {
  const store = await openStore((await sharedServer()).newStore(), { thread: false })
  const release = process.env['KU0_TEST_POSTGRES_RELEASE'] ?? '18'
  // A server that was given may be of any.
  const wanted = process.env['KU0_TEST_POSTGRES_URL'] === undefined ? `${release}.` : ''
  expect(store.info.versions['postgres']?.startsWith(wanted)).toBe(true)
  await store.close()
})

describe('a role that may only connect', () => {
  test('works in a schema that it owns, and nowhere else', async () => {
    const server = await sharedServer()
    const { name, url } = await roleWithSchema(server)
    const store = await openStore(url, { thread: false })
    expect(await store.write({ kind: 'submit', tasks: [task] })).toMatchObject([{ accepted: true }])
    await store.close()
    const elsewhere = new URL(url)
    elsewhere.searchParams.set('schema', `${name}_other`)
    await expect(openStore(elsewhere.href, { thread: false })).rejects.toMatchObject({
      code: 'store_read_only',
    })
  })
})

describe('a role without a table of its own', () => {
  /** A store that its owner has made, and the URL of another role with some rights on its tables. */
  async function guest(rights: string) {
    const server = await sharedServer()
    const owner = server.newStore()
    await (await openStore(owner, { thread: false })).close()
    const schema = new URL(owner).searchParams.get('schema') ?? ''
    const client = await server.connect(owner)
    onTestFinished(() => client.end())
    await client.query(
      `CREATE ROLE ${schema} LOGIN PASSWORD 'secret'; GRANT USAGE ON SCHEMA ${schema} TO ${schema};
       GRANT ${rights} ON ALL TABLES IN SCHEMA ${schema} TO ${schema}`,
    )
    const url = new URL(owner)
    url.username = schema
    url.password = 'secret'
    return { url: url.href, owner, client }
  }

  test('runs and deletes tasks with the right to read and write rows, and leaves migrations to the owner', async () => {
    const { url, owner, client } = await guest('SELECT, INSERT, UPDATE, DELETE')
    const config = { retention: { completed: { count: 1 } } }
    const store = await openStore(url, { config, thread: false })
    // It states other settings.
    const other = await openStore(url, { config: { ...config, maxDelayed: 7 }, thread: false })
    const leases: string[] = []
    const all = Promise.withResolvers<void>()
    other.listen({
      claimed: (claims) => {
        if (leases.push(...claims.map(({ leaseId }) => leaseId)) === 3) all.resolve()
      },
    })
    await other.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 3, types: ['*'] }] })
    other.demand('w', 3)
    await store.write({ kind: 'submit', tasks: [task, task, task] })
    await all.promise
    const [first = '', second = ''] = leases
    const settlement = { as: 'completed', output: 'null' } as const
    for (const leaseId of [first, second])
      expect(await other.write({ kind: 'settle', leaseId, settlement })).toBe('ok')
    const newest = [{ state: 'completed', count: 1, from: 2 }] as const
    expect(await store.write({ kind: 'prune', tasks: [1, 2, 3], newest })).toMatchObject({
      pruned: { completed: 1 },
    })
    await Promise.all([store.close(), other.close()])
    expect(await verifyStore(url)).toMatchObject({ ok: true, faults: [] })

    // As it was before the last migration.
    await client.query('DROP INDEX event_fallback; UPDATE head SET schema = schema - 1')
    await expect(openStore(url, { thread: false })).rejects.toMatchObject({ code: 'store_read_only' })
    await (await openStore(owner, { thread: false })).close()
    await (await openStore(url, { thread: false })).close()
  })

  test('verifies and copies a store with the right to read rows', async () => {
    const { url } = await guest('SELECT')
    expect(await verifyStore(url)).toMatchObject({ ok: true, faults: [] })
    await expect(openStore(url, { thread: false })).rejects.toMatchObject({ code: 'store_read_only' })
  })
})

async function roleWithSchema(server: PostgresServer): Promise<{ name: string; url: string }> {
  const url = new URL(server.newStore())
  const name = url.searchParams.get('schema') ?? ''
  const client = await server.connect(url.href)
  await client.query(
    `CREATE ROLE ${name} LOGIN PASSWORD 'secret'; CREATE SCHEMA ${name} AUTHORIZATION ${name}`,
  )
  await client.end()
  url.username = name
  url.password = 'secret'
  return { name, url: url.href }
}

test('behind a pooler that hands on connections the same calls work', async () => {
  const server = await sharedServer()
  const url = `${server.newStore()}&pooler=transaction`
  const [one, two] = [await openStore(url, { thread: false }), await openStore(url, { thread: false })]
  await one.write({ kind: 'submit', tasks: [{ ...task, idempotencyKey: 'k' }] })
  expect(await two.write({ kind: 'submit', tasks: [{ ...task, idempotencyKey: 'k' }] })).toMatchObject([
    { deduplicated: true },
  ])
  expect(await one.read({ kind: 'stats' })).toMatchObject({ totals: { submitted: 1 } })
  await Promise.all([one.close(), two.close()])
  expect(await verifyStore(url)).toMatchObject({ faults: [], ok: true, tasks: 1 })
})

import type { ExecutionStore } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Client } from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openStore, verifyStore } from '../../src/index.ts'
import { openInlinePostgres } from '../../src/line/inline-postgres.ts'
import { chainDigest, systemEnvironment } from '../../src/system.ts'
import { type PostgresServer, sharedServer } from '../helpers/postgres-server.ts'

async function newStage(options = '') {
  const server = await sharedServer()
  const url = new URL(server.newStore())
  url.searchParams.set('application_name', url.searchParams.get('schema') ?? '')
  if (options !== '') url.searchParams.set('options', options)
  const client = await server.connect(url.href)
  onTestFinished(() => client.end())
  return { server, url: url.href, schema: url.searchParams.get('schema') ?? '', client }
}

function submit(store: ExecutionStore, idempotencyKey: string) {
  return store.write({
    kind: 'submit',
    tasks: [{ type: 'work', lane: 'normal', input: '"Žluťoučký kůň 🦄"', idempotencyKey }],
  })
}

const accepted = [{ accepted: true, deduplicated: false }]

describe('D19 a server without a connection left', () => {
  test('turns away a process that starts, with what to do, and lets one that has lost its connection wait', async () => {
    const { server, url, schema, client } = await newStage()
    await client.query(
      `CREATE ROLE ${schema} LOGIN PASSWORD 'secret' CONNECTION LIMIT 3; CREATE SCHEMA ${schema} AUTHORIZATION ${schema}`,
    )
    const own = new URL(url)
    own.username = schema
    own.password = 'secret'
    const store = await openStore(own.href, { thread: false })
    await store.read({ kind: 'stats' })
    await expect(openStore(own.href, { thread: false })).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(/too many connections.*raise max_connections/) as string,
    })
    const taker = await taken(server, own, client, `${schema} commit`)
    const waiting = submit(store, 'one')
    let isAnswered = false
    void waiting.finally(() => (isAnswered = true))
    // The process asks for a connection again and again.
    await client.query('SELECT pg_sleep(1)')
    expect(isAnswered).toBe(false)
    await taker.end()
    expect(await waiting).toMatchObject(accepted)
    await store.close()
  })
})

/** Ends a connection, and takes its place. */
async function taken(server: PostgresServer, url: URL, client: Client, name: string): Promise<Client> {
  const place = new URL(server.url)
  place.username = url.username
  place.password = url.password
  for (;;) {
    await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [
      name,
    ])
    const taker = new Client({ connectionString: place.href })
    try {
      await taker.connect()
      return taker
    } catch {
      // The process was faster.
    }
  }
}

/** What the connections of a process are for, as the server names them. */
async function purposes({ client, schema }: Awaited<ReturnType<typeof newStage>>): Promise<string[]> {
  const text = `SELECT application_name FROM pg_stat_activity WHERE application_name LIKE '${schema} %'`
  const { rows } = await client.query<{ application_name: string }>(text)
  return rows.map(({ application_name }) => application_name.slice(schema.length + 1)).toSorted()
}

test.each([
  ['', ['commit', 'listen', 'read']],
  ['&pooler=transaction', ['commit', 'read']],
])(
  'a process has the same few connections however much is asked of it at once (%s)',
  async (option, expected) => {
    const stage = await newStage()
    const store = await openStore(stage.url + option, { thread: false })
    const seen = new Set<string>()
    const calls = Array.from({ length: 100 }, (_, n) => [
      submit(store, `task ${n}`),
      store.read({ kind: 'stats' }),
      store.read({ kind: 'tasks', filter: {} }),
    ])
    const asked = { isOpen: true }
    const all = Promise.all(calls.flat()).finally(() => (asked.isOpen = false))
    do seen.add(String(await purposes(stage)))
    while (asked.isOpen)
    await all
    expect(await purposes(stage)).toEqual(expected)
    // On its way each is there once, or not yet.
    for (const found of seen) expect(expected.join()).toContain(found)
    await store.close()
  },
)

test('idle_session_timeout of the server does not end the connections of a process', async () => {
  const { url, schema, client } = await newStage('-c idle_session_timeout=200')
  const store = await openStore(url, { thread: false })
  await store.read({ kind: 'stats' })
  const text = `SELECT pid FROM pg_stat_activity WHERE application_name LIKE '${schema} %' ORDER BY pid`
  const before = (await client.query(text)).rows
  await client.query('SELECT pg_sleep(1)')
  expect((await client.query(text)).rows).toEqual(before)
  expect(before).toHaveLength(3)
  await store.close()
})

test('D03 a server that has no room for a row refuses the call with store_full, keeps nothing of it, and goes on when there is room', async () => {
  const { url, client } = await newStage()
  const store = await openStore(url, { thread: false })
  await submit(store, 'before')
  await client.query(
    `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
     CREATE TRIGGER full_disk BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION full_disk()`,
  )
  await expect(submit(store, 'during')).rejects.toMatchObject({
    code: 'store_full',
    message: expect.stringContaining('No space left on device') as string,
  })
  expect((await store.read({ kind: 'stats' })).totals.submitted).toBe(1)
  await client.query('DROP TRIGGER full_disk ON event; DROP FUNCTION full_disk()')
  expect(await submit(store, 'during')).toMatchObject(accepted)
  await store.close()
  expect(await verifyStore(url)).toMatchObject({ ok: true, tasks: 2 })
})

test('D03 a server that has no room for the renewal of an idle worker stops nobody', async () => {
  const { url, client } = await newStage()
  const { config } = parseExecutionConfig({ leaseTtlMs: 2_000, heartbeatIntervalMs: 200 })
  const store = await openStore(url, { thread: false, config })
  await store.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 1, types: ['*'] }] })
  // A sequence counts also what is rolled back.
  await client.query(
    `CREATE SEQUENCE tried; CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('tried'); RAISE 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
     CREATE TRIGGER full_disk BEFORE UPDATE ON worker FOR EACH ROW EXECUTE FUNCTION full_disk()`,
  )
  const tried = async () =>
    Number((await client.query<{ last_value: string }>('SELECT last_value FROM tried')).rows[0]?.last_value)
  await expect.poll(tried).toBeGreaterThan(3)
  await client.query('DROP TRIGGER full_disk ON worker; DROP FUNCTION full_disk()')
  expect(await submit(store, 'afterwards')).toMatchObject(accepted)
  await store.close()
})

test('C04 processes whose clocks are an hour ahead and an hour behind date by the clock of the server, delay by it, and leave each other their leases', async () => {
  const { url, client } = await newStage()
  const { config } = parseExecutionConfig({ leaseTtlMs: 60_000, heartbeatIntervalMs: 20_000 })
  const process = async (name: string, skewMs: number) => {
    const system = systemEnvironment()
    const clock = { now: () => system.clock.now() + skewMs, monotonic: () => system.clock.monotonic() }
    const { store } = await openInlinePostgres({
      url,
      config,
      environment: { ...system, clock },
      chain: chainDigest,
      identity: { processId: name, host: 'test', bootId: 'test', pid: 0 },
      isVirtual: false,
    })
    return store
  }
  const [ahead, behind] = [await process('ahead', 3_600_000), await process('behind', -3_600_000)]
  const claimed = Promise.withResolvers<string>()
  const lost: unknown[] = []
  ahead.listen({
    claimed: ([claim]) => claimed.resolve(claim?.leaseId ?? ''),
    noticed: (notices) => void lost.push(...notices),
  })
  await ahead.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 1, types: ['*'] }] })
  ahead.demand('w', 1)
  await submit(behind, 'one')
  const leaseId = await claimed.promise
  await submit(ahead, 'two')
  await submit(behind, 'three')
  const { rows } = await client.query(
    `SELECT max(abs(at - extract(epoch FROM clock_timestamp()) * 1000))::float AS farthest, count(*)::int AS events FROM journal`,
  )
  const [{ farthest, events }] = rows as [{ farthest: number; events: number }]
  expect(events).toBeGreaterThan(3)
  expect(farthest).toBeLessThan(60_000)
  expect(lost).toEqual([])
  const [delayMs, task] = [600_000, { type: 'later', lane: 'batch', input: '1' } as const]
  for (const store of [ahead, behind])
    expect(await store.write({ kind: 'submit', tasks: [{ ...task, delayMs }] })).toMatchObject(accepted)
  const delayed = await client.query(
    `SELECT (due_at - extract(epoch FROM clock_timestamp()) * 1000)::float AS left FROM task WHERE due_at IS NOT NULL`,
  )
  expect(delayed.rows).toHaveLength(2)
  for (const { left } of delayed.rows as { left: number }[])
    expect(Math.abs(left - delayMs)).toBeLessThan(60_000)
  expect(
    await ahead.write({ kind: 'settle', leaseId, settlement: { as: 'completed', output: 'null' } }),
  ).toBeTruthy()
  await Promise.all([ahead.close(), behind.close()])
  expect(await verifyStore(url)).toMatchObject({ ok: true, tasks: 5 })
})

describe('D21 a notice is only a hint', () => {
  test('thousands of notices that say nothing, and long ones, change nothing', async () => {
    const { url, schema, client } = await newStage()
    const [one, two] = [await openStore(url, { thread: false }), await openStore(url, { thread: false })]
    await client.query(
      `SELECT pg_notify($1, 'nobody ' || n) FROM generate_series(1, 10000) AS n; SELECT pg_notify('ku0_${schema}', repeat('x', 7999))`.replace(
        '$1',
        `'ku0_${schema}'`,
      ),
    )
    expect(await submit(one, 'a')).toMatchObject(accepted)
    expect(await submit(two, 'a')).toMatchObject([{ accepted: true, deduplicated: true }])
    await Promise.all([one.close(), two.close()])
    expect(await verifyStore(url)).toMatchObject({ ok: true, tasks: 1 })
  })

  test('without any, a task that one process submits is given to a worker of another within seconds', async () => {
    const { url } = await newStage()
    const pooled = `${url}&pooler=transaction`
    const [one, two] = [
      await openStore(pooled, { thread: false }),
      await openStore(pooled, { thread: false }),
    ]
    const claimed = Promise.withResolvers<string>()
    two.listen({ claimed: ([claim]) => claimed.resolve(claim?.taskId ?? '') })
    await two.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 1, types: ['*'] }] })
    two.demand('w', 1)
    const [receipt] = await submit(one, 'a')
    expect(await claimed.promise).toBe(receipt?.taskId)
    await Promise.all([one.close(), two.close()])
  })
})

test('D22 a session that keeps the lock of the migration holds others up for seconds: they are refused, and open once it is gone', async () => {
  const { url, schema, client } = await newStage()
  const lock = `hashtextextended('ku0 ${schema}', 0)`
  await client.query(`SELECT pg_advisory_lock(${lock})`)
  await expect(openStore(url, { thread: false })).rejects.toMatchObject({ code: 'store_busy' })
  await client.query(`SELECT pg_advisory_unlock(${lock})`)
  const store = await openStore(url, { thread: false })
  expect(await submit(store, 'a')).toMatchObject(accepted)
  await store.close()
})

test.each(['SQL_ASCII', 'LATIN1'])(
  'D23 a database that keeps text as %s is refused before anything is made in it',
  async (encoding) => {
    const { server, schema, client } = await newStage()
    const name = `${schema}_${encoding.toLowerCase()}`
    await client.query(
      `CREATE DATABASE ${name} ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
    )
    const url = new URL(server.url)
    url.pathname = name
    await expect(openStore(url.href, { thread: false })).rejects.toMatchObject({
      code: 'store_schema',
      message: expect.stringMatching(new RegExp(`${encoding}.*UTF8.*CREATE DATABASE`)) as string,
    })
    await client.query(`DROP DATABASE ${name} WITH (FORCE)`)
  },
)

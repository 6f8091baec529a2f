import { type ExecutionStore, StoreError, type Timers, type WriteKind } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import type { Client } from 'pg'
import { expect, test } from 'vitest'
import { openStore, verifyStore } from '../../src/index.ts'
import { additive, breaking, type Migration } from '../../src/migration.ts'
import { Connections } from '../../src/postgres/connection/connections.ts'
import { loadDriver } from '../../src/postgres/connection/driver.ts'
import { migrate } from '../../src/postgres/tables/migrate.ts'
import { patiently } from '../../src/postgres/opening-patience.ts'
import { migrations, schemaVersion } from '../../src/postgres/tables/schema.ts'
import { parsePostgresUrl } from '../../src/postgres/connection/url.ts'
import { systemEnvironment } from '../../src/system.ts'
import { addition, breach, marking } from '../helpers/later-version.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { newPostgresStore, quiet } from '../helpers/postgres-store.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'
import { deeds, settingsOfDeeds } from '../helpers/writes-of-every-kind.ts'

interface Newer {
  readonly besides?: string
  /** The monotonic clock. */
  readonly mono?: () => number
  readonly timers?: Timers
}

/** A later program, as it opens the store: it brings the tables up to date in one transaction, under the lock of every commit. */
async function newer(
  url: string,
  steps: readonly Migration[],
  {
    besides = '',
    mono = () => systemEnvironment().clock.monotonic(),
    timers = systemEnvironment().timers,
  }: Newer = {},
): Promise<void> {
  const place = parsePostgresUrl(url)
  const connections = new Connections(await loadDriver(), place, timers)
  const session = await connections.open('commit')
  try {
    await patiently(session, { connections, mono, hide: async () => undefined }, async () => {
      await session.run(`BEGIN; ${connections.prelude}`)
      await migrate(session, place, [...migrations, ...steps])
      await session.run(`${besides}; COMMIT`)
    })
  } finally {
    await session.end()
  }
}

test('J04 an older program makes each kind of write beside a later one that has only added', async () => {
  const server = await sharedServer()
  for (const kind of Object.keys(deeds) as WriteKind[]) {
    const url = server.newStore()
    await Scene.play(
      (setting) => newPostgresStore(setting.config, setting.environment, url),
      { digest: nodeDigest, quiet, config: settingsOfDeeds },
      async (scene) => {
        const { write, answer } = await deeds[kind](scene)
        await newer(url, [addition], { besides: marking })
        const found = await scene.write(write)
        expect({ kind, found }).toMatchObject({ kind, found: answer as object })
        await scene.accepted({ type: 'later' })
        expect({ kind, failures: scene.failures }).toEqual({ kind, failures: [] })
      },
    )
  }
})

test('J04 an older program answers what it has answered before once a later one has added columns', async () => {
  const url = (await sharedServer()).newStore()
  const store = await openStore(url, { thread: false })
  await store.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 1, types: ['*'] }] })
  const workers = () => store.read({ kind: 'workers' })
  expect(await workers()).toMatchObject([{ workerId: 'w' }])
  await newer(url, [addition])
  for (let n = 0; n < 3; n += 1) expect(await workers()).toMatchObject([{ workerId: 'w' }])
  await store.close()
})

test('J04 a program under load goes on while another brings the tables up to date, one starts, and a breach stops both', async () => {
  const url = (await sharedServer()).newStore()
  // Nobody works: the queue takes what comes however fast the machine is.
  const room = { queueDepthLimit: 1_000_000, batchBackpressureThreshold: 1_000_000 }
  const first = await openStore(url, { thread: false, config: room })
  const submit = (store: ExecutionStore, key: string) =>
    store.write({
      kind: 'submit',
      tasks: [{ type: 'work', lane: 'normal', input: 'null', idempotencyKey: key }],
    })
  const load = { accepted: 0, isOver: false }
  const loading = (async () => {
    try {
      while (!load.isOver) {
        const batch = Array.from({ length: 20 }, (_, n) => submit(first, `${load.accepted + n}`))
        const receipts = (await Promise.all(batch)).flat()
        expect(receipts.filter((receipt) => !receipt.accepted)).toEqual([])
        load.accepted += receipts.length
      }
    } finally {
      load.isOver = true
    }
  })()
  const reached = async (count: number) => {
    while (load.accepted < count && !load.isOver) await first.read({ kind: 'stats' })
  }
  await reached(100)
  for (let step = 1; step <= 5; step += 1) {
    const steps = Array.from({ length: step }, (_, n) =>
      additive(
        `ALTER TABLE task ADD COLUMN added${n} bigint NOT NULL DEFAULT 1; CREATE INDEX added${n} ON task (added${n})`,
      ),
    )
    await newer(url, steps)
    await reached(load.accepted + 40)
  }
  const second = await openStore(url, { thread: false })
  expect(await submit(second, '0')).toMatchObject([{ accepted: true, deduplicated: true }])
  load.isOver = true
  await loading
  expect(await second.read({ kind: 'stats' })).toMatchObject({ totals: { submitted: load.accepted } })
  await expect(verifyStore(url)).rejects.toMatchObject({
    code: 'store_newer',
    message: expect.stringContaining('check or copy it with the later version') as string,
  })
  const gone = Array.from({ length: 5 }, () => additive(''))
  await newer(url, [...gone, breaking('SELECT 1')])
  const refused = await submit(first, 'late').catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(StoreError)
  expect(refused).toMatchObject({
    code: 'store_newer',
    message: expect.stringContaining(
      `schema ${schemaVersion + 6}, for programs from schema ${schemaVersion + 6} on`,
    ) as string,
  })
  await expect(openStore(url, { thread: false })).rejects.toMatchObject({ code: 'store_newer' })
  await Promise.all([first.close(), second.close()])
})

test('J04 a later program that finds a table being read for long says so, and nobody stands still behind it', async () => {
  const server = await sharedServer()
  const url = server.newStore()
  const store = await openStore(url, { thread: false })
  const reader = await server.connect(url)
  await reader.query("SET application_name TO 'a report'; BEGIN; SELECT count(*) FROM task")
  const { rows } = await reader.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  let now = 0
  const refused = newer(url, [addition, breach], { mono: () => (now += 5_000) }).catch(
    (error: unknown) => error,
  )
  for (const input of ['1', '2', '3'])
    expect(
      await store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input }] }),
    ).toMatchObject([{ accepted: true }])
  expect(await refused).toMatchObject({
    code: 'store_busy',
    message: expect.stringMatching(
      `Connection ${rows[0]?.pid} of "a report" has had a transaction open on the table task for the longest time: let that end`,
    ) as string,
  })
  await reader.query('ROLLBACK')
  await reader.end()
  await newer(url, [addition])
  await store.close()
})

/** Whether somebody waits for the lock of a table. */
async function isAwaited(client: Client, table: string): Promise<boolean> {
  const { rowCount } = await client.query(
    'SELECT FROM pg_locks WHERE NOT granted AND relation = to_regclass($1)',
    [table],
  )
  return rowCount !== 0
}

test('J04 a later program and a transaction that reads the tables in another order wait for each other, and both go on', async () => {
  const server = await sharedServer()
  const url = server.newStore()
  await (await openStore(url, { thread: false })).close()
  const [reader, onlooker] = [await server.connect(url), await server.connect(url)]
  await reader.query('BEGIN; SELECT count(*) FROM task')
  const column = 'ADD COLUMN added bigint NOT NULL DEFAULT 1'
  const upgraded = newer(url, [additive(`ALTER TABLE lease ${column}; ALTER TABLE task ${column}`)])
  await expect.poll(() => isAwaited(onlooker, 'task')).toBe(true)
  // It has altered this one: each of the two waits for the other now.
  await reader.query('SELECT count(*) FROM lease; COMMIT')
  await upgraded
  expect((await reader.query('SELECT schema::int FROM head')).rows).toEqual([{ schema: schemaVersion + 1 }])
  await Promise.all([reader.end(), onlooker.end()])
})

test('J04 D19 a program that is ended by the server in a deadlock with one that alters tables does its work again', async () => {
  const server = await sharedServer()
  const url = server.newStore()
  const task = { type: 'work', lane: 'normal', input: 'null' } as const
  // Whoever has waited that long looks for a deadlock, and is ended if there is one.
  const store = await openStore(`${url}&options=-c%20deadlock_timeout%3D20ms`, { thread: false })
  await store.write({ kind: 'submit', tasks: [task] })
  const [other, pause, onlooker] = [
    await server.connect(url),
    await server.connect(url),
    await server.connect(url),
  ]
  await other.query("SET deadlock_timeout TO '1h'; BEGIN; LOCK TABLE budget")
  await pause.query('BEGIN; LOCK TABLE lease')
  const written = store.write({ kind: 'submit', tasks: [task] })
  // It reads when things come due: of tasks, leases, schedules and budgets.
  await expect.poll(() => isAwaited(onlooker, 'lease')).toBe(true)
  const locked = other.query('LOCK TABLE task')
  await expect.poll(() => isAwaited(onlooker, 'task')).toBe(true)
  await pause.query('ROLLBACK')
  await locked
  await other.query('ROLLBACK')
  expect(await written).toMatchObject([{ accepted: true }])
  await store.close()
  expect(await verifyStore(url)).toMatchObject({ faults: [], ok: true, tasks: 2 })
  await Promise.all([other.end(), pause.end(), onlooker.end()])
})

test('J04 a step of a migration may take longer than any other answer of the server', async () => {
  const server = await sharedServer()
  const url = server.newStore()
  await (await openStore(url, { thread: false })).close()
  const { timers } = systemEnvironment()
  // So an answer may take 150 ms in place of 15 s.
  const hasty: Timers = { after: (ms, run) => timers.after(ms / 100, run) }
  await newer(url, [additive('SELECT pg_sleep(1)')], { timers: hasty })
  const client = await server.connect(url)
  expect((await client.query('SELECT schema::integer FROM head')).rows).toEqual([
    { schema: schemaVersion + 1 },
  ])
  await client.end()
})

test('J04 a program whose workers are idle stops by itself after a breach', async () => {
  const url = (await sharedServer()).newStore()
  const { config } = parseExecutionConfig({ leaseTtlMs: 2_000, heartbeatIntervalMs: 200 })
  const store = await openStore(url, { thread: false, config })
  const failed = Promise.withResolvers<unknown>()
  store.listen({ claimed: () => undefined, noticed: () => undefined, failed: failed.resolve })
  await store.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 1, types: ['*'] }] })
  await newer(url, [breach])
  expect(await failed.promise).toMatchObject({ code: 'store_newer' })
  await store.close().catch(() => undefined)
})

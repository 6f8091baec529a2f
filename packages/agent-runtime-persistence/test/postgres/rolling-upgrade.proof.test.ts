import { type ExecutionStore, StoreError, type WriteKind } from '@ku0/agent-runtime-core'
import { Scene } from '@ku0/agent-runtime-conformance'
import { expect, test } from 'vitest'
import { openStore, verifyStore } from '../../src/index.ts'
import { additive, breaking, type Migration } from '../../src/migration.ts'
import { Connections } from '../../src/postgres/connections.ts'
import { loadDriver } from '../../src/postgres/driver.ts'
import { migrate } from '../../src/postgres/open.ts'
import { migrations, schemaVersion } from '../../src/postgres/schema.ts'
import { parsePostgresUrl } from '../../src/postgres/url.ts'
import { systemEnvironment } from '../../src/system.ts'
import { addition, breach, marking } from '../helpers/later-version.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { newPostgresStore, quiet } from '../helpers/postgres-store.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'
import { deeds, settingsOfDeeds } from '../helpers/writes-of-every-kind.ts'

/** A later program, as it opens the store: it brings the tables up to date in one transaction, under the lock of every commit. */
async function newer(url: string, steps: readonly Migration[], besides = ''): Promise<void> {
  const place = parsePostgresUrl(url)
  const connections = new Connections(await loadDriver(), place, systemEnvironment().timers)
  const session = await connections.open('commit')
  try {
    await session.run(`BEGIN; ${connections.prelude}`)
    await migrate(session, place, [...migrations, ...steps])
    await session.run(`${besides}; COMMIT`)
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
        await newer(url, [addition], marking)
        const found = await scene.write(write)
        expect({ kind, found }).toMatchObject({ kind, found: answer as object })
        await scene.accepted({ type: 'later' })
        expect({ kind, failures: scene.failures }).toEqual({ kind, failures: [] })
      },
    )
  }
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

test('J04 a later program that finds a table being read for long gives up, and nobody stands still behind it', async () => {
  const server = await sharedServer()
  const url = server.newStore()
  const store = await openStore(url, { thread: false })
  const reader = await server.connect(url)
  await reader.query('BEGIN; SELECT count(*) FROM task')
  await expect(newer(url, [addition, breach])).rejects.toMatchObject({ code: '55P03' })
  await reader.query('ROLLBACK')
  await reader.end()
  expect(
    await store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: 'null' }] }),
  ).toMatchObject([{ accepted: true }])
  await store.close()
})

import { expect, onTestFinished, test } from 'vitest'
import { openStore, probeServer, verifyStore } from '../../src/index.ts'
import { ChildStore } from '../helpers/child-store.ts'
import { sharedServer } from '../helpers/postgres-server.ts'

const config = {
  leaseTtlMs: 4_000,
  heartbeatIntervalMs: 500,
  presenceIntervalMs: 500,
  presenceTtlMs: 3_000,
  maxCrashes: 50,
}

test('behind a pooler three processes share 300 keyed tasks, and two are killed: each task ends once', async () => {
  const given = new URL((await sharedServer()).newStore())
  given.searchParams.set('pooler', 'transaction')
  const url = given.href
  const store = await openStore(url, { config, thread: false })
  onTestFinished(() => store.close())
  const start = (name: string) =>
    ChildStore.open({
      path: url,
      config,
      worker: { workerId: name, capacity: 4, types: ['work', `only ${name}`] },
      settles: true,
    })
  const submit = (type: string, keys: readonly string[]) =>
    store.write({
      kind: 'submit',
      tasks: keys.map((idempotencyKey) => ({
        type,
        lane: 'normal' as const,
        input: 'null',
        idempotencyKey,
      })),
    })
  const keys = Array.from({ length: 300 }, (_, n) => `task ${n}`)
  const first = await start('first')
  const second = await start('second')
  const third = await start('third')
  for (const victim of [first, second]) {
    const part = victim === first ? keys.slice(0, 150) : keys.slice(150)
    const before = victim.claims.length
    await submit('work', part)
    await victim.heard(({ claimed }) => claimed !== undefined, before + 1)
    await victim.kill()
    // What its client does not know to be stored is submitted again.
    await submit('work', part)
  }
  await expect
    .poll(async () => (await store.read({ kind: 'stats' })).totals.completed, {
      timeout: 120_000,
      interval: 200,
    })
    .toBe(keys.length)
  expect(await third.end()).toBe(0)
  const { tasks } = await store.read({ kind: 'tasks', filter: { limit: 1_000 } })
  expect(tasks).toHaveLength(keys.length)
  for (const { taskId } of tasks) {
    const events = (await store.read({ kind: 'events', taskId, after: 0, limit: 1_000 })) ?? []
    expect(events.filter(({ type }) => type === 'task.completed')).toHaveLength(1)
  }
  expect(await verifyStore(url)).toMatchObject({ faults: [], ok: true, tasks: keys.length })
})

test.runIf(process.env['KU0_TEST_POSTGRES_POOLER'] !== undefined)(
  'doctor finds the pooler out, and works with the option for one',
  async () => {
    const url = new URL((await sharedServer()).newStore())
    url.searchParams.delete('pooler')
    const without = await probeServer(url.href)
    expect(without.checks.find(({ name }) => name === 'sessions')).toMatchObject({
      ok: false,
      remedy: expect.stringContaining('pooler=transaction'),
    })
    expect(without.ok).toBe(false)
    url.searchParams.set('pooler', 'transaction')
    const checks = (await probeServer(url.href)).checks.filter(({ needed }) => needed === 'store')
    // The server of this test does not sync.
    expect(checks.filter(({ ok }) => ok !== true).map(({ name }) => name)).toEqual(['durability'])
  },
)

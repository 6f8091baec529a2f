import { join } from 'node:path'
import type { ExecutionStore, StoreSettings } from '@ku0/agent-runtime-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openStore, verifyStore } from '../../src/index.ts'
import { ChildStore } from '../helpers/child-store.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

const places = {
  SQLite: () => Promise.resolve(`sqlite:${join(scratchFolder(), 'store.db')}`),
  PostgreSQL: async () => (await sharedServer()).newStore(),
  'PostgreSQL without sessions': async () => `${(await sharedServer()).newStore()}&pooler=transaction`,
}

/** So long after others came into force a process has to be told; ms. */
const SOON = 10_000

describe.each(Object.entries(places))('8.12 settings in force on %s', (_, newStore) => {
  const open = async (url: string, config?: Parameters<typeof openStore>[1] & object) => {
    const store = await openStore(url, config)
    const told: StoreSettings[] = []
    store.listen({ configured: (settings) => void told.push(settings) })
    onTestFinished(() => store.close())
    return { store, told }
  }
  const limitOf = async (store: ExecutionStore) => {
    const task = { type: 'work', lane: 'normal', input: '1' } as const
    const outcome = await store.write({ kind: 'submit', tasks: Array.from({ length: 20 }, () => task) })
    const accepted = outcome.filter((it) => it.accepted)
    for (const it of accepted) await store.write({ kind: 'cancel', taskId: it.taskId })
    return accepted.length
  }

  test('the last that came decide in all processes, until the last process that states them is killed', async () => {
    const url = await newStore()
    // Behind a pooler silence alone tells of a death.
    const presence = { presenceTtlMs: 2_000, presenceIntervalMs: 500 }
    const a = await open(url, {
      config: { queueDepthLimit: 2, batchBackpressureThreshold: 2, ...presence },
    })
    const b = await open(url, { config: presence })
    expect(await limitOf(b.store)).toBe(2)
    const config = { queueDepthLimit: 5, batchBackpressureThreshold: 5, ...presence }
    const child = await ChildStore.open({ path: url.replace('sqlite:', ''), config })
    // The next commit is decided by them, whether or not its process was told by then.
    expect([await limitOf(a.store), await limitOf(b.store)]).toEqual([5, 5])
    await expect.poll(() => a.told.at(-1)?.queueDepthLimit, { timeout: SOON }).toBe(5)
    // The old program comes once more, and does not take them back.
    const again = await open(url, {
      config: { queueDepthLimit: 2, batchBackpressureThreshold: 2, ...presence },
    })
    expect([await limitOf(again.store), await limitOf(a.store)]).toEqual([5, 5])
    await child.kill()
    await expect.poll(() => a.told.at(-1)?.queueDepthLimit, { timeout: SOON }).toBe(2)
    await expect.poll(() => limitOf(b.store), { timeout: SOON }).toBe(2)
    expect((await a.store.read({ kind: 'stats' })).configurations).toMatchObject([
      { inForce: true, processes: [{}, {}] },
    ])
    await Promise.all([a, b, again].map(({ store }) => store.close()))
    expect(await verifyStore(url)).toMatchObject({ ok: true, faults: [] })
  })

  test('a process that ends in order gives its settings up at once', async () => {
    const url = await newStore()
    const a = await open(url, { config: { queueDepthLimit: 2, batchBackpressureThreshold: 2 } })
    const b = await open(url, { config: { queueDepthLimit: 5, batchBackpressureThreshold: 5 } })
    const c = await open(url)
    expect([await limitOf(a.store), await limitOf(c.store)]).toEqual([5, 5])
    await b.store.close()
    expect([await limitOf(a.store), await limitOf(c.store)]).toEqual([2, 2])
    await a.store.close()
    expect(await limitOf(c.store)).toBe(20)
    expect((await c.store.read({ kind: 'stats' })).configurations).toBeUndefined()
  })

  test('processes that start at once agree: each has the same in force', async () => {
    const url = await newStore()
    const limits = [3, 4, 5, 6]
    const all = await Promise.all(
      limits.map((queueDepthLimit) =>
        open(url, { config: { queueDepthLimit, batchBackpressureThreshold: 1 } }),
      ),
    )
    const found = []
    for (const { store } of all) found.push(await limitOf(store))
    expect(new Set(found).size).toBe(1)
    expect(limits).toContain(found[0])
    const [one] = all
    const { configurations = [] } = (await one?.store.read({ kind: 'stats' })) ?? {}
    expect(configurations.map(({ inForce }) => inForce)).toEqual([true, false, false, false])
    expect(configurations[0]?.settings.queueDepthLimit).toBe(found[0])
  })
})

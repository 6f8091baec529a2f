import { join } from 'node:path'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { good, places, Spoiled, verify } from '../helpers/spoiled-store.ts'

/**
 * The ledger of a client: 1 purchase, 2 reserve for the first task, 3 its settle and 4 its refund, 5 set, 6 reserve for the second task, which is
 * under way, and 7 reserve and 8 settle for the third.
 */
async function soldAndSpent(): Promise<Spoiled> {
  const path = join(scratchFolder(), 'sold.db')
  const { config } = parseExecutionConfig({ shares: { ledger: true, startCredits: 0 } })
  const environment = { ...createVirtualEnvironment('sold'), digest: nodeDigest }
  const store = await openStore(`sqlite:${path}`, { config, environment, thread: false })
  const scene = new Scene(store, config, environment.clock)
  await scene.write({ kind: 'purchaseCredits', name: 'ada', amount: 100, key: 'order', note: 'invoice 7' })
  const complete = async (leaseId: string, cost: number) => {
    const charged = { tokens: 0, money: 0, cost: cost * 1e6 }
    const settlement = { as: 'completed', output: 'null' } as const
    await scene.write({ kind: 'settle', leaseId, settlement, ...(cost === 0 ? {} : { charged }) })
  }
  const mine = (cost: number) => ({ client: 'ada', cost })
  await complete((await scene.running(mine(10))).leaseId, 4)
  await scene.write({ kind: 'putClient', name: 'ada', credits: 50 })
  await scene.running(mine(7))
  await complete((await scene.running(mine(5))).leaseId, 0)
  await store.close()
  return new Spoiled(path)
}

const kinds = { opening: 0, purchase: 1, reserve: 2, settle: 3, refund: 4, set: 5 }

describe('a damaged entry of a ledger is found (docs/semantics.md 11.8)', () => {
  test('11.8 the ledger that is damaged below is good, and has each kind of entry', async () => {
    const it = await soldAndSpent()
    expect(await verify(it.path)).toMatchObject(good)
    const all = it.db.prepare<[], number>('SELECT kind FROM ledger ORDER BY seq').pluck().all()
    const { purchase, reserve, settle, refund, set } = kinds
    expect(all).toEqual([purchase, reserve, settle, refund, set, reserve, reserve, settle])
  })

  test('11.8 an entry of another kind is found, where it is', { timeout: 60_000 }, async () => {
    const it = await soldAndSpent()
    const kept = it.db.prepare<[], [number, number]>('SELECT seq, kind FROM ledger').raw().all()
    for (const [seq, kind] of kept)
      for (const [name, other] of Object.entries(kinds)) {
        if (other === kind) continue
        const found = await it.after((db) =>
          db.prepare('UPDATE ledger SET kind = ? WHERE seq = ?').run(other, seq),
        )
        const said = places(found)?.some((place) => place.startsWith(`client ada, entry ${seq}`))
        expect(`entry ${seq} as ${name}: ${said}`).toBe(`entry ${seq} as ${name}: true`)
      }
  })

  test.each([
    ['a reservation for another task', 'UPDATE ledger SET task = 3 WHERE seq = 2', 'entry 3, task'],
    ['a reservation for a task that is over', 'UPDATE ledger SET task = 1 WHERE seq = 6', 'reserved'],
    ['a reservation for nobody', 'UPDATE ledger SET task = NULL WHERE seq = 6', 'entry 6, kind'],
    ['a settlement of another task', 'UPDATE ledger SET task = 1 WHERE seq = 8', 'entry 8, task'],
    ['a refund to a task that is under way', 'UPDATE ledger SET task = 2 WHERE seq = 4', 'entry 4, task'],
    ['a refund to nobody', 'UPDATE ledger SET task = NULL WHERE seq = 4', 'entry 4, kind'],
    ['a purchase for a task', 'UPDATE ledger SET task = 1 WHERE seq = 1', 'entry 1, kind'],
    ['credits that were set with a note', "UPDATE ledger SET note = 'so' WHERE seq = 5", 'entry 5, kind'],
    [
      'a refund of more than was reserved, which the next entry takes back',
      'UPDATE ledger SET amount = amount + 1, credits = credits + 1 WHERE seq = 4; UPDATE ledger SET amount = amount - 1 WHERE seq = 5',
      'entry 4, kind',
    ],
  ])('11.8 %s is found', async (_, sql, place) => {
    const it = await soldAndSpent()
    const found = await it.after((db) => db.exec(sql))
    expect(places(found)).toContain(`client ada, ${place}`)
  })
})

/** Ada has 2 credits and asks for the first of three tasks, which needs 5; bob has bought what his task asked for, and it has started. */
async function askedFor(): Promise<Spoiled> {
  const path = join(scratchFolder(), 'asked.db')
  const { config } = parseExecutionConfig({
    shares: { ledger: true, outOfCredits: 'park', startCredits: 0 },
  })
  const environment = { ...createVirtualEnvironment('asked'), digest: nodeDigest }
  const store = await openStore(`sqlite:${path}`, { config, environment, thread: false })
  const scene = new Scene(store, config, environment.clock)
  await scene.worker('w', 2)
  await scene.write({ kind: 'purchaseCredits', name: 'ada', amount: 2 })
  for (const cost of [5, 4, 3]) await scene.accepted({ client: 'ada', cost })
  await scene.accepted({ client: 'bob', cost: 1 })
  await scene.idle()
  await scene.write({ kind: 'purchaseCredits', name: 'bob', amount: 1 })
  await scene.claim()
  await store.close()
  return new Spoiled(path)
}

describe('a damaged request for credits is found (docs/semantics.md 11.9)', () => {
  test('11.9 the requests that are damaged below are good, and one is open', async () => {
    const it = await askedFor()
    expect(await verify(it.path)).toMatchObject(good)
    const open = it.db.prepare<[]>('SELECT name, asks IS NOT NULL FROM client ORDER BY name').raw().all()
    expect(open).toEqual([
      ['ada', 1],
      ['bob', 0],
    ])
  })

  const asks = (change: string) => `UPDATE client SET asks = ${change} WHERE name = 'ada'`
  test.each([
    ['is lost', asks('NULL')],
    ['is for another task', asks("json_set(asks, '$.task', 2)")],
    ['is for a task of another client', asks("json_set(asks, '$.task', 4)")],
    ['is for no task', asks("json_set(asks, '$.task', 99)")],
    ['is for more', asks("json_set(asks, '$.cost', 6000000)")],
    ['is from another time', asks("json_set(asks, '$.at', 1)")],
    ['is open although there are as many', asks("json_set(asks, '$.cost', 2000000)")],
    [
      'is open twice',
      "UPDATE client SET asks = (SELECT asks FROM client WHERE name = 'ada') WHERE name = 'bob'",
      'bob',
    ],
    ['is unknown to its task', "UPDATE task SET account = json_remove(account, '$.asked') WHERE id = 1"],
  ])('11.9 a request that %s is found', async (_, sql, client = 'ada') => {
    const it = await askedFor()
    const found = await it.after((db) => db.exec(sql))
    expect(places(found)).toContain(`client ${client}, asks`)
  })
})

test('11.9 a task that asked for credits, started without them and is queued again asks for nothing', async () => {
  const path = join(scratchFolder(), 'ran.db')
  const under = async (outOfCredits: 'park' | 'run', play: (scene: Scene) => Promise<unknown>) => {
    const { config } = parseExecutionConfig({ shares: { ledger: true, outOfCredits, startCredits: 0 } })
    const environment = { ...createVirtualEnvironment(outOfCredits), digest: nodeDigest }
    const store = await openStore(`sqlite:${path}`, { config, environment, thread: false })
    const scene = new Scene(store, config, environment.clock)
    await scene.worker('w', 1)
    await play(scene)
    await store.close()
  }
  await under('park', async (scene) => {
    await scene.accepted({ client: 'ada', cost: 5 })
    await scene.idle()
  })
  await under('run', async (scene) =>
    scene.settle(await scene.claim(), { as: 'retry', error: '{}', delayMs: 0 }),
  )
  const it = new Spoiled(path)
  expect(it.events.map(({ type }) => type)).toEqual([
    'task.queued',
    'credits.asked',
    'task.started',
    'task.requeued',
  ])
  expect(it.db.prepare('SELECT asks FROM client').pluck().all()).toEqual([null])
  expect(await verify(path)).toMatchObject(good)
})

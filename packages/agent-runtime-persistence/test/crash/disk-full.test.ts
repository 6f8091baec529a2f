import { join } from 'node:path'
import { StoreError } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import type Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { openStore } from '../../src/index.ts'
import { beginOf, connectionOf } from '../helpers/connection-of.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { assertClosedStore } from '../helpers/closed-store.ts'

const { config } = parseExecutionConfig({
  maxInlineBytes: 1_000,
  leaseTtlMs: 5_000,
  heartbeatIntervalMs: 1_000,
})
const large = JSON.stringify('x'.repeat(3_000))

/** What became of the operations that were handed over while there was too little room. */
interface Tally {
  readonly done: string[]
  readonly full: string[]
}

/** A life that needs room at every turn. Whatever there is no room for is refused by store_full, and by nothing else. */
async function live(scene: Scene, tally: Tally): Promise<void> {
  const attempt = async <T>(what: string, promise: Promise<T>): Promise<T | undefined> => {
    try {
      const outcome = await promise
      tally.done.push(what)
      return outcome
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'store_full') throw error
      tally.full.push(what)
      return undefined
    }
  }
  const register = {
    kind: 'registerWorkers',
    workers: [{ workerId: 'w', capacity: 2, types: ['*'] }],
  } as const
  await attempt('register', scene.write(register))
  scene.free('w', 2)
  for (let n = 0; n < 6; n++) {
    const key = { idempotencyKey: `k${n}`, input: n % 2 === 0 ? large : String(n) }
    const answers = [scene.submit(key), scene.submit({ delayMs: 300, labels: { n: String(n) } })]
    for (const answer of answers) await attempt('submit', answer)
    await scene.pass(100)
    const claim = scene.claims.at(-1)
    if (claim === undefined) continue
    await attempt('step', scene.step(claim, `step ${n}`, large))
    await attempt('checkpoint', scene.write({ kind: 'checkpoint', leaseId: claim.leaseId, data: large }))
    const chunks = [large, large]
    await attempt('output', scene.write({ kind: 'appendOutput', leaseId: claim.leaseId, chunks }))
    const end: Promise<unknown> =
      n % 3 === 0
        ? scene.cancel(claim.taskId)
        : n % 3 === 1
          ? scene.settle(claim, { as: 'completed', output: large })
          : scene.settle(claim, { as: 'retry', error: large, delayMs: 0 })
    if ((await attempt('end', end)) !== undefined) scene.free('w')
    expect((await scene.stats()).running).toBeGreaterThanOrEqual(0)
  }
}

/** What is left runs to its end, now that there is room. */
async function finish(scene: Scene): Promise<void> {
  await scene.write({ kind: 'registerWorkers', workers: [{ workerId: 'v', capacity: 4, types: ['*'] }] })
  scene.free('v', 4)
  const settled = new Set<string>()
  for (let turn = 0; turn < 200; turn++) {
    await scene.pass(200)
    for (const claim of scene.claims) {
      if (settled.has(claim.leaseId)) continue
      settled.add(claim.leaseId)
      await scene.settle(claim, { as: 'completed', output: '"done"' })
      scene.free(claim.workerId)
    }
    const { running, delayed } = await scene.stats()
    if (running + delayed + (await scene.depth()) === 0) return
  }
  throw new Error('something never ended')
}

async function openScene(path: string): Promise<{ scene: Scene; db: Database.Database }> {
  const environment = { ...createVirtualEnvironment('full'), digest: nodeDigest }
  const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
  return {
    scene: new Scene(store, config, environment.clock, { digest: nodeDigest }),
    db: connectionOf(store),
  }
}
const pagesOf = (db: Database.Database) => db.pragma('page_count', { simple: true }) as number

describe('a disk that is full at any moment (docs/reliability.md T3, D03)', () => {
  test(
    'D03 refuses what there is no room for, leaves nothing half-written, and goes on when there is room',
    { timeout: 120_000 },
    async () => {
      const folder = scratchFolder()
      const roomy = await openScene(join(folder, 'roomy.db'))
      const start = pagesOf(roomy.db)
      await live(roomy.scene, { done: [], full: [] })
      const end = pagesOf(roomy.db)
      await roomy.scene.store.close()
      expect(end - start).toBeGreaterThan(20)

      const refused = new Set<string>()
      for (let room = 0; start + room <= end; room += draws(8, 1)) {
        const path = join(folder, `${room}.db`)
        const { scene, db } = await openScene(path)
        db.pragma(`max_page_count = ${start + room}`)
        const tally = { done: [], full: [] }
        await live(scene, tally)
        for (const what of tally.full) refused.add(what)
        expect(tally.full.length > 0 || start + room === end).toBe(true)
        expect(scene.failures).toEqual([])
        expect(await scene.violations()).toEqual([])
        const { tasks } = await scene.read({ kind: 'tasks', filter: { states: ['failed'] } })
        expect(tasks).toEqual([])

        db.pragma('max_page_count = 1000000')
        await finish(scene)
        expect(await scene.violations()).toEqual([])
        await scene.store.close()
        await assertClosedStore(path, config)
      }
      for (const what of ['submit', 'step', 'output', 'end']) expect(refused).toContain(what)
    },
  )

  test('D03 a submission that found no room can be made again under the same key', async () => {
    const path = join(scratchFolder(), 'it.db')
    const { scene, db } = await openScene(path)
    db.pragma(`max_page_count = ${pagesOf(db)}`)
    const codes: string[] = []
    for (let n = 0; n < 40 && codes.length === 0; n++)
      await scene
        .submit({ idempotencyKey: `k${n}`, input: large })
        .catch((error: StoreError) => codes.push(error.code))
    expect(codes).toEqual(['store_full'])
    const accepted = await scene.depth()
    db.pragma('max_page_count = 1000000')
    expect(await scene.submit({ idempotencyKey: `k${accepted}`, input: large })).toMatchObject({
      accepted: true,
      deduplicated: false,
    })
    expect(await scene.depth()).toBe(accepted + 1)
    await scene.store.close()
    await assertClosedStore(path, config)
  })

  test('D03 reads answer while nothing can be written', async () => {
    const { scene, db } = await openScene(join(scratchFolder(), 'it.db'))
    const taskId = await scene.accepted({ input: large })
    db.pragma(`max_page_count = ${pagesOf(db)}`)
    for (let n = 0; n < 20; n++) await scene.submit({ input: large }).catch(() => undefined)
    expect((await scene.task(taskId)).input).toBe(large)
    expect(await scene.eventTypes(taskId)).toEqual(['task.queued'])
    expect((await scene.stats()).totals.submitted).toBe(await scene.depth())
    await scene.store.close()
  })

  test('T3 a transaction that is gone although nothing has failed is not taken for a commit: the store stops', async () => {
    const { scene, db } = await openScene(join(scratchFolder(), 'it.db'))
    await scene.accepted()
    const begin = beginOf(scene.store)
    const run = begin.run.bind(begin)
    begin.run = () => {
      const begun = run()
      db.exec('ROLLBACK')
      return begun
    }
    await expect(scene.submit()).rejects.toMatchObject({ code: 'store_io' })
    begin.run = run
    expect(scene.failures).toMatchObject([{ code: 'store_io' }])
    await expect(scene.submit()).rejects.toMatchObject({ code: 'store_io' })
    await scene.store.close()
  })
})

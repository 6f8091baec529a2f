import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Claim } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene, type StoreSnapshot, takeSnapshot } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment, VirtualClock } from '@ku0/agent-runtime-core/testing'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { assertClosedStore } from '../helpers/closed-store.ts'

const { config } = parseExecutionConfig({
  maxInlineBytes: 500,
  quotaConfig: { models: { big: { maxInFlight: 2, onExceeded: 'defer' } } },
})
const large = JSON.stringify('x'.repeat(1_000))

async function openScene(path: string, seed: string, clock: VirtualClock): Promise<Scene> {
  const environment = { ...createVirtualEnvironment(seed), clock, timers: clock, digest: nodeDigest }
  const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
  return new Scene(store, config, clock, { digest: nodeDigest })
}

/** A life with everything in it; `acknowledged` is called after every answer. */
async function live(scene: Scene, acknowledged: () => Promise<void>): Promise<void> {
  const told = async <T>(promise: Promise<T>): Promise<T> => {
    const outcome = await promise
    await acknowledged()
    return outcome
  }
  await told(
    scene.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 2, types: ['*'] }] }),
  )
  scene.free('w', 2)
  await told(scene.submit({ idempotencyKey: 'a', input: large }))
  await told(scene.submit({ taskId: 'own', model: 'big' }))
  await told(scene.submitMany(3, { model: 'big', lane: 'batch' }))
  await told(scene.submit({ delayMs: 400 }))
  const one = await scene.claim()
  const two = await scene.claim()
  await told(scene.step(one, 'first', large))
  await told(scene.write({ kind: 'checkpoint', leaseId: one.leaseId, data: large }))
  await told(scene.write({ kind: 'appendOutput', leaseId: two.leaseId, chunks: ['1', '2'] }))
  await told(scene.settle(one, { as: 'retry', error: '{}', delayMs: 300 }))
  scene.free('w')
  const three = await scene.claim()
  await told(scene.step(three, 'first', '1'))
  await told(scene.cancel(two.taskId, 'enough'))
  await told(scene.write({ kind: 'abortSettled', leaseId: two.leaseId, how: 'leaked', afterMs: 1 }))
  scene.free('w')
  const four = await scene.claim()
  await told(scene.release(four))
  scene.free('w')
  await scene.claim()
  await scene.pass(500)
  await acknowledged()
  await told(scene.submit({ refused: { reason: 'invalid_payload', message: 'no' } }))
  await told(scene.settle(three, { as: 'completed', output: large }))
  scene.free('w')
  const five = await scene.claim()
  await told(scene.settle(five, { as: 'failed', kind: 'error', error: large }))
}

describe('a machine that stops after any commit (docs/semantics.md 6.1, docs/reliability.md A18)', () => {
  test('A18 it has all that was acknowledged, nothing half-written, and every task ends', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'original.db')
    const clock = new VirtualClock()
    const scene = await openScene(path, 'original', clock)
    const told: { path: string; snapshot: StoreSnapshot; at: number }[] = []
    await live(scene, async () => {
      const copy = join(folder, `${told.length}.db`)
      for (const suffix of ['', '-wal'])
        if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix)
      told.push({ path: copy, snapshot: await takeSnapshot(scene.store), at: clock.monotonic() })
    })
    await scene.store.close()
    expect(told.length).toBeGreaterThan(16)

    for (const [k, { path: copy, snapshot, at }] of told.entries()) {
      const later = new VirtualClock()
      later.advanceBy(at)
      const after = await openScene(copy, `after ${k}`, later)
      const found = await takeSnapshot(after.store)
      expect(found.tasks).toEqual(snapshot.tasks)
      const { configurations = [], ...counts } = found.stats
      const { configurations: before = [], ...countsBefore } = snapshot.stats
      expect(counts).toEqual({ ...countsBefore, commits: 0, staleWrites: 0 })
      // The next process states the same settings as the one before, which nobody has found dead yet.
      const [now, then] = [configurations, before].map((all) =>
        all.map(({ processes: _processes, ...configuration }) => configuration),
      )
      expect(now).toEqual(then)

      const settled = new Set<string>()
      await after.worker('again', 4)
      for (let turn = 0; turn < 20; turn++) {
        await after.pass(10_000)
        for (const claim of after.claims.filter(({ leaseId }) => !settled.has(leaseId))) {
          settled.add(claim.leaseId)
          await finish(after, claim)
        }
      }
      const states = (await takeSnapshot(after.store)).tasks.map(({ record }) => record.state)
      expect(states.filter((state) => state === 'queued' || state === 'running')).toEqual([])
      expect(await after.violations()).toEqual([])
      await after.store.close()
      await assertClosedStore(copy, config)
    }
  })

  /** No memoized step runs twice: what was recorded answers. */
  async function finish(scene: Scene, claim: Claim): Promise<void> {
    const before = await scene.steps(claim.taskId)
    expect(before).toHaveLength(claim.steps)
    for (const { key, result } of before)
      expect(await scene.step(claim, key, '"again"')).toEqual({ fenced: 'ok', memo: result })
    expect(await scene.settle(claim)).toBe('ok')
    scene.free(claim.workerId)
  }
})

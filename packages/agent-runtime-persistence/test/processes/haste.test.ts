import { MINUTE_MS, samplesOf } from '@ku0/agent-runtime-core'
import type { Scene } from '@ku0/agent-runtime-conformance'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import type { Haste } from '../../src/engine/database.ts'
import { databaseOf } from '../helpers/connection-of.ts'
import { twoProcesses } from '../helpers/two-processes.ts'

const config = { heartbeatIntervalMs: 5_000, leaseTtlMs: 20_000 }

/** A process with a free slot and a lease, whose renewal has just been done, beside another one. `hastes`: how much each of its commits hurries from then on. */
async function newStage() {
  const [other, it] = await twoProcesses({ config })
  const { scene } = it
  await scene.worker('w', 2, ['*'], 1)
  await other.scene.accepted()
  await scene.claim()
  await scene.pass(config.heartbeatIntervalMs)
  return { other, scene, stop: () => it.stop(), wake: () => it.wake(), hastes: hastesOf(scene) }
}

function hastesOf({ store }: Scene): Haste[] {
  const db = databaseOf(store)
  const begin = db.begin.bind(db)
  const hastes: Haste[] = []
  db.begin = (haste) => {
    hastes.push(haste)
    return begin(haste)
  }
  return hastes
}

const calm = { isAwaited: false, hasMuch: false, hasTime: true }
const little = { isAwaited: false, hasMuch: false, hasTime: false }

test('a commit that only renews leases does not hurry', async () => {
  const { scene, hastes } = await newStage()
  await scene.pass(6_000)
  expect(hastes).toEqual([calm])
})

test('a renewal that is late hurries: a third of the time has passed that the lease runs on', async () => {
  const { scene, hastes } = await newStage()
  const holder = new Database(scene.store.info.location)
  onTestFinished(() => void holder.close())
  holder.exec('BEGIN IMMEDIATE')
  await scene.until(() => hastes.length > 0, 'a renewal')
  await scene.pass(4_900)
  expect(new Set(hastes.map(({ hasTime }) => hasTime))).toEqual(new Set([true]))
  await scene.pass(1_000)
  expect(hastes.at(-1)).toEqual(little)
  holder.exec('ROLLBACK')
  await scene.pass(1_000)
})

test('a renewal hurries that may claim tasks with it', async () => {
  const { scene, stop, wake, hastes } = await newStage()
  stop()
  await scene.pass(5_500)
  scene.free('w')
  await scene.idle()
  wake()
  await scene.pass(100)
  expect(hastes[0]).toEqual(little)
})

test('a renewal hurries with which a delayed task comes due', async () => {
  const { other, scene, stop, wake, hastes } = await newStage()
  other.stop()
  await scene.accepted({ delayMs: 3_000 })
  hastes.length = 0
  stop()
  await scene.pass(5_500)
  wake()
  await scene.pass(100)
  expect(hastes[0]).toEqual(little)
  other.wake()
})

test('a renewal hurries with which a lease of another process has run out', async () => {
  const { other, scene, stop, wake, hastes } = await newStage()
  await other.scene.running({ type: 'other' })
  other.stop()
  await scene.pass(15_500)
  stop()
  await scene.pass(5_500)
  hastes.length = 0
  wake()
  await scene.pass(100)
  expect(hastes[0]).toEqual(little)
  other.wake()
})

test('samples of the past do not hurry, and others do that share their commit', async () => {
  const { scene, hastes } = await newStage()
  const samples = samplesOf([], undefined, { at: MINUTE_MS, stepMs: MINUTE_MS })
  const sample = () => scene.write({ kind: 'sample', samples })
  await sample()
  expect(hastes).toEqual([calm])
  await Promise.all([sample(), scene.submit()])
  expect(hastes.slice(1)).toEqual([{ ...little, isAwaited: true }])
})

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type RuntimeError } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { connectionOf } from '../helpers/connection-of.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

async function openScene(presenceIntervalMs = 30_000, checked = true) {
  const environment = createVirtualEnvironment('presence')
  const { config } = parseExecutionConfig({ presenceIntervalMs })
  const store = await openStore('sqlite::memory:', { environment, config, checked })
  const scene = new Scene(store, config, environment.clock)
  const seenAgo = () =>
    scene.now - (connectionOf(store).prepare('SELECT last_seen_at FROM process').pluck().get() as number)
  return { scene, seenAgo }
}

describe('a process shows that it lives (docs/semantics.md C1)', () => {
  test('every presenceIntervalMs, workers or not', async () => {
    const { scene, seenAgo } = await openScene(30_000)
    await scene.pass(200)
    for (let n = 0; n < 5; n++) {
      await scene.pass(30_000)
      expect(seenAgo()).toBeLessThan(30_000)
    }
    await scene.pass(29_000)
    expect(seenAgo()).toBeGreaterThan(0)
    await scene.store.close()
  })

  test('with workers, with every heartbeat', async () => {
    const { scene, seenAgo } = await openScene(30_000)
    await scene.worker('w', 1)
    await scene.pass(20_000)
    expect(seenAgo()).toBeLessThanOrEqual(5_000)
    await scene.store.close()
  })
})

test('J08 the proof that a process lives is a lock on an empty file, which nothing can damage (docs/semantics.md 4.10)', async () => {
  const path = join(scratchFolder(), 'store.db')
  const locks = () => readdirSync(`${path}-owners`).map((name) => join(`${path}-owners`, name))
  const store = await openStore(`sqlite:${path}`, { thread: false })
  expect(locks().map((file) => statSync(file).size)).toEqual([0])
  const probe = new Database(locks()[0], { timeout: 0, fileMustExist: true })
  expect(() => probe.exec('BEGIN EXCLUSIVE')).toThrow('database is locked')
  probe.close()
  await store.close()
  expect(locks()).toEqual([])
})

// What the store itself does when nobody looks at the calls before.
describe('a call that makes no sense fails alone (docs/reliability.md G11)', () => {
  const nonsense = [undefined, null, 5, {}, { taskId: 'x' }, []] as unknown as readonly string[]

  test('as a read it is refused, and the store goes on', async () => {
    const { scene } = await openScene(30_000, false)
    const codes = new Set<string>()
    for (const taskId of nonsense)
      for (const kind of ['task', 'checkpoint', 'memos', 'leases', 'explain'] as const)
        codes.add(
          await scene.read({ kind, taskId }).then(
            () => 'answered',
            (error: RuntimeError) => error.code,
          ),
        )
    expect([...codes].toSorted()).toEqual(['answered', 'internal'])
    expect(await scene.submit()).toMatchObject({ accepted: true })
    expect(scene.failures).toEqual([])
    await scene.store.close()
  })

  test('as something to follow it is followed by nothing', async () => {
    const { scene } = await openScene(30_000, false)
    scene.store.interest({ types: [], tasks: nonsense })
    expect(await scene.submit()).toMatchObject({ accepted: true })
    expect(scene.failures).toEqual([])
    await scene.store.close()
  })

  test('as a write it is refused, and the others of its turn are not', async () => {
    const { scene } = await openScene(30_000, false)
    const bad = nonsense.map((taskId) => scene.store.write({ kind: 'cancel', taskId }).catch(() => 'refused'))
    const good = scene.submit()
    expect(await good).toMatchObject({ accepted: true })
    await Promise.all(bad)
    expect(scene.failures).toEqual([])
    await scene.store.close()
  })
})

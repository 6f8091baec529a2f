import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type {
  Environment,
  ExecutionConfigInput,
  ExecutionStore,
  StoreSettings,
} from '@ku0/agent-runtime-core'
import { createVirtualEnvironment, VirtualClock } from '@ku0/agent-runtime-core/testing'
import { Scene, submission } from '@ku0/agent-runtime-conformance'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { inspectStore, openStore, type OpenStoreOptions, verifyStore } from '../../src/index.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'

/** Processes on one file and one time; each knows what it was told to be in force. */
function processes() {
  const path = join(scratchFolder(), 'store.db')
  const clock = new VirtualClock()
  const view = clock.withSkew(0)
  const scenes: Scene[] = []
  let opened = 0
  const start = async (config?: ExecutionConfigInput, settings?: OpenStoreOptions['settings']) => {
    const environment: Environment = {
      ...createVirtualEnvironment(`process ${(opened += 1)}`),
      digest: nodeDigest,
      clock: view,
      timers: view,
    }
    const store = await openStore(`sqlite:${path}`, {
      config,
      settings,
      environment,
      durability: 'normal',
    })
    let isOpen = true
    const close = async () => {
      if (isOpen) await store.close()
      isOpen = false
    }
    onTestFinished(close)
    const told: StoreSettings[] = []
    store.listen({ configured: (inForce) => void told.push(inForce) })
    const scene = new Scene(store, parseExecutionConfig(config).config, clock, { digest: nodeDigest })
    scenes.push(scene)
    return { store, scene, told, close, limit: () => limitOf(scene) }
  }
  const pass = async () => {
    await scenes[0]?.pass(1_000)
  }
  return { path, start, pass }
}

/** How many tasks a process lets in: what is decided by, not what is said. */
async function limitOf(scene: Scene): Promise<number> {
  // No test sets a limit of so many: where another one is in force, the answer comes all the same.
  for (let n = 0; n < 20; n++) if (!(await scene.submit({ delayMs: 60_000 })).accepted) break
  const { tasks } = await scene.read({ kind: 'tasks', filter: { states: ['queued'], limit: 1_000 } })
  for (const { taskId } of tasks) await scene.write({ kind: 'cancel', taskId })
  return tasks.length
}

describe('one configuration is in force for all processes (docs/semantics.md 8.12)', () => {
  test('8.12 the configuration of the process that came last decides in all, and they learn of that; when it ends, the one before is back', async () => {
    const { start, pass } = processes()
    const old = await start({ maxDelayed: 2, leaseTtlMs: 60_000 })
    const silent = await start()
    await pass()
    expect([await old.limit(), await silent.limit()]).toEqual([2, 2])
    expect([old.told, silent.told.map(({ maxDelayed }) => maxDelayed)]).toEqual([[], [2]])

    const recent = await start({ maxDelayed: 4 })
    await pass()
    expect([await old.limit(), await silent.limit(), await recent.limit()]).toEqual([4, 4, 4])
    expect([old, silent, recent].map(({ told }) => told.map(({ maxDelayed }) => maxDelayed))).toEqual([
      [4],
      [2, 4],
      [],
    ])
    const { configurations } = await recent.scene.stats()
    expect(configurations).toMatchObject([
      { inForce: true, settings: { maxDelayed: 4 }, processes: [{ host: 'virtual' }] },
      { inForce: false, settings: { maxDelayed: 2 } },
    ])

    // The old program starts once more, as it does after a crash.
    const again = await start({ maxDelayed: 2 })
    await pass()
    expect([await again.limit(), await old.limit()]).toEqual([4, 4])
    expect(again.told.map(({ maxDelayed }) => maxDelayed)).toEqual([4])

    await recent.close()
    await pass()
    expect([await old.limit(), await silent.limit(), await again.limit()]).toEqual([2, 2, 2])
    expect(old.told.at(-1)).toMatchObject({ maxDelayed: 2 })
    await old.close()
    await again.close()
    await pass()
    expect([silent.told.at(-1)?.maxDelayed, (await silent.scene.stats()).configurations]).toEqual([
      100_000,
      undefined,
    ])
  })

  test('8.12 the settings of a process are its own: no other takes them', async () => {
    const { start, pass } = processes()
    const a = await start({ leaseTtlMs: 60_000, maxDelayed: 3 })
    const b = await start({ leaseTtlMs: 20_000, maxDelayed: 3 })
    await pass()
    await a.scene.worker('a', 1)
    await a.scene.submit()
    const first = await a.scene.claim()
    await b.scene.worker('b', 1)
    await a.scene.submit()
    const second = await b.scene.claim()
    expect([first, second].map(({ acquiredAt, expiresAt }) => expiresAt - acquiredAt)).toEqual([
      60_000, 20_000,
    ])
    expect([a.told, b.told]).toEqual([[], []])
  })

  test('8.12 a process that follows states nothing, and one that keeps its own is not followed', async () => {
    const { start, pass } = processes()
    const follower = await start({ maxDelayed: 3 }, 'followed')
    expect(await follower.limit()).toBe(3)
    const stating = await start({ maxDelayed: 2 })
    const apart = await start({ maxDelayed: 5 }, 'own')
    await pass()
    expect([await stating.limit(), await follower.limit(), await apart.limit()]).toEqual([2, 2, 5])
    expect((await stating.scene.stats()).configurations).toHaveLength(1)
    await stating.close()
    await pass()
    expect([await follower.limit(), await apart.limit()]).toEqual([3, 5])
    await expect(start({}, 'mine' as never)).rejects.toMatchObject({ code: 'invalid_argument' })
  })

  test('8.12 11.1 shares come into force and go again among tasks that are queued', async () => {
    const { start, pass } = processes()
    const plain = await start({ maxDelayed: 9, maxInFlightPerWorker: 9 })
    for (const client of ['x', 'x', 'x', 'y']) await plain.scene.accepted({ client })
    const fair = await start({ shares: {} })
    await pass()
    // What was queued without shares is nobody's, and shares with the clients; what comes now is theirs, whichever process lets it in.
    for (const client of ['x', 'x', 'y']) await plain.scene.accepted({ client })
    await plain.scene.worker('w', 7, ['*'], 7)
    await pass()
    expect(plain.scene.claims.map(({ sequence }) => sequence)).toEqual([1, 5, 7, 2, 6, 3, 4])
    const running = (await fair.scene.read({ kind: 'clients' })).map((it) => [it.name, it.running])
    expect(running).toEqual([
      ['', 4],
      ['x', 2],
      ['y', 1],
    ])
    await fair.close()
    await pass()
    for (const claim of plain.scene.claims.slice()) await plain.scene.settle(claim)
    expect(await plain.scene.violations()).toEqual([])
  })

  test('8.12 quotas hold in a process whose program has none', async () => {
    const { start, pass } = processes()
    const a = await start({ quotaConfig: { models: { m: { maxInFlight: 1 } } } })
    const b = await start()
    await pass()
    await b.scene.accepted({ model: 'm' })
    const refused = await b.scene.submit({ model: 'm' })
    expect(refused).toMatchObject({ accepted: false, reason: 'quota_exceeded' })
    await a.close()
    await pass()
    await b.scene.accepted({ model: 'm' })
  })

  test('8.12 a process that dies is no longer followed once that is noticed', async () => {
    const { path, start, pass } = processes()
    const a = await start({ maxDelayed: 2 })
    const b = await start({ maxDelayed: 4 })
    await pass()
    expect(await a.limit()).toBe(4)
    // Its row stays as the death of a process leaves it, and its lock is free.
    const { processId } = b.store.info
    await b.close()
    const db = new Database(path)
    db.exec('UPDATE process SET ended_at = NULL WHERE id = 2')
    db.close()
    writeFileSync(join(`${path}-owners`, `${processId}.lock`), '')
    await pass()
    await pass()
    expect([await a.limit(), a.told.at(-1)?.maxDelayed]).toEqual([2, 2])
  })

  test('8.12 doctor names what differs, and verify finds settings that are not there', async () => {
    const { path, start, pass } = processes()
    const a = await start({ queueDepthLimit: 900 })
    await start({ queueDepthLimit: 800, shares: {} })
    await pass()
    const { settings, problems } = await inspectStore(`sqlite:${path}`)
    expect(settings).toMatchObject([
      { setting: 'queueDepthLimit', here: '800', there: '900' },
      { setting: 'shares', there: undefined },
    ])
    expect(problems.map(({ message }) => message).join()).toContain(
      'processes have different settings: queueDepthLimit is 800 in force, and 900 for process 0 on virtual',
    )
    expect(await verifyStore(`sqlite:${path}`)).toMatchObject({ ok: true })
    const db = new Database(path)
    db.exec('DELETE FROM configuration WHERE id = 1')
    db.close()
    expect((await verifyStore(`sqlite:${path}`)).faults).toMatchObject([
      { where: 'process 1', expected: 'the settings that it states' },
    ])
    await a.close()
  })

  test('8.12 settings that cannot be read stop the store, and verify says so', async () => {
    const { path, start, pass } = processes()
    const a = await start({ maxDelayed: 2 })
    await start({ maxDelayed: 4 })
    const db = new Database(path)
    db.exec("UPDATE configuration SET settings = '[]' WHERE id = 2")
    db.close()
    await pass()
    await expect(failureOf(a.store)).resolves.toMatchObject({ code: 'store_corrupt' })
    const { faults } = await verifyStore(`sqlite:${path}`)
    expect(faults.map(({ where }) => where).join()).toContain('configuration')
  })
})

async function failureOf(store: ExecutionStore): Promise<unknown> {
  try {
    await store.write({ kind: 'submit', tasks: [submission()] })
    return undefined
  } catch (error) {
    return error
  }
}

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { StoreError } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { describe, expect, test } from 'vitest'
import { openStore, verifyStore } from '../../src/index.ts'
import { openFiles } from '../helpers/open-files.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'
import { canMount, smallDisk } from '../helpers/small-disk.ts'

const { config } = parseExecutionConfig()
const large = JSON.stringify('x'.repeat(20_000))
const seconds = (n: number) => n * 1_000

async function openScene(path: string, seed = 'full'): Promise<Scene> {
  const environment = { ...createVirtualEnvironment(seed), digest: nodeDigest }
  const store = await openStore(`sqlite:${path}`, { config, environment })
  return new Scene(store, config, environment.clock, { digest: nodeDigest })
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: StoreError) => error.code,
  )

describe.skipIf(!canMount)('a file system that is really full', () => {
  test('D03 stops no store, however long it lasts: the log stays where it is, and all goes on when there is room', async () => {
    const disk = smallDisk(4)
    const path = join(disk.folder, 'it.db')
    const scene = await openScene(path)
    for (let n = 0; n < 10; n++) await scene.accepted({ input: large })
    disk.fill()
    const { size } = statSync(path)
    for (let minute = 0; minute < 3; minute++) {
      expect(await codeOf(scene.submit({ input: large }))).toBe('store_full')
      await scene.pass(seconds(60))
      expect(await scene.depth()).toBe(10)
    }
    expect(scene.failures).toEqual([])
    expect(statSync(path).size).toBe(size)

    disk.makeRoom()
    await scene.accepted({ input: large })
    await scene.pass(seconds(3))
    expect(statSync(path).size).toBeGreaterThan(11 * large.length)
    await scene.store.close()
    expect(await verifyStore(`sqlite:${path}`)).toMatchObject({ ok: true, tasks: 11 })
  })

  test.each([
    ['in its own thread', true],
    ['in the thread of its callers', false],
  ])('D03 a store %s closes while there is no room, and holds what it acknowledged', async (_, thread) => {
    const disk = smallDisk(4)
    const path = join(disk.folder, 'it.db')
    const store = await openStore(`sqlite:${path}`, { thread })
    const submit = () =>
      store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: large }] })
    await submit()
    disk.fill()
    expect(await codeOf(submit())).toBe('store_full')
    await store.close()
    disk.makeRoom()
    expect(await verifyStore(`sqlite:${path}`)).toMatchObject({ ok: true, tasks: 1 })
  })

  test('D03 a store that has no room to open is store_full, and nothing is left of the attempt', async () => {
    const disk = smallDisk(4)
    const path = join(disk.folder, 'it.db')
    await (await openScene(path)).store.close()
    const outcomes = new Set<string>()
    for (let room = 0; room < 64 && !outcomes.has('done'); room++) {
      disk.fill(room)
      const opened = openScene(path, String(room)).then(({ store }) => store.close())
      outcomes.add(await codeOf(opened))
      expect([room, openFiles(disk.folder)]).toEqual([room, []])
      expect(readdirSync(`${path}-owners`)).toEqual([])
      disk.makeRoom()
    }
    expect([...outcomes]).toEqual(['store_full', 'done'])
    expect(await verifyStore(`sqlite:${path}`)).toMatchObject({ ok: true })
  })
})

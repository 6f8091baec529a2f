import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { verifyStore } from '../../src/index.ts'
import { ChildStore } from '../helpers/child-store.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { openScene, codeOf } from './lost-file-scene.ts'

describe('a database file that is gone from under the open store (docs/reliability.md T8, D07)', () => {
  test('without its index no other process finds its locks: once one has come, the first writes nothing any more', async () => {
    const path = join(scratchFolder(), 'it.db')
    const scene = await openScene(path)
    const claim = await scene.running()
    rmSync(`${path}-shm`)
    const child = await ChildStore.open({ path })
    child.send({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
    await child.heard(({ answer }) => answer !== undefined)
    expect(await codeOf(scene.settle(claim))).toBe('store_unlinked')
    child.send({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '2' }] })
    await child.heard(({ answer }) => answer !== undefined, 2)
    await scene.store.close()
    await child.kill()
    expect(await verifyStore(`sqlite:${path}`)).toMatchObject({ ok: true, tasks: 3 })
  })
})

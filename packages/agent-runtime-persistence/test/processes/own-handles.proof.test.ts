import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { closedStoreFaults } from '../helpers/closed-store.ts'
import { config, submission } from './own-handles.test.ts'

describe('processes and threads made while a store is open (docs/reliability.md D11)', () => {
  test('D11 a process that is forked has none of its files open, and opens its own', async () => {
    const path = join(scratchFolder(), 'it.db')
    const store = await openStore(`sqlite:${path}`, { config })
    await store.write(submission)
    const child = fork(join(import.meta.dirname, '../fixtures/forked.ts'), [path])
    const [said] = (await once(child, 'message')) as [unknown]
    const [code] = (await once(child, 'exit')) as [number | null]
    expect([said, code]).toEqual([{ inherited: [], accepted: true }, 0])
    await store.write(submission)
    expect((await store.read({ kind: 'stats' })).depth.normal).toBe(3)
    await store.close()
    expect(await closedStoreFaults(path, config)).toEqual([])
  })
})

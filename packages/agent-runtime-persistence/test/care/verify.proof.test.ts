import { join } from 'node:path'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { describe, expect, test } from 'vitest'
import { openStore, type Verification } from '../../src/index.ts'
import { ChildStore } from '../helpers/child-store.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { good, verify } from '../helpers/spoiled-store.ts'
import './verify.test.ts'

describe('a store that others write to meanwhile', () => {
  test('is well in every slice, and so is the end', async () => {
    const path = join(scratchFolder(), 'it.db')
    const { config } = parseExecutionConfig({
      queueDepthLimit: 1_000_000,
      batchBackpressureThreshold: 1_000_000,
    })
    const store = await openStore(`sqlite:${path}`, { config, durability: 'normal' })
    const task = { type: 'work', lane: 'normal', input: '1', idempotencyKey: '' } as const
    let keys = 0
    const submit = (count: number) =>
      store.write({
        kind: 'submit',
        tasks: Array.from({ length: count }, () => ({ ...task, idempotencyKey: `key ${keys++}` })),
      })
    await submit(4_000)
    const other = await ChildStore.open({
      path,
      config: { queueDepthLimit: 1_000_000, batchBackpressureThreshold: 1_000_000 },
      worker: { workerId: 'w', capacity: 8 },
      settles: true,
    })
    const control = new AbortController()
    const writing = (async () => {
      while (!control.signal.aborted) await submit(3)
    })()
    const seen: Verification[] = []
    const settled = () => other.lines.filter(({ answer }) => answer !== undefined).length
    // On a busy machine the other process may take a while to begin.
    while (seen.length < 5 || settled() <= 100) seen.push(await verify(path))
    control.abort()
    await writing
    await other.kill()
    await store.close()
    for (const found of seen) expect(found).toMatchObject(good)
    expect(settled()).toBeGreaterThan(100)
    expect(seen.at(-1)?.commits).toBeGreaterThan((seen[0]?.commits ?? 0) + 50)
    const last = await verify(path)
    expect(last).toMatchObject({ ...good, tasks: keys })
    expect(last.events).toBeGreaterThan(keys)
  })
})

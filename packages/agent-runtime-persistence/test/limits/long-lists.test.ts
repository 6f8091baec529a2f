import { type TaskFilter } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'

async function openScene() {
  const environment = { ...createVirtualEnvironment('list'), digest: nodeDigest }
  const { config } = parseExecutionConfig({ queueDepthLimit: 100_000, batchBackpressureThreshold: 100_000 })
  const store = await openStore('sqlite::memory:', { environment, config })
  return new Scene(store, config, environment.clock)
}

/** All pages, and how many there were. */
async function pages(scene: Scene, filter: TaskFilter) {
  const sequences: number[] = []
  let count = 0
  for (let cursor: number | undefined, more = true; more; more = cursor !== undefined) {
    const page = await scene.read({
      kind: 'tasks',
      filter: { ...filter, ...(cursor === undefined ? {} : { cursor }) },
    })
    sequences.push(...page.tasks.map(({ sequence }) => sequence))
    cursor = page.cursor
    count += 1
  }
  return { sequences, count }
}

describe('a long list is read in slices, so that nothing waits for it (docs/ARCHITECTURE.md, The store)', () => {
  test('a filter that finds little looks at a bounded stretch a time, and finds all', async () => {
    const scene = await openScene()
    const rare = { lane: 'interactive', type: 'rare' } as const
    await scene.submit(rare)
    await scene.submitMany(22_000)
    await scene.submit(rare)
    await scene.submitMany(22_000)
    expect(await pages(scene, { types: ['rare'] })).toEqual({ sequences: [22_002, 1], count: 3 })
    expect(await pages(scene, { states: ['running'] })).toEqual({ sequences: [], count: 3 })
    await scene.store.close()
  })

  test('large inputs end a page before its limit', async () => {
    const scene = await openScene()
    const input = JSON.stringify('x'.repeat(1_000_000))
    for (let n = 0; n < 12; n++) await scene.submit({ input })
    const { sequences, count } = await pages(scene, { limit: 1_000 })
    expect(sequences).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
    expect(count).toBe(3)
    await scene.store.close()
  })
})

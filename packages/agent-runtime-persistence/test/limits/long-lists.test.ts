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

const keyOf = (n: number) => `${'x'.repeat(200)} ${String(n).padStart(3, '0')}`

/** A task that waits for so many signals. */
async function waiting(scene: Scene, count: number) {
  const claim = await scene.running()
  const waits = Array.from(
    { length: count },
    (_, position) =>
      ({ key: keyOf(position), position, kind: 'signal', name: `${keyOf(position)} comes` }) as const,
  )
  await scene.write({ kind: 'suspend', leaseId: claim.leaseId, waits, stay: false })
  return claim
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
    await scene.submitMany(20_500)
    await scene.submit(rare)
    expect(await pages(scene, { types: ['rare'] })).toEqual({ sequences: [20_502, 1], count: 2 })
    expect(await pages(scene, { states: ['running'] })).toEqual({ sequences: [], count: 2 })
    await scene.store.close()
  })

  test('a task that waits for much names the first things, and says how many more there are', async () => {
    const scene = await openScene()
    const { taskId } = await waiting(scene, 150)
    const keys = Array.from({ length: 100 }, (_, n) => ({ key: keyOf(n) }))
    for (const task of [await scene.task(taskId), ...(await scene.read({ kind: 'tasks', filter: {} })).tasks])
      expect(task).toMatchObject({ waits: keys, moreWaits: 50 })
    const explanation = await scene.read({ kind: 'explain', taskId })
    expect(explanation).toMatchObject({ waits: keys, moreWaits: 50 })
    expect(explanation?.summary).toMatch(/ or 50 more$/)
    expect(await scene.violations()).toEqual([])
    const { taskId: other } = await waiting(scene, 100)
    expect(await scene.task(other)).not.toHaveProperty('moreWaits')
    await scene.store.close()
  })

  test('waits with long names end a page before its limit', async () => {
    const scene = await openScene()
    for (let n = 0; n < 100; n++) await waiting(scene, 100)
    const { sequences, count } = await pages(scene, { limit: 1_000, values: false })
    expect(sequences).toHaveLength(100)
    expect(count).toBe(2)
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

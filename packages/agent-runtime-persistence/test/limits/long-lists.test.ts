import { SUPERVISOR_NAME, supervisorKey, type TaskFilter, type WaitRequest } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { describe, expect, test } from 'vitest'
import Database from 'better-sqlite3'
import { openStore } from '../../src/index.ts'
import { migrations } from '../../src/sqlite/schema.ts'
import { preparedOnce } from '../../src/sqlite/statements.ts'
import { FALLBACKS_OF_TASK } from '../../src/views/task-records.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'

async function openScene() {
  const environment = { ...createVirtualEnvironment('list'), digest: nodeDigest }
  const { config } = parseExecutionConfig({ queueDepthLimit: 100_000, batchBackpressureThreshold: 100_000 })
  const store = await openStore('sqlite::memory:', { environment, config })
  return new Scene(store, config, environment.clock)
}

const keyOf = (n: number) => `${'x'.repeat(200)} ${String(n).padStart(3, '0')}`

/** A task that waits for so many signals, and for what is given. */
async function waiting(scene: Scene, count: number, more: readonly WaitRequest[] = []) {
  const claim = await scene.running()
  const waits = Array.from(
    { length: count },
    (_, position) =>
      ({ key: keyOf(position), position, kind: 'signal', name: `${keyOf(position)} comes` }) as const,
  )
  await scene.write({ kind: 'suspend', leaseId: claim.leaseId, waits: [...waits, ...more], stay: false })
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

  test('a list names the first things that a task waits for, and says how many more there are; the task by itself names all', async () => {
    const scene = await openScene()
    const { taskId } = await waiting(scene, 150)
    const keys = Array.from({ length: 100 }, (_, n) => ({ key: keyOf(n) }))
    const { tasks } = await scene.read({ kind: 'tasks', filter: {} })
    expect(tasks).toMatchObject([{ waits: keys, moreWaits: 50 }])
    const whole = await scene.task(taskId)
    expect(whole).toMatchObject({ waits: Array.from({ length: 150 }, (_, n) => ({ key: keyOf(n) })) })
    expect(whole).not.toHaveProperty('moreWaits')
    const explanation = await scene.read({ kind: 'explain', taskId })
    expect(explanation).toMatchObject({ waits: keys, moreWaits: 50 })
    expect(explanation?.summary).toMatch(/ or 50 more$/)
    expect((await scene.violations()).join().slice(0, 200)).toBe('')
    const { taskId: other } = await waiting(scene, 100)
    const [last] = (await scene.read({ kind: 'tasks', filter: { limit: 1 } })).tasks
    expect(last).toMatchObject({ taskId: other })
    expect(last).not.toHaveProperty('moreWaits')
    await scene.store.close()
  })

  test('a list names the wait of a supervisor, whatever its children come after', async () => {
    const scene = await openScene()
    const terms = { strategy: 'one_for_one', maxRestarts: 5, periodMs: 1_000, endsWith: 'cancel' } as const
    const key = supervisorKey(terms)
    await waiting(scene, 150, [{ key, position: 150, kind: 'signal', name: SUPERVISOR_NAME }])
    const [task] = (await scene.read({ kind: 'tasks', filter: { values: false } })).tasks
    expect(task).toMatchObject({ moreWaits: 50 })
    expect(task?.state === 'waiting' && task.waits.map((wait) => wait.key)).toEqual([
      ...Array.from({ length: 100 }, (_, n) => keyOf(n)),
      key,
    ])
    expect((await scene.violations()).join().slice(0, 200)).toBe('')
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

  test('the model that a task has fallen back to is found by an index, and not in all that has happened to the task', () => {
    const db = new Database(':memory:')
    for (const { sql } of migrations) db.exec(sql)
    const plan = db
      .prepare<[number], { detail: string }>(`EXPLAIN QUERY PLAN ${preparedOnce(FALLBACKS_OF_TASK)}`)
      .all(1)
    db.close()
    expect(plan.map(({ detail }) => detail)).toEqual(['SEARCH event USING INDEX event_fallback (task=?)'])
  })
})

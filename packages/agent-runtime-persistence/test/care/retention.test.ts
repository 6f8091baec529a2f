import { statSync } from 'node:fs'
import { join } from 'node:path'
import { latestEnds, type OutcomeOf, type PerState } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { good, places, Spoiled, verify } from '../helpers/spoiled-store.ts'

const { config } = parseExecutionConfig({
  maxInlineBytes: 1_000,
  queueDepthLimit: 10_000,
  batchBackpressureThreshold: 10_000,
  shares: {},
  retention: { completed: { ageMs: 120_000 }, failed: 'forever' },
})

async function prune(scene: Scene): Promise<number> {
  let pruned = 0
  let given: { excess?: PerState; ends?: PerState } = {}
  for (let after: number | undefined = 0; after !== undefined;) {
    const answer: OutcomeOf<'prune'> = await scene.write({ kind: 'prune', after, ...given })
    const { excess } = answer
    pruned += answer.pruned.completed
    given = { excess, ends: latestEnds(config.retention!, scene.now, excess) }
    after = answer.next
  }
  return pruned
}

/** Rounds of tasks that end at once, two minutes apart; after each, what is old enough is deleted. One task fails in each round, and stays. */
async function rounds(path: string, count: number, tasks: number): Promise<number> {
  const environment = { ...createVirtualEnvironment('retention'), digest: nodeDigest }
  const store = await openStore(`sqlite:${path}`, {
    config,
    environment,
    durability: 'normal',
    thread: false,
  })
  const scene = new Scene(store, config, environment.clock)
  let pruned = 0
  for (let round = 0; round < count; round += 1) {
    for (let n = 0; n < tasks; n += 1) {
      const claim = await scene.running({ client: 'ada', input: JSON.stringify('x'.repeat(2_000)) })
      await scene.settle(
        claim,
        n === 0 ? { as: 'failed', kind: 'error', error: '{}' } : { as: 'completed', output: 'null' },
      )
    }
    await scene.pass(120_001)
    pruned += await prune(scene)
  }
  await store.close()
  return pruned
}

describe('a store with retention is verified like any other (docs/semantics.md 6.6)', () => {
  test('6.6 the rest of a pruned store is proven: the journal is cut at a hash that is kept, and the sums add up', async () => {
    const path = join(scratchFolder(), 'kept.db')
    // The newest task is never deleted.
    expect(await rounds(path, 4, 10)).toBe(4 * 9 - 1)
    const db = new Database(path, { readonly: true })
    const number = (sql: string) => db.prepare<[], number>(sql).pluck().get()
    expect(number('SELECT count(*) FROM task')).toBe(5)
    expect(number('SELECT count(*) FROM event')).toBe(15)
    expect(number('SELECT count(*) FROM lease')).toBe(5)
    expect(number('SELECT min(number) FROM journal')).toBeGreaterThan(1)
    expect(number('SELECT count(*) FROM pruned')).toBeLessThan(35)
    expect(number("SELECT value FROM retired WHERE name = 'state completed'")).toBe(35)
    expect(number('SELECT count(*) FROM blob')).toBe(1)
    db.close()
    expect(await verify(path)).toMatchObject({ ...good, tasks: 5 })
  })

  test.each([
    [
      'a task that is left is removed',
      'DELETE FROM event WHERE task = 1; DELETE FROM lease WHERE task = 1; DELETE FROM task WHERE id = 1',
      'tasks',
    ],
    [
      'the number of deleted tasks is edited',
      "UPDATE retired SET value = value + 1 WHERE name = 'state completed'",
      'tasks',
    ],
    [
      'the kept hash of the cut is edited',
      "UPDATE meta SET value = substr(value, 1, instr(value, ':')) || printf('%064d', 1) WHERE key = 'journal_base'",
      'commit',
    ],
    [
      'the first commit after the cut is removed',
      'DELETE FROM journal WHERE number = (SELECT min(number) FROM journal)',
      'commit',
    ],
    ['hashes of deleted tasks are edited', 'UPDATE pruned SET hash = zeroblob(length(hash))', 'commit'],
    ['hashes of deleted tasks are removed', 'DELETE FROM pruned', 'commit'],
  ])('6.6 %s: verify finds it', async (_, sql, where) => {
    const path = join(scratchFolder(), 'kept.db')
    await rounds(path, 2, 4)
    const it = new Spoiled(path)
    expect(places(await it.after((db) => db.exec(sql)))?.some((place) => place.startsWith(where))).toBe(true)
  })

  test('6.6 the file stays as large as what it keeps', async () => {
    const sizeAfter = async (count: number) => {
      const path = join(scratchFolder(), 'kept.db')
      await rounds(path, count, 30)
      return statSync(path).size
    }
    const [few, many] = [await sizeAfter(3), await sizeAfter(9)]
    // What failed stays: 1 task in 30.
    expect(many / few).toBeLessThan(1.3)
  })
})

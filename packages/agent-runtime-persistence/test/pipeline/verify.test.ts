import { join } from 'node:path'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { Scene } from '@ku0/agent-runtime-conformance'
import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { good, places, Spoiled, verify } from '../helpers/spoiled-store.ts'
import { deeds } from '../helpers/writes-of-every-kind.ts'

/** Two events, one of them received. */
async function withPipeline(path: string): Promise<void> {
  const { config } = parseExecutionConfig({})
  const environment = { ...createVirtualEnvironment('pipeline'), digest: nodeDigest }
  const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
  const scene = new Scene(store, config, environment.clock, { digest: nodeDigest })
  const { write, answer } = await deeds.receive(scene)
  expect(await scene.write(write)).toMatchObject(answer as object)
  await store.close()
}

test('13.2 the row of a pipeline is what its log and its stages say, and an edit of it is found', async () => {
  const path = join(scratchFolder(), 'store.db')
  await withPipeline(path)
  expect(await verify(path)).toMatchObject(good)
  const it = new Spoiled(path)
  for (const [edit, place] of [
    ["UPDATE pipeline SET terms = json_set(terms, '$.maxUnread', 6)", 'terms'],
    ["UPDATE pipeline SET log = json_set(log, '$.seq', 3)", 'events'],
    ["UPDATE pipeline SET log = json_set(log, '$.published.x', 1)", 'published'],
    ["UPDATE pipeline SET log = json_set(log, '$.stages[1].taken.x', 2)", 'stage to received'],
    ["UPDATE pipeline SET log = json_set(log, '$.stages[0].ended', json('true'))", 'stage from ended'],
    ["UPDATE pipeline SET log = json_set(log, '$.unread.x.ranges', json('[[1,2]]'))", 'unread x'],
    ["UPDATE pipeline SET log = json_set(log, '$.unread', 5)", 'log'],
    ["UPDATE output SET data = replace(data, 'from', 'to') WHERE seq = 2", 'stage from published'],
    ['DELETE FROM output WHERE seq = 2', 'events'],
    ['UPDATE pipeline SET task = 99', 'pipeline of task 99'],
    ['DELETE FROM pipeline', 'its pipeline'],
  ] as const) {
    const found = places(await it.after((db) => db.exec(edit)))
    expect(
      found?.some((where) => where.includes(place)),
      `${edit}: ${found?.join('; ')}`,
    ).toBe(true)
  }
})

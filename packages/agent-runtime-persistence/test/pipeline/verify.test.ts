import { join } from 'node:path'
import { publicationKey, receiptKey } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { Scene } from '@ku0/agent-runtime-conformance'
import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { good, places, Spoiled, verify } from '../helpers/spoiled-store.ts'
import { deeds, pipeline } from '../helpers/writes-of-every-kind.ts'

/** A store with what `write` makes of a scene. */
async function storeWith(path: string, write: (scene: Scene) => Promise<void>): Promise<void> {
  const { config } = parseExecutionConfig({})
  const environment = { ...createVirtualEnvironment('pipeline'), digest: nodeDigest }
  const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
  const scene = new Scene(store, config, environment.clock, { digest: nodeDigest })
  await write(scene)
  await store.close()
}

test('13.2 the row of a pipeline is what its log and its stages say, and an edit of it is found', async () => {
  const path = join(scratchFolder(), 'store.db')
  // Two events, one of them received.
  await storeWith(path, async (scene) => {
    const { write, answer } = await deeds.receive(scene)
    expect(await scene.write(write)).toMatchObject(answer as object)
  })
  expect(await verify(path)).toMatchObject(good)
  const it = new Spoiled(path)
  for (const [edit, place] of [
    ["UPDATE pipeline SET terms = json_set(terms, '$.maxUnread', 6)", 'terms'],
    ["UPDATE pipeline SET log = json_set(log, '$.seq', 3)", 'events'],
    ["UPDATE pipeline SET log = json_set(log, '$.published.x', 1)", 'published'],
    ["UPDATE pipeline SET log = json_set(log, '$.parts[1].taken.x', 2)", 'stage to received'],
    ["UPDATE pipeline SET log = json_set(log, '$.parts[0].ended', json('true'))", 'stage from ended'],
    ["UPDATE pipeline SET log = json_set(log, '$.unread.x.ranges', json('[[1,2]]'))", 'unread x'],
    ["UPDATE pipeline SET log = json_set(log, '$.parts[0].task', 99)", 'stage from task'],
    ["UPDATE pipeline SET log = json_set(log, '$.unread', 5)", 'log'],
    ["UPDATE output SET data = replace(data, 'from', 'to') WHERE seq = 2", 'stage from published'],
    ['DELETE FROM output WHERE seq = 2', 'events'],
    ['UPDATE pipeline SET task = 99', 'pipeline of task 99'],
    ['DELETE FROM pipeline', 'its pipeline'],
  ] as const)
    expect({ edit, found: await placesAfter(it, edit) }).toEqual({
      edit,
      found: expect.arrayContaining([expect.stringContaining(place)]) as string[],
    })
})

test('13.2 each partition has received its own events in order, and has the others to receive', async () => {
  const path = join(scratchFolder(), 'store.db')
  // Of five events the first partition gets the first, the third and the fourth, and has received two of them.
  await storeWith(path, async (scene) => {
    const { from, to } = await pipeline(scene, 2)
    const key = publicationKey('x', 'keyed', 0)
    const said = { position: 1, type: 'x', events: ['3', '4', '5'], keyHashes: [8, 10, 5] }
    expect(await scene.write({ kind: 'publish', leaseId: from.leaseId, key, ...said })).toMatchObject({
      as: 'published',
    })
    const heard = { key: receiptKey(['x'], 0), position: 0, types: ['x'], max: 2 }
    expect(await scene.write({ kind: 'receive', leaseId: to.leaseId, ...heard })).toMatchObject({
      ranges: [
        [1, 1],
        [3, 1],
      ],
    })
  })
  expect(await verify(path)).toMatchObject(good)
  const it = new Spoiled(path)
  for (const [edit, place] of [
    ["UPDATE pipeline SET terms = json_set(terms, '$.stages[1].partitions', 3)", 'terms'],
    ['UPDATE output SET data = replace(data, \'"keyHash":8\', \'"keyHash":9\')', 'to/1 received in order'],
    ['UPDATE output SET data = replace(data, \'"keyHash":10\', \'"keyHash":9\')', 'stage to/1 unread x'],
    ['UPDATE output SET data = replace(data, \'"keyHash":5\', \'"keyHash":6\')', 'stage to/2 unread x'],
    ["UPDATE pipeline SET log = json_set(log, '$.parts[1].unread.x', json('[[3,2]]'))", 'to/1 unread x'],
    ["UPDATE pipeline SET log = json_set(log, '$.parts[2].taken.x', 1)", 'stage to/2'],
    ["UPDATE pipeline SET log = json_remove(log, '$.parts[2].task')", 'stage to/2 task'],
    ["UPDATE pipeline SET log = json_set(log, '$.parts[2].unread', 5)", 'log'],
  ] as const)
    expect({ edit, found: await placesAfter(it, edit) }).toEqual({
      edit,
      found: expect.arrayContaining([expect.stringContaining(place)]) as string[],
    })
})

async function placesAfter(it: Spoiled, edit: string): Promise<readonly string[]> {
  return places(await it.after((db) => db.exec(edit))) ?? []
}

test('a receipt that names a type twice is refused', async () => {
  await storeWith(':memory:', async (scene) => {
    const { write } = await deeds.receive(scene)
    const twice = { ...write, types: ['x', 'x'] } as typeof write
    await expect(scene.write(twice)).rejects.toThrow('receive types: types of events, each once')
  })
})

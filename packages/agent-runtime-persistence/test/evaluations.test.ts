import { join } from 'node:path'
import {
  createIdCodec,
  type Dimension,
  dimensions,
  domainWeights,
  nextReputation,
  type Write,
} from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { type ReputationRow, WorkingSet } from '@ku0/agent-runtime-core/transition'
import { createVirtualEnvironment, Scene } from '@ku0/agent-runtime-core/testing'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Cache } from '../src/cache.ts'
import { openStore } from '../src/index.ts'
import { applicationId, migrations } from '../src/sqlite/schema.ts'
import { ChildStore } from './child-store.ts'
import { nodeDigest, scratchFolder } from './scratch-folder.ts'
import { assertTables } from './tables.ts'

const { config } = parseExecutionConfig()

/** Processes of one file, one after the other, on one clock. */
function stage() {
  const path = join(scratchFolder(), 'store.db')
  const environment = { ...createVirtualEnvironment('evaluations'), digest: nodeDigest }
  onTestFinished(() => assertTables(path, config))
  const open = async () => {
    const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
    onTestFinished(() => store.close())
    return new Scene(store, config, environment.clock, { digest: nodeDigest })
  }
  return { path, open }
}

/** A judgement whose every number has digits to lose. */
function judged(n: number, more: Partial<Write<'evaluate'>> = {}): Write<'evaluate'> {
  const scores = Object.fromEntries(
    dimensions.map((dimension, index) => [dimension, Math.abs(Math.sin(n * 7 + index))]),
  ) as Record<Dimension, number>
  const { legal: weights } = domainWeights
  return { kind: 'evaluate', agentId: 'ada', domain: 'legal', weights, scores, missing: [], ...more }
}

async function historyOf(scene: Scene) {
  const kept = await scene.read({ kind: 'evaluations', agentId: 'ada', limit: 1_000 })
  return kept.toReversed()
}

describe('evaluations of a file', () => {
  test('15.3 are there to the last bit when it is opened again', async () => {
    const { open } = stage()
    const first = await open()
    const odd = { agentId: 'an "agent" \n ü', taskId: 't', key: "it's", missing: ['cost'] } as const
    for (const n of [1, 2, 3]) {
      await first.write(judged(n))
      await first.write(judged(n, { ...odd, key: `${odd.key} ${n}` }))
    }
    const read = async (scene: Scene) => {
      const agents = ['ada', odd.agentId]
      return Promise.all(
        agents.flatMap((agentId) => [
          scene.read({ kind: 'reputation', agentId }),
          scene.read({ kind: 'evaluations', agentId, limit: 10 }),
        ]),
      )
    }
    const before = await read(first)
    await first.store.close()
    const second = await open()
    expect(await read(second)).toEqual(before)
    expect(await second.write(judged(4))).toMatchObject({ evaluation: { seq: 4 } })
  })

  test('15.3 of two processes at once are folded one after another, none lost', async () => {
    const { path, open } = stage()
    const [one, two] = await Promise.all([ChildStore.open({ path }), ChildStore.open({ path })])
    for (let n = 1; n <= 100; n += 1) {
      one.send(judged(n, { taskId: 'one' }))
      two.send(judged(-n, { taskId: 'two' }))
    }
    for (const child of [one, two]) {
      await child.heard(({ answer }) => answer !== undefined, 100)
      expect(await child.end()).toBe(0)
    }
    const scene = await open()
    const all = await historyOf(scene)
    expect(all.map(({ seq }) => seq)).toEqual(Array.from({ length: 200 }, (_, index) => index + 1))
    expect(all.filter(({ taskId }) => taskId === 'one')).toHaveLength(100)
    let reputation: number | undefined
    for (const it of all) {
      reputation = nextReputation(reputation, it.composite)
      expect(it.reputation).toBe(reputation)
    }
    expect(await scene.read({ kind: 'reputation', agentId: 'ada' })).toMatchObject({
      reputation,
      evaluations: 200,
    })
  })

  test('15.3 count once when a process dies before it could answer and another says them again', async () => {
    const { path, open } = stage()
    const first = await ChildStore.open({ path })
    for (let n = 1; n <= 60; n += 1) first.send(judged(n, { key: `review ${n}` }))
    await first.heard(({ answer }) => answer !== undefined, 10)
    await first.kill()
    const second = await ChildStore.open({ path })
    for (let n = 1; n <= 60; n += 1) second.send(judged(n, { key: `review ${n}` }))
    await second.heard(({ answer }) => answer !== undefined, 60)
    expect(await second.end()).toBe(0)
    const all = await historyOf(await open())
    expect(all.map(({ key }) => key)).toEqual(Array.from({ length: 60 }, (_, index) => `review ${index + 1}`))
  })

  test('a file of the version before has them from its next opening on', async () => {
    const { path, open } = stage()
    const db = new Database(path)
    for (const sql of migrations.slice(0, 2)) db.exec(sql)
    db.pragma(`application_id = ${applicationId}`)
    db.pragma('user_version = 2')
    db.close()
    const scene = await open()
    await scene.write(judged(1))
    expect(await historyOf(scene)).toHaveLength(1)
  })
})

describe('an agent in a flush', () => {
  const row = (reputation: number): ReputationRow => {
    const { scores } = judged(1)
    return { agent: 'ada', reputation, evaluations: 1, average: scores, latest: scores, lastAt: 1 }
  }
  /** A cache that says which agents it read. */
  function watched() {
    const read: string[] = []
    const cache = new Cache(1, (agent) => {
      read.push(agent)
      return agent === 'ada' ? row(0.5) : undefined
    })
    const around = {
      config,
      ids: createIdCodec('0'.repeat(17)),
      chain: (it: Uint8Array) => it,
      sha256Hex: () => '',
      fenceFloor: 0,
    }
    return { read, cache, flush: () => new WorkingSet(cache, { at: 1, leaseAt: 1 }, around) }
  }

  test('11.6 is read when its reputation is asked for, and once', () => {
    const { read, cache, flush } = watched()
    const first = flush()
    expect(read).toEqual([])
    expect([first.reputation('ada'), first.reputation('bob'), first.reputation('ada')]).toEqual([
      0.5,
      undefined,
      0.5,
    ])
    cache.absorb(first)
    expect(flush().reputation('ada')).toBe(0.5)
    expect(read).toEqual(['ada', 'bob'])
  })

  test('11.6 has the reputation that the flush itself gave it, and keeps it when that is committed', () => {
    const { read, cache, flush } = watched()
    const ws = flush()
    const { kind: _, ...it } = judged(2)
    ws.addEvaluation(
      {
        agent: 'ada',
        seq: 2,
        at: 1,
        composite: 1,
        reputation: 0.65,
        distance: 0,
        change: 0,
        taskId: null,
        key: null,
        ...it,
      },
      row(0.65),
    )
    expect(ws.reputation('ada')).toBe(0.65)
    cache.absorb(ws)
    expect(flush().reputation('ada')).toBe(0.65)
    expect(read).toEqual([])
    // Another process wrote, or the flush failed.
    cache.clear()
    expect(flush().reputation('ada')).toBe(0.5)
  })
})

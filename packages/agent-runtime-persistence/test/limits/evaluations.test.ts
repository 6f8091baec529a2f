import { createIdCodec } from '@ku0/agent-runtime-core'
import { openWorkingSet, type ReputationRow } from '@ku0/agent-runtime-core/transition'
import { Scene } from '@ku0/agent-runtime-conformance'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { Cache } from '../../src/engine/cache.ts'
import { applicationId, migrations } from '../../src/sqlite/schema.ts'
import { config, stage, judged, historyOf } from './evaluations-scene.ts'

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

  test('a file of the version before has them from its next opening on', async () => {
    const { path, open } = stage()
    const db = new Database(path)
    for (const { sql } of migrations.slice(0, 2)) db.exec(sql)
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
  const rows = (agents: Iterable<string>) => ({
    reputations: [...agents].map((agent) => [agent, agent === 'ada' ? row(0.5) : undefined] as const),
  })
  const around = {
    config,
    ids: createIdCodec('0'.repeat(17)),
    chain: (it: Uint8Array) => it,
    sha256Hex: () => '',
    fenceFloor: 0,
  }
  const flush = (cache: Cache) => openWorkingSet(cache, { at: 1, leaseAt: 1 }, around)

  test('11.6 is wanted when its reputation is asked for and not known, and once', () => {
    const cache = new Cache(1)
    const first = flush(cache)
    expect([...cache.unknownAgents]).toEqual([])
    for (const agent of ['ada', 'bob', 'ada']) first.reputation(agent)
    expect([...cache.unknownAgents]).toEqual(['ada', 'bob'])
    cache.take(rows(cache.unknownAgents))
    const second = flush(cache)
    expect([second.reputation('ada'), second.reputation('bob')]).toEqual([0.5, undefined])
    expect([...cache.unknownAgents]).toEqual([])
    cache.absorb(second)
    expect(flush(cache).reputation('ada')).toBe(0.5)
    expect([...cache.unknownAgents]).toEqual([])
  })

  test('11.6 has the reputation that the flush itself gave it, and keeps it when that is committed', () => {
    const cache = new Cache(1)
    const ws = flush(cache)
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
    expect(flush(cache).reputation('ada')).toBe(0.65)
    expect([...cache.unknownAgents]).toEqual([])
    // Another process wrote, or the flush failed.
    cache.clear()
    expect(flush(cache).reputation('ada')).toBeUndefined()
    expect([...cache.unknownAgents]).toEqual(['ada'])
  })
})

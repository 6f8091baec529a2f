import { join } from 'node:path'
import { type ExecutionConfigInput, handOverKey } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { draws, everyNth } from '../../../../tools/draws.ts'
import { openStore } from '../../src/index.ts'
import { rechain } from '../helpers/forged.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { good, places, Spoiled, verify } from '../helpers/spoiled-store.ts'
import { lived } from '../helpers/whole-life.ts'

const loss = '{"kind":"lost_tail","anchored":3,"lastGood":2,"lastGoodAt":1,"acceptedAt":2}'

describe('the facts that a store knows of itself', () => {
  const set = (key: string, value: string) => `INSERT OR REPLACE INTO meta VALUES ('${key}', '${value}')`
  const forms: readonly [string, readonly string[]][] = [
    ['store_id', ['', 'x', '0123456789ABCDEF0']],
    ['boot_id', ['']],
    ['boot_offset', ['', 'x', '1e5', '0.5']],
    ['opened', ['', 'x', '-1']],
    ['oldest_schema', ['', 'x', '-1']],
    ['clients_removed', ['', 'x', '-1']],
    ['pruned_unhashed_until', ['', 'x', '-1', '999999']],
    ['journal_base', ['', 'x', '1', '-1:00']],
    [
      'accepted_losses',
      ['', 'x', 'null', '{}', '[1]', '[[1,2]]', `[${loss.replace('"acceptedAt":2', '"acceptedAt":9e15')}]`],
    ],
  ]

  test('each row that is not of its form is reported', async () => {
    const it = new Spoiled(await lived())
    for (const [key, values] of everyNth(forms, draws(9, 1)))
      for (const value of draws(values.slice(-1), values)) {
        const found = await it.after((db) => db.exec(set(key, value)))
        expect({ key, value, places: places(found)?.filter((place) => place.startsWith('meta')) }).toEqual({
          key,
          value,
          places: [expect.stringMatching(new RegExp(`^meta, ${key}`))],
        })
      }
  })

  test('each row that a store opens with is missed', async () => {
    const it = new Spoiled(await lived())
    const keys = it.db.prepare<[], string>('SELECT key FROM meta ORDER BY key').pluck().all()
    expect(keys).toEqual(
      forms
        .map(([key]) => key)
        .filter((key) => key !== 'accepted_losses')
        .toSorted(),
    )
    for (const key of everyNth(keys, draws(6, 1))) {
      const found = await it.after((db) => db.exec(`DELETE FROM meta WHERE key = '${key}'`))
      expect(places(found)).toContain(`meta, ${key}`)
    }
  })

  test('one loss of two that were accepted, where the other is well', async () => {
    const it = new Spoiled(await lived())
    const set2 = (one: string) => set('accepted_losses', `[${loss},${one}]`)
    expect(await it.after((db) => db.exec(set2(loss)))).toMatchObject(good)
    const found = await it.after((db) => db.exec(set2(loss.replace('2,', '"2",'))))
    expect(found?.faults).toMatchObject([
      { what: 'row', where: 'meta, accepted_losses, fault 1', expected: 'the record of an accepted loss' },
    ])
  })

  test.each(['', 'x'])('an offset of the clock that is none (%j) is set again at opening', async (value) => {
    const path = await lived()
    const open = async () => (await openStore(`sqlite:${path}`, { thread: false })).close()
    // That life was of another boot: now the offset is of this one.
    await open()
    new Database(path).exec(`UPDATE meta SET value = '${value}' WHERE key = 'boot_offset'`).close()
    await open()
    expect(await verify(path)).toMatchObject(good)
  })

  test('a store that nothing was written to may lack what opening it would write', async () => {
    const path = join(scratchFolder(), 'it.db')
    await (await openStore(`sqlite:${path}`, { thread: false })).close()
    const it = new Spoiled(path)
    it.db.exec("DELETE FROM meta WHERE key IN ('store_id', 'boot_id', 'boot_offset', 'opened')")
    expect((await verify(path)).faults.filter(({ what }) => what === 'row')).toEqual([])
    it.db.exec("DELETE FROM meta WHERE key = 'clients_removed'")
    expect(places(await verify(path))).toContain('meta, clients_removed')
  })
})

describe('the columns that hold JSON', () => {
  const garbage = ['', 'x', 'null', '{}', '[]', '[1]', '7', '{"__proto__":{"x":1}}']
  /** Of each column that no event tells of, what may stand there all the same. */
  const columns: readonly (readonly [table: string, column: string, allowed: readonly string[]])[] = [
    ['stream', 'quota_keys', []],
    ['worker', 'types', ['[]']],
    ['schedule', 'definition', []],
    ['access_token', 'scopes', ['[]']],
    ['access_token', 'types', ['[]', 'null']],
    ['swarm', 'terms', []],
    ['usage', 'data', []],
    // What has no limits limits nothing: no name of it is known.
    ['budget', 'limits', ['{}']],
    ['budget', 'soft', ['{}']],
    ['budget', 'used', []],
    ['budget', 'own', []],
    ['wait', 'terms', []],
    ['task', 'account', []],
    ['reputation', 'average', []],
    ['reputation', 'latest', []],
    ['evaluation', 'scores', []],
    ['evaluation', 'missing', ['[]']],
  ]

  test.each(everyNth(columns, draws(4, 1)))(
    '%s.%s that is no such thing is reported',
    async (table, column, allowed) => {
      const it = new Spoiled(await lived())
      for (const text of everyNth(garbage, draws(5, 1))) {
        const found = await it.after((db) =>
          db.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${column} IS NOT NULL`).run(text),
        )
        expect({ text, ok: found?.ok }).toEqual({ text, ok: allowed.includes(text) })
      }
    },
  )
})

describe('the counts of streams, shares and routes', () => {
  test.each([
    [
      'a quota key that its tasks do not name, where stream and counters agree',
      "UPDATE stream SET key = replace(key, 'model:big', 'model:odd'), quota_keys = replace(quota_keys, 'model:big', 'model:odd'); UPDATE quota SET key = 'model:odd'",
      ['task 3', 'task 4', 'task 5'].map((task) => `${task}, quota keys of its stream`),
    ],
    [
      'a quota key twice',
      `UPDATE stream SET key = replace(key, '"model:big"', '"model:big","model:big"'), quota_keys = '["model:big","model:big"]' WHERE quota_keys <> '[]'; UPDATE quota SET queued = 2 * queued, running = 2 * running`,
      ['task 3', 'task 4', 'task 5'].map((task) => `${task}, quota keys of its stream`),
    ],
    [
      'what a client has spent',
      "UPDATE client SET spent = spent + 1 WHERE name = 'ada'",
      ['client ada, spent'],
    ],
    ['who has spent it', "UPDATE client SET name = 'bob' WHERE name = 'ada'", ['client bob, spent']],
    ['the route of a usage', "UPDATE usage SET route = 'frail'", ['usage of task 10, route']],
    [
      'the swarm of a usage',
      "INSERT INTO swarm SELECT 't', terms, spent_us, spawned, created_at FROM swarm; UPDATE usage SET swarm = 't'",
      ['usage of task 10, swarm'],
    ],
    ['the usage of an agent', 'DELETE FROM usage WHERE task = 10', ['task 10, its usage of swarm s']],
    [
      'the task that probes a route',
      'UPDATE circuit SET probe = 14 WHERE probe = 17',
      ['route shaky, probe 14'],
    ],
    [
      'which route a task probes',
      "UPDATE circuit SET route = 'work' WHERE probe = 17",
      ['route work, probe 17'],
    ],
    [
      'the first chunk of output',
      'UPDATE output SET seq = 0 WHERE seq = 1',
      ['task 1, first chunk of output'],
    ],
  ])('%s is found', async (_, sql, where) => {
    const it = new Spoiled(await lived())
    expect(places(await it.after((db) => db.exec(sql)))).toEqual(where)
  })

  test('a key that a provider has blocked is held by all that name it and are not over', async () => {
    const { path, scene } = await staged()
    const [claim] = [await scene.running({ model: 'm' }), await scene.accepted({ model: 'm' })]
    await scene.write({
      kind: 'settle',
      leaseId: claim.leaseId,
      settlement: { as: 'rate_limited', error: '{}', delayMs: 1 },
      backOff: { keys: ['model:m'], retryAfterMs: 1 },
    })
    await scene.store.close()
    expect(await verify(path)).toMatchObject(good)
    const found = await new Spoiled(path).after((db) =>
      db.exec(`DELETE FROM stream WHERE quota_keys = '[]';
        UPDATE stream SET key = '[1,"work"]', quota_keys = '[]';
        UPDATE quota SET queued = 0`),
    )
    expect(found?.faults).toMatchObject(
      [1, 2].map((task) => ({
        where: `task ${task}, quota keys of its stream`,
        expected: '["model:m"]',
        actual: '[]',
      })),
    )
  })

  test('a usage that a task reported after its end is not spent by its client', async () => {
    const { path, scene } = await staged({ shares: {} })
    const claim = await scene.running({ client: 'ada', cost: 2 })
    await scene.cancel(claim.taskId)
    const charged = { tokens: 0, money: 0, cost: 1 }
    const { leaseId } = claim
    await scene.write({ kind: 'abortSettled', leaseId, how: 'acknowledged', afterMs: 1, charged })
    await scene.store.close()
    const it = new Spoiled(path)
    expect(it.events.map(({ type }) => type)).toContain('task.charged')
    expect(await verify(path)).toMatchObject(good)
    expect(places(await it.after((db) => db.exec('UPDATE client SET spent = spent + 1')))).toEqual([
      'client ada, spent',
    ])
  })

  test('a client that was removed may have spent less than its tasks cost, and so may one of a process without shares', async () => {
    const { path, scene } = await staged({ shares: {} })
    const pay = async (own: Scene) => own.settle(await own.running({ client: 'ada' }))
    await pay(scene)
    await scene.write({ kind: 'removeClient', name: 'ada' })
    await pay(scene)
    await scene.running({ client: 'ada' })
    await scene.store.close()
    const { scene: other } = await staged({}, path)
    await other.worker('w', 1)
    expect(await other.settle(await other.claim())).toBe('ok')
    await other.store.close()
    const db = new Database(path, { readonly: true })
    expect(db.prepare("SELECT spent FROM client WHERE name = 'ada'").pluck().all()).toEqual([1_000_000])
    db.close()
    expect(await verify(path)).toMatchObject(good)
  })
})

/** A store on a stage, in a file of its own unless it is given one. */
async function staged(
  settings: ExecutionConfigInput = {},
  path = join(scratchFolder(), 'it.db'),
): Promise<{ readonly path: string; readonly scene: Scene }> {
  const environment = { ...createVirtualEnvironment(Object.keys(settings).join()), digest: nodeDigest }
  const { config } = parseExecutionConfig(settings)
  const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
  return { path, scene: new Scene(store, config, environment.clock, { digest: nodeDigest }) }
}

describe('rows that a store goes on without, and would go wrong by', () => {
  test('the row of a child that has ended: its parent would spawn it once more', async () => {
    const it = new Spoiled(await lived())
    const ended = it.db
      .prepare<[], { parent: number; key: string; seq: number }>(
        'SELECT parent, key, seq FROM child WHERE open = 0',
      )
      .all()
    expect(ended).not.toEqual([])
    for (const { parent, key, seq } of ended) {
      const found = await it.after((db) =>
        db.prepare('DELETE FROM child WHERE parent = ? AND key = ?').run(parent, key),
      )
      expect(found?.faults).toContainEqual({
        what: 'row',
        where: `task ${parent}, child ${key}`,
        expected: `the child of event ${seq}`,
        actual: 'none',
      })
    }
  })

  test('a text that does not parse in the journal, where a commit added no event', async () => {
    const it = new Spoiled(await lived())
    const [commit] = it.db
      .prepare<[], number>("SELECT number FROM journal WHERE touched = '[]'")
      .pluck()
      .all()
    expect(commit).toBeDefined()
    for (const text of everyNth(['', '[', 'no JSON'], draws(3, 1))) {
      const found = await it.after((db) =>
        db.prepare('UPDATE journal SET touched = ? WHERE number = ?').run(text, commit),
      )
      expect({ text, at: places(found) }).toEqual({ text, at: [`commit ${commit}`] })
    }
  })

  test('each chunk of output but the last: no later one shows that there was one', async () => {
    const it = new Spoiled(await lived())
    const chunks = it.db.prepare<[], number>('SELECT seq FROM output WHERE task = 1').pluck().all()
    expect(chunks).toEqual([1, 2, 3])
    const without = (seq: number) =>
      it.after((db) => db.prepare('DELETE FROM output WHERE task = 1 AND seq = ?').run(seq))
    expect(places(await without(1))).toEqual(['task 1, first chunk of output', 'task 1, output'])
    expect(places(await without(2))).toEqual(['task 1, output'])
    expect(places(await without(3))).toEqual([])
  })
})

describe('a promise of time that was broken stands before the end, where the hashes fit (docs/semantics.md 12.5)', () => {
  /** Task 1 ended a millisecond late, and 2 in time. */
  async function promised(): Promise<Spoiled> {
    const { path, scene } = await staged()
    const labels = { agreement: 'gold', 'agreement.latencyMs': '1000' }
    const [late, inTime] = [await scene.accepted({ labels }), await scene.accepted({ labels })]
    await scene.pass(1_000)
    await scene.cancel(inTime)
    await scene.pass(1)
    await scene.cancel(late)
    await scene.store.close()
    return new Spoiled(path)
  }
  const missed = "task = 1 AND type = 'agreement.missed'"

  test('12.5 the store that is damaged below is good', async () => {
    const it = await promised()
    expect(await verify(it.path)).toMatchObject(good)
    expect(it.events.map(({ task, type }) => `${task} ${type}`)).toEqual([
      '1 task.queued',
      '1 agreement.missed',
      '1 task.canceled',
      '2 task.queued',
      '2 task.canceled',
    ])
  })

  test.each([
    [
      'lost',
      1,
      `DELETE FROM event WHERE ${missed}; UPDATE event SET seq = 2 WHERE task = 1 AND seq = 3; UPDATE task SET seq = 2 WHERE id = 1`,
    ],
    ['of another time', 1, `UPDATE event SET data = json_set(data, '$.lateMs', 2) WHERE ${missed}`],
    ['earlier than the end', 1, `UPDATE event SET at = at - 1 WHERE ${missed}`],
    [
      'of a task in time',
      2,
      `UPDATE event SET seq = 3 WHERE task = 2 AND seq = 2; INSERT INTO event SELECT 2, seq, type, at - 1, data, blob, hash FROM event WHERE ${missed}; UPDATE task SET seq = 3 WHERE id = 2`,
    ],
  ])('12.5 an event of it that is %s is found', async (_, task, sql) => {
    const it = await promised()
    const found = await it.after((db) => {
      db.exec(sql)
      rechain(db, task)
    })
    expect(places(found)?.filter((place) => place.startsWith('task'))).toEqual([
      `task ${task}, agreement.missed`,
    ])
  })
})

test('14.3 a child that a task was handed over to is of the type that the decision names, where the hashes fit', async () => {
  const { path, scene } = await staged()
  const recovery = { category: 'crash', kind: 'error', strategy: 'fallback_agent' } as const
  const first = await scene.running()
  for (const [nth, task] of ['careful', 'slow'].entries()) {
    const claim = nth === 0 ? first : await scene.claim()
    await scene.settle(claim, { as: 'retry', error: '{}', delayMs: 0, recovery: { ...recovery, task } })
    scene.free(first.workerId)
    const { leaseId } = await scene.claim()
    const submission = { type: task, lane: 'normal', input: 'null' } as const
    const key = handOverKey(nth + 1)
    await scene.write({ kind: 'spawn', leaseId, key, position: 0, policy: 'cancel', submission })
    await scene.write({ kind: 'settle', leaseId, settlement: { as: 'retry', error: '{}', delayMs: 0 } })
    scene.free(first.workerId)
  }
  await scene.store.close()
  const it = new Spoiled(path)
  expect(await verify(path)).toMatchObject(good)
  const found = await it.after((db) => {
    db.exec(
      `UPDATE event SET data = replace(data, '"careful"', '"slow"') WHERE task = 1 AND type = 'task.requeued'`,
    )
    rechain(db, 1)
  })
  expect(found?.faults.filter(({ what }) => what === 'row')).toMatchObject([
    { where: `task 1, child ${handOverKey(1)}, type`, expected: 'slow', actual: 'careful' },
  ])
})

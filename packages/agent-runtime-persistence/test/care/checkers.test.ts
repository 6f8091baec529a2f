import { rmSync } from 'node:fs'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { type StoreSnapshot, type TaskSnapshot, violationsIn } from '@ku0/agent-runtime-conformance'
import Database from 'better-sqlite3'
import { beforeAll, describe, expect, test } from 'vitest'
import { draws, everyNth } from '../../../../tools/draws.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'
import { closedStoreFaults } from '../helpers/closed-store.ts'
import { config, live, lived } from '../helpers/whole-life.ts'

type Draft<T> = { -readonly [K in keyof T]: T[K] extends object ? Draft<T[K]> : T[K] }

describe('the checker of invariants finds what is wrong', () => {
  let good: StoreSnapshot
  beforeAll(async () => {
    good = await live(':memory:')
  })
  const check = (snapshot: StoreSnapshot, before?: StoreSnapshot) =>
    violationsIn(snapshot, { config, digest: nodeDigest, ...(before === undefined ? {} : { before }) })
  const task = (draft: Draft<StoreSnapshot>, sequence: number) =>
    draft.tasks.find(({ record }) => record.sequence === sequence) as Draft<TaskSnapshot>

  test('a store that is well has nothing wrong', () => {
    expect(check(good, good)).toEqual([])
  })

  const faults: readonly [string, (draft: Draft<StoreSnapshot>) => unknown][] = [
    ['I3', (draft) => Object.assign(task(draft, 1).record, { output: '"other"' })],
    ['I1', (draft) => draft.tasks.splice(1, 1)],
    ['I2', (draft) => draft.tasks.push(task(draft, 4))],
    ['I4', (draft) => Object.assign(task(draft, 1).events[1] as object, { type: 'task.canceled' })],
    ['I5', (draft) => Object.assign(task(draft, 1).leases[0] as object, { status: 'running' })],
    ['I5', (draft) => Object.assign(task(draft, 3).record, { state: 'queued' })],
    ['I6', (draft) => Object.assign(task(draft, 1).steps[0] as object, { result: '9' })],
    ['I6', (draft) => task(draft, 1).steps.pop()],
    ['I6', (draft) => Object.assign(task(draft, 1).steps[1] as object, { key: 'a' })],
    ['I10', (draft) => Object.assign(task(draft, 1).leases[1] as object, { fencingToken: 1 })],
    ['I10', (draft) => task(draft, 1).leases.pop()],
    ['I11', (draft) => Object.assign(draft.workers[0] as object, { inFlight: 2 })],
    ['I14', (draft) => Object.assign(draft.stats.depth, { normal: 3 })],
    ['I14', (draft) => Object.assign(draft.stats, { delayed: 0 })],
    ['I14', (draft) => Object.assign(draft.stats, { running: 0 })],
    ['I14', (draft) => Object.assign(draft.stats, { waiting: 0 })],
    ['I16', (draft) => Object.assign(task(draft, 8).record, { waits: [] })],
    ['I16', (draft) => Object.assign(task(draft, 8).record, { waits: [], moreWaits: 3 })],
    ['I16', (draft) => Object.assign(task(draft, 8).record, { waitingFor: 'signal' })],
    ['I15', (draft) => task(draft, 1).events.splice(2, 1)],
    ['I15', (draft) => Object.assign(task(draft, 1).events[2] as object, { at: 1 })],
    ['I15', (draft) => Object.assign(task(draft, 1).events[2] as object, { hash: '0'.repeat(64) })],
    ['I16', (draft) => Object.assign(task(draft, 1).record, { attempt: 3 })],
    ['I16', (draft) => Object.assign(task(draft, 2).record, { reason: 'other' })],
    ['I16', (draft) => Object.assign(draft.stats.totals, { completed: 2 })],
    ['10.6', (draft) => draft.swarms[0]?.agents.pop()],
    ['10.6', (draft) => Object.assign(draft.swarms[0]?.terms as object, { maxAgents: 0 })],
    ['10.1', (draft) => Object.assign(task(draft, 3).leases[0] as object, { workerId: 'caller' })],
    ['I17', (draft) => Object.assign(task(draft, 4), { events: task(draft, 1).events })],
    ['I19', (draft) => Object.assign(draft.stats.quotas[0] as object, { running: 0 })],
    [
      'I19',
      (draft) => Object.assign(task(draft, 4).record, { state: 'running', lease: task(draft, 3).leases[0] }),
    ],
    ['9', (draft) => task(draft, 1).output.splice(1, 1)],
  ]
  test.each(faults)('%s (fault %#)', (invariant, spoil) => {
    const draft = structuredClone(good) as Draft<StoreSnapshot>
    spoil(draft)
    const found = check(draft as StoreSnapshot, good).map(
      (line) => line.replace(/^task \d+: /, '').split(' ')[0],
    )
    expect(found).toContain(invariant)
  })
})

describe('a closed store is checked by its own verification and by what the limits allowed', () => {
  test('a store that is well has nothing wrong', async () => {
    const path = await lived()
    expect(await closedStoreFaults(path, config)).toEqual([])
  })

  const faults: readonly string[] = [
    "UPDATE event SET data = replace(data, '\"attempt\":2', '\"attempt\":3') WHERE task = 1 AND type = 'task.requeued'",
    'UPDATE event SET at = at + 1 WHERE task = 1 AND seq = 3',
    'DELETE FROM event WHERE task = 1 AND seq = 3',
    'UPDATE event SET hash = zeroblob(32) WHERE task = 2 AND seq = 1',
    'UPDATE task SET seq = seq - 1 WHERE id = 1',
    'UPDATE task SET attempt = 5 WHERE id = 1',
    'UPDATE task SET crashes = 1 WHERE id = 1',
    'UPDATE task SET steps = 1 WHERE id = 1',
    'UPDATE task SET fence = 9 WHERE id = 1',
    'UPDATE task SET started_at = 1 WHERE id = 1',
    'UPDATE task SET due_at = due_at + 1 WHERE id = 6',
    'UPDATE task SET state = 4 WHERE id = 2',
    'UPDATE task SET waits = waits - 1 WHERE id = 8',
    'UPDATE task SET due_at = due_at + 1 WHERE id = 8',
    'UPDATE wait SET due_at = due_at + 1',
    "DELETE FROM wait WHERE key = 'answer'",
    "UPDATE wait SET terms = json_set(terms, '$.request', 1) WHERE kind = 2",
    "UPDATE wait SET terms = json_set(terms, '$.maxRetries', 9) WHERE kind = 2",
    "UPDATE wait SET terms = json_set(terms, '$.asked', json('false')) WHERE kind = 2",
    "UPDATE wait SET terms = json_set(terms, '$.onTimeout', 'maybe') WHERE kind = 2",
    'DELETE FROM signal',
    'UPDATE totals SET waiting = 0',
    'UPDATE lease SET state = 0, ended_at = NULL, end_reason = NULL, end_seq = NULL WHERE id = 1',
    'UPDATE lease SET fence = 2 WHERE id = 1',
    'DELETE FROM lease WHERE id = 2',
    'UPDATE stream SET depth = depth + 1 WHERE id = 1',
    'UPDATE stream SET delayed = 0',
    'UPDATE totals SET completed = 0',
    'UPDATE totals SET running = 1',
    'UPDATE totals SET rejected = 0',
    'UPDATE quota SET running = 0',
    "DELETE FROM idempotency WHERE key = 'k'",
    'UPDATE idempotency SET task = 4',
    "UPDATE checkpoint SET data = '2'",
    'DELETE FROM output WHERE seq = 2',
    'DELETE FROM blob',
    'UPDATE blob SET data = \'"other"\'',
    "INSERT INTO blob VALUES ('abc', 'nobody')",
    'DELETE FROM journal WHERE number = 2',
    "UPDATE journal SET touched = '[]' WHERE number = 2",
    'UPDATE journal SET hash = zeroblob(32) WHERE number = 2',
    'UPDATE schedule SET runs = 2',
    'UPDATE schedule SET last_task = 1',
    'UPDATE reputation SET reputation = 0.5',
    'UPDATE reputation SET evaluations = 4',
    "UPDATE reputation SET average = '[0.8,0.7,0.7,0.7,0.7,0.7]'",
    "UPDATE reputation SET latest = '[0,0,0,0,0,0]'",
    'UPDATE evaluation SET composite = 0.5 WHERE seq = 2',
    'UPDATE evaluation SET reputation = 0.5 WHERE seq = 1',
    'DELETE FROM evaluation WHERE seq = 2',
    'DELETE FROM reputation',
    'DELETE FROM swarm',
    'DELETE FROM usage',
    'UPDATE usage SET task = 1',
    'UPDATE usage SET lease = 1',
    "UPDATE swarm SET terms = json_set(terms, '$.maxAgents', 0)",
    "INSERT INTO circuit VALUES ('work', 2, 0, 0, 0, 0, 1, 1)",
    'UPDATE process SET ended_at = NULL',
    'UPDATE worker SET registered = 1',
  ]
  test.each(everyNth(faults, draws(3, 1)))('%s', async (sql) => {
    const path = await lived()
    rmSync(`${path}-anchor`)
    const db = new Database(path)
    const { changes } = db.prepare(sql).run()
    db.close()
    expect(changes).toBeGreaterThan(0)
    expect(await closedStoreFaults(path, config)).not.toEqual([])
  })

  test('I13 an admission that the limits did not allow', async () => {
    const path = await lived()
    const strict = parseExecutionConfig({ queueDepthLimit: 1, batchBackpressureThreshold: 1 })
    const found = await closedStoreFaults(path, strict.config)
    expect(found.filter((line) => line.startsWith('I13'))).not.toEqual([])
  })
})

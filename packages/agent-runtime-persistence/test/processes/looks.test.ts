import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Scene } from '@ku0/agent-runtime-conformance'
import { beginOf } from '../helpers/connection-of.ts'
import { twoProcesses } from '../helpers/two-processes.ts'

/** How often a store has tried for the lock from now on. */
function triesOf({ store }: Scene): () => number {
  const begin = beginOf(store)
  const run = begin.run.bind(begin)
  let tries = 0
  begin.run = (...parameters) => {
    tries += 1
    return run(...parameters)
  }
  return () => tries
}

/** Holds the lock as a third process would. */
function holder({ store }: Scene): Database.Database {
  const other = new Database(store.info.location)
  onTestFinished(() => void other.close())
  other.exec('BEGIN IMMEDIATE')
  return other
}

describe('a process that looks for what others have written', () => {
  test('takes the lock only where it finds something to write', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    await b.worker('b', 1, ['other'])
    const tries = triesOf(b)
    for (let n = 0; n < 20; n += 1) {
      await a.accepted()
      await a.pass(200)
    }
    // The first look has the lock: the one before it found something.
    expect(tries()).toBeLessThanOrEqual(1)
    await a.accepted({ type: 'other' })
    await a.pass(200)
    expect((await b.claim()).type).toBe('other')
  })

  test('learns that its task was canceled while a third process holds the lock', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    await b.worker('b', 1)
    const taskId = await a.accepted()
    await a.pass(200)
    const claim = await b.claim()
    for (let n = 0; n < 3; n += 1) {
      await a.submit({ type: 'nobody' })
      await a.pass(200)
    }
    await a.cancel(taskId)
    const other = holder(b)
    await b.pass(100)
    expect(b.notices).toMatchObject([{ leaseId: claim.leaseId, verdict: 'canceled' }])
    other.exec('ROLLBACK')
    other.close()
  })

  test('has what it follows of others while a third process holds the lock', async () => {
    const [{ scene: a }, { scene: b }] = await twoProcesses()
    b.store.interest({ types: ['task.queued'], tasks: [] })
    for (let n = 0; n < 3; n += 1) {
      await a.accepted()
      await a.pass(200)
    }
    await a.accepted()
    const other = holder(b)
    await b.pass(100)
    expect(b.events.map(({ elsewhere }) => elsewhere)).toEqual([true, true, true, true])
    other.exec('ROLLBACK')
    other.close()
  })
})

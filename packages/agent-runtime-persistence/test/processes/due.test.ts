import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { expect, test } from 'vitest'
import type { Cache } from '../../src/engine/cache.ts'
import type { Database } from '../../src/engine/database.ts'
import { Due } from '../../src/engine/due.ts'

/** A process with others beside it, which is to look at every tick of 100 ms, at time 0. */
function newDue(): Due {
  const db = { others: 1, pollMs: 250, restPollMs: 250 } as Database
  const cache = {
    running: new Map([[1, {}]]),
    budgetAt: undefined,
    scheduleAt: undefined,
  } as unknown as Cache
  const due = new Due(parseExecutionConfig({ schedulerTickMs: 100 }).config, db, cache)
  due.heartbeatDone(0)
  due.presenceShown(0)
  expect(due.ticks(0)).toBe(true)
  return due
}

test('a tick is urgent 400 ms after it was due, while one commit follows the other', () => {
  const due = newDue()
  due.firstSent(20)
  expect([due.isUrgent(499), due.isUrgent(500)]).toEqual([false, true])
})

test('a process that waited long for its turn has it for a while, although a tick came due meanwhile', () => {
  const due = newDue()
  due.firstSent(700)
  expect([due.isUrgent(700), due.isUrgent(1_099), due.isUrgent(1_100)]).toEqual([false, false, true])
})

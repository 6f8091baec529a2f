import type { ExecutionConfig } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { expect, test } from 'vitest'
import type { Cache } from '../../src/engine/cache.ts'
import type { Database } from '../../src/engine/database.ts'
import { Due } from '../../src/engine/due.ts'

/** A process with others beside it, which is to look at every tick of 100 ms and has renewed its leases, at time 0. */
function newDue(given: Partial<ExecutionConfig> = {}): Due {
  const db = { others: 1, pollMs: 250, restPollMs: 250 } as Database
  const cache = {
    running: new Map([[1, {}]]),
    budgetAt: undefined,
    scheduleAt: undefined,
  } as unknown as Cache
  const due = new Due(parseExecutionConfig({ schedulerTickMs: 100, ...given }).config, db, cache)
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

/** A process that looks as soon as it may, as it does between two turns. */
function looking(given: Partial<ExecutionConfig>): Due {
  const due = newDue(given)
  for (let mono = 100; mono <= 1_200; mono += 100) due.ticks(mono)
  return due
}

test('a renewal is urgent 400 ms after it was due, while one commit follows the other', () => {
  const due = looking({ heartbeatIntervalMs: 1_000, leaseTtlMs: 30_000 })
  expect([due.isUrgent(1_000), due.isUrgent(1_399), due.isUrgent(1_400)]).toEqual([false, false, true])
})

test('a process that waited long for its turn has it for a while, although a renewal came due meanwhile', () => {
  const due = looking({ heartbeatIntervalMs: 1_000, leaseTtlMs: 30_000 })
  due.firstSent(1_200)
  expect([due.isUrgent(1_200), due.isUrgent(1_599), due.isUrgent(1_600)]).toEqual([false, false, true])
})

test('a renewal is urgent while most of the time that the lease runs on is left', () => {
  const due = looking({ heartbeatIntervalMs: 1_000, leaseTtlMs: 1_300 })
  expect([due.isUrgent(1_099), due.isUrgent(1_100)]).toEqual([false, true])
})

test('a renewal that waited long for its turn is urgent as soon as one that did not wait, where the lease runs on for a short time', () => {
  const due = looking({ heartbeatIntervalMs: 1_000, leaseTtlMs: 1_300 })
  due.firstSent(1_050)
  expect([due.isUrgent(1_099), due.isUrgent(1_100)]).toEqual([false, true])
})

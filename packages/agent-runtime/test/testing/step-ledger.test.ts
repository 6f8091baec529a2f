import type { StoredEvent } from '@ku0/agent-runtime-core'
import { expect, test } from 'vitest'
import { StepLedger } from '../../src/testing/step-ledger.ts'

function event(type: StoredEvent['type'], key: string): StoredEvent {
  return { taskId: 'task', seq: 1, type, at: 0, data: JSON.stringify({ key }), hash: '' }
}

test('a function that begins although its result is recorded is told of; one that failed may begin again', () => {
  const ledger = new StepLedger()
  ledger.began('task', 'a')
  ledger.hear(event('step.failed', 'a'))
  ledger.began('task', 'a')
  ledger.hear(event('step.completed', 'a'))
  expect(ledger.reruns).toEqual([])
  ledger.began('another', 'a')
  ledger.began('task', 'a')
  expect(ledger.reruns).toEqual([{ taskId: 'task', key: 'a' }])
  expect(ledger.runsOf('task', 'a')).toBe(3)
})

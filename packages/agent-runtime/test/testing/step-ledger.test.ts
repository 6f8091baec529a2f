import type { StoredEvent } from '@ku0/agent-runtime-core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { StepLedger } from '../../src/testing/step-ledger.ts'

test('the ledger of steps is kept where results are encrypted, too', async () => {
  const turn = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 255)
  const task = defineTask({ type: 'it', input: z.null() }, (ctx) => ctx.step('a', () => 1))
  await using it = await createTestRuntime({ tasks: [task], payloadCodec: { encrypt: turn, decrypt: turn } })
  const receipt = await it.runtime.submit(task, null)
  expect(await it.result(receipt)).toBe(1)
  expect((await it.history(receipt)).steps).toMatchObject([{ key: 'a', runs: 1 }])
})

function event(type: StoredEvent['type'], key: string, seq = 1, since?: number): StoredEvent {
  return { taskId: 'task', seq, type, at: 0, data: JSON.stringify({ key, since }), hash: '' }
}

test('a function that begins although its result is recorded is reported; one that failed may begin again', () => {
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

test('a step that a rejection sent back may begin again, a step before the last approval may not', () => {
  const ledger = new StepLedger()
  ledger.hear(event('step.completed', 'plan', 3))
  ledger.hear(event('step.completed', 'text', 6))
  ledger.hear(event('task.resumed', 'review', 8, 4))
  ledger.began('task', 'text')
  expect(ledger.reruns).toEqual([])
  ledger.began('task', 'plan')
  expect(ledger.reruns).toEqual([{ taskId: 'task', key: 'plan' }])
  ledger.hear(event('step.completed', 'text', 9))
  ledger.hear(event('task.resumed', 'nap', 10))
  ledger.began('task', 'text')
  expect(ledger.reruns).toHaveLength(2)
})

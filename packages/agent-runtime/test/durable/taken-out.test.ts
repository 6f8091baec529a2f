/* oxlint-disable typescript/unbound-method -- that is what is tested */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { virtualRuntime } from '../virtual-runtime.ts'

const child = defineTask({ type: 'child', input: z.number() }, (_, n) => n * 2)
const parent = defineTask(
  { type: 'parent', input: z.null() },
  async ({ step, sleep, call, race, patched, waitForSignal, charge, emit, taskId }) => {
    charge({ tokens: 1 })
    await emit('begun')
    const one = await step('one', () => 1)
    await sleep('nap', 1_000)
    const { value } = await race('race', { branch: ({ step: inside }) => inside('two', () => 2) })
    const word = await waitForSignal('word')
    return [one, value, await call('child', child, 4), await patched('new'), word, taskId]
  },
)

test('the methods of a context may be taken out of it', async () => {
  await using it = await createTestRuntime({ tasks: [parent, child] })
  const { taskId } = await it.runtime.submit(parent, null)
  await it.runtime.signal(taskId, 'word', 'go')
  expect(await it.result(taskId)).toEqual([1, 2, 8, true, 'go', taskId])

  const { runtime, elapse } = await virtualRuntime({ tasks: [parent, child] })
  const real = await runtime.submit(parent, null)
  await runtime.signal(real, 'word', 'go')
  await elapse(2_000)
  expect(await runtime.result(real)).toEqual([1, 2, 8, true, 'go', real.taskId])
})

test('the place of a call is reported all the same', async () => {
  const twice = defineTask({ type: 'twice', input: z.null() }, async ({ step }) => {
    await step('a', () => 1)
    await step('a', () => 2)
  })
  const { runtime } = await virtualRuntime({ tasks: [twice] })
  const receipt = await runtime.submit(twice, null)
  await expect(runtime.result(receipt)).rejects.toMatchObject({
    code: 'duplicate_step_key',
    message: expect.stringMatching(/taken-out\.test\.ts:\d+.*taken-out\.test\.ts:\d+/s) as string,
  })
})

import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, TaskFailed } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'

test('a test runtime moves time to the deadline of a profile, and a crash leaves no scar', async () => {
  const stuck = defineTask({ type: 'stuck', input: z.null(), profile: 'STANDARD' }, async (ctx) => {
    await ctx.heartbeat({ progress: 0 })
    await ctx.step('wait', (step) => {
      const { promise, reject } = Promise.withResolvers<void>()
      step.signal.addEventListener('abort', () => reject(step.signal.reason as Error))
      return promise
    })
  })
  await using testing = await createTestRuntime({ tasks: [stuck], crashes: true, patienceMs: 5 })
  const receipt = await testing.runtime.submit(stuck, null)
  await testing.until(receipt, 'running')
  const lease = await testing.runtime.startTask('held')
  testing.crash()
  await testing.restart()
  await expect(testing.result(receipt)).rejects.toThrow(TaskFailed)
  expect(await testing.runtime.status(receipt)).toMatchObject({ kind: 'budget_exceeded', attempt: 2 })
  expect(await testing.runtime.status(lease.taskId)).toMatchObject({ kind: 'lease_lost' })
  const routes = await testing.runtime.routes()
  expect(routes).toMatchObject([{ route: 'stuck', healthy: false, circuit: 'closed' }])
  expect(routes[0]?.scar).toBeLessThan(0.001)
})

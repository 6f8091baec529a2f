import { TaskCanceled } from '@ku0/agent-runtime-core'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { folder } from '../real-processes.ts'
import { gate, virtualRuntime } from '../virtual-runtime.ts'

test('5.7 a late write of a handler whose task another process cancels is refused, and nobody gets a lost lease', async () => {
  const door = gate()
  const reasons: unknown[] = []
  const task = defineTask({ type: 'busy', input: z.null() }, (ctx) =>
    ctx.step('slow', () => door.promise).catch((error: unknown) => reasons.push(error)),
  )
  const database = join(folder(), 'store.db')
  const { runtime, environment, elapse } = await virtualRuntime({ tasks: [task], database })
  const other = await virtualRuntime({ tasks: [], database, environment })
  const lost: unknown[] = []
  runtime.on('lease.lost', (event) => lost.push(event))
  const submitted = runtime.submit(task, null)
  await elapse(1)
  const { taskId } = await submitted
  const canceling = other.runtime.cancel(taskId)
  await elapse(1)
  expect(await canceling).toBe(true)

  // Before this process has looked what others did.
  expect(reasons).toEqual([])
  door.resolve()
  await elapse(1)
  const { staleWrites } = await runtime.stats()
  const stopping = Promise.all([runtime.stop(), other.runtime.stop()])
  await elapse(100)
  await stopping
  expect(reasons).toEqual([expect.any(TaskCanceled)])
  expect(staleWrites).toBe(1)
  expect(lost).toEqual([])
})

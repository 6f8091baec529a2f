import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { all, gate, until, virtualRuntime } from '../virtual-runtime.ts'

test('F08 ten thousand steps: a crash repeats none of them, and their history is read in pages', async () => {
  const count = 10_000
  let ran = 0
  const door = gate()
  const task = defineTask({ type: 'long', input: z.null() }, async (ctx) => {
    let sum = 0
    for (let n = 0; n < count; n += 1) sum += await ctx.step(`step ${n}`, () => ((ran += 1), n))
    if (ctx.attempt === 1) await door.promise
    return sum
  })
  const { runtime, store, block } = await virtualRuntime({ tasks: [task] })
  const { taskId } = await runtime.submit(task, null)
  await until(() => ran === count)
  await block(31_000)
  expect(await runtime.result(taskId)).toBe((count * (count - 1)) / 2)
  expect(ran).toBe(count)
  door.resolve()

  const events = await all(runtime.events(taskId))
  expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: count + 5 }, (_, n) => n + 1))
  const page = await store.read({ kind: 'events', taskId, after: 5_000, limit: 100 })
  expect(page?.map(({ seq }) => seq)).toEqual(Array.from({ length: 100 }, (_, n) => 5_001 + n))
})

test('F08 64 MiB of results come back whole', async () => {
  const count = 64
  const size = 2 ** 20 - 100
  let ran = 0
  const door = gate()
  const task = defineTask({ type: 'wide', input: z.null() }, async (ctx) => {
    let sum = 0
    for (let n = 0; n < count; n += 1)
      sum += (await ctx.step(`part ${n}`, () => ((ran += 1), String(n).padEnd(size, 'x')))).length
    if (ctx.attempt === 1) await door.promise
    return sum
  })
  const { runtime, block } = await virtualRuntime({ tasks: [task] })
  const { taskId } = await runtime.submit(task, null)
  await until(() => ran === count)
  await block(31_000)
  expect(await runtime.result(taskId)).toBe(count * size)
  expect(ran).toBe(count)
  door.resolve()
})

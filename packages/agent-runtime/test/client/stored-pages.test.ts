import { expect, test } from 'vitest'
import { z } from 'zod'
import { createTestRuntime } from '../../src/testing/index.ts'
import { createRuntime, defineTask } from '../../src/index.ts'

const speak = defineTask({ type: 'speak', input: z.number() }, async (ctx, count) => {
  for (let word = 1; word <= count; word += 1) await ctx.emit(word)
  return ctx.step('said', () => new Date(count))
})

test('history, output and steps are there in pages, without a wait for more', async () => {
  await using it = await createTestRuntime({ tasks: [speak] })
  const { runtime } = it
  const receipt = await runtime.submit(speak, 5)
  await it.result(receipt)

  const all = await runtime.history(receipt)
  expect(all.events.map(({ type }) => type)).toEqual([
    'task.queued',
    'task.started',
    'step.completed',
    'task.completed',
  ])
  expect(all.cursor).toBeUndefined()
  const first = await runtime.history(receipt, { limit: 3 })
  const rest = await runtime.history(receipt, { after: first.cursor })
  expect([...first.events, ...rest.events].map(({ seq }) => seq)).toEqual([1, 2, 3, 4])

  const words = await runtime.emitted(receipt, { after: 1, limit: 3 })
  expect(words.items).toMatchObject([{ data: 2 }, { data: 3 }, { data: 4 }])
  expect(await runtime.emitted(receipt, { after: words.cursor })).toMatchObject({ items: [{ data: 5 }] })
  expect(await runtime.steps(receipt)).toMatchObject({ steps: [{ key: 'said', result: new Date(5) }] })

  await expect(runtime.steps(receipt, { limit: 0 })).rejects.toThrow(/steps option limit: a whole number/)
  await expect(runtime.history('nobody')).rejects.toMatchObject({ code: 'not_found' })
  await expect(runtime.emitted('nobody')).rejects.toMatchObject({ code: 'not_found' })
  await expect(runtime.history(receipt, { limit: 0 })).rejects.toThrow(/history option limit: a whole number/)
  expect(await runtime.steps('nobody')).toEqual({ steps: [] })
})

test('a page of steps ends early for large results', async () => {
  const task = defineTask({ type: 'large', input: z.null() }, async (ctx) => {
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) await ctx.step(key, () => 'x'.repeat(900_000))
  })
  await using runtime = await createRuntime({
    store: 'sqlite::memory:',
    thread: false,
    tasks: [task],
    logger: false,
  })
  const receipt = await runtime.submit(task, null)
  await runtime.result(receipt)
  const first = await runtime.steps(receipt)
  expect(first.steps.map(({ key }) => key)).toEqual(['a', 'b', 'c', 'd', 'e'])
  const rest = await runtime.steps(receipt, { after: first.cursor })
  expect(rest.steps.map(({ key }) => key)).toEqual(['f', 'g'])
  expect(rest.cursor).toBeUndefined()
})

test('a page without values ends only at its limit, however large the inputs are', async () => {
  await using runtime = await createRuntime({
    store: 'sqlite::memory:',
    thread: false,
    tasks: [defineTask({ type: 'large', input: z.string() }, (_, input) => input)],
    workers: 0,
    logger: false,
  })
  const input = 'x'.repeat(240_000)
  await runtime.submitMany(Array.from({ length: 20 }, () => ({ task: 'large', input })))
  expect((await runtime.list()).tasks.length).toBeLessThan(20)
  const { tasks, cursor } = await runtime.list({ values: false })
  expect(tasks).toHaveLength(20)
  expect(tasks.some((task) => 'input' in task)).toBe(false)
  expect(cursor).toBeUndefined()
})

test('a value that a later attempt emits is marked on a page, too, wherever the page begins', async () => {
  const twice = defineTask({ type: 'twice', input: z.null(), retry: { attempts: 2 } }, async (ctx) => {
    await ctx.emit('a')
    if (ctx.attempt === 1) throw new Error('again')
    await ctx.emit('b')
  })
  await using it = await createTestRuntime({ tasks: [twice] })
  const receipt = await it.runtime.submit(twice, null)
  await it.result(receipt)
  const all = await it.runtime.emitted(receipt)
  const marks = all.items.flatMap((item) => (item.type === 'attempt.restarted' ? [item.seq] : []))
  expect(marks).toHaveLength(1)
  for (const { seq } of all.items) {
    const page = await it.runtime.emitted(receipt, { after: seq })
    const followed = []
    for await (const item of it.runtime.output(receipt, { after: seq })) followed.push(item)
    expect(page.items).toEqual(followed)
  }
})

test('count counts what list selects', async () => {
  await using it = await createTestRuntime({ tasks: [speak], workers: 0 })
  await it.runtime.submitMany(Array.from({ length: 7 }, () => ({ task: speak, input: 0 })))
  await it.runtime.submit('unknown', null)
  expect(await it.runtime.count()).toBe(8)
  expect(await it.runtime.count({ states: ['queued'], types: ['speak'] })).toBe(7)
  await expect(it.runtime.count({ state: 'queued' } as never)).rejects.toThrow(/did you mean states/)
})

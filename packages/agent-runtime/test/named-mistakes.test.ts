import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineGraph, defineTask } from '../src/index.ts'
import { createTestRuntime, sweepCrashes } from '../src/testing/index.ts'

const known = defineTask({ type: 'known', input: z.number() }, (_, n) => n)
const stranger = defineTask({ type: 'stranger', input: z.number() }, (_, n) => n)
const told = async (mistake: () => unknown): Promise<string> => {
  try {
    await mistake()
    return 'nothing'
  } catch (error) {
    return (error as Error).message
  }
}
const failing = async (handler: Parameters<typeof defineTask>[1]) => {
  const task = defineTask({ type: 'failing', input: z.null() }, handler as never)
  await using it = await createTestRuntime({ tasks: [task, known] })
  return await told(() => it.run('failing', null))
}

describe('mistakes are named', () => {
  test('a graph with a type that this runtime does not define, given by its definition', async () => {
    await using it = await createTestRuntime({ tasks: [known] })
    const graph = { nodes: { a: { task: stranger, input: 1 } } }
    await expect(it.runtime.submitGraph(graph)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining("no task of the type 'stranger' is defined here") as string,
    })
  })

  test('more capacity than maxInFlightPerWorker is a warning that names both', async () => {
    const warned: [string, unknown][] = []
    const logger = {
      debug() {},
      info() {},
      error() {},
      warn: (...line: readonly unknown[]) => warned.push(line as unknown as [string, unknown]),
    }
    const workers = { count: 1, capacity: 50 }
    const tasks = [known]
    await using _ = await createRuntime({ store: 'sqlite::memory:', tasks, workers, logger })
    expect(JSON.stringify(warned)).toMatch(/workers\.capacity 50 is more than maxInFlightPerWorker 4/)
  })

  test('a sweep without its script, and a test runtime without options', async () => {
    expect(await told(() => sweepCrashes(undefined as never))).toMatch(
      /^sweepCrashes options: an object of .*; given undefined$/,
    )
    expect(await told(() => sweepCrashes({ tasks: [known] } as never))).toBe(
      'sweepCrashes option script: a function; not given',
    )
    expect(await told(() => createTestRuntime(undefined as never))).toContain(
      'options: an object, such as { tasks }; not given',
    )
  })

  test('a circle of nodes, a long one cut in the middle', async () => {
    const node = (n: number, count: number) => ({
      task: known,
      after: [`n${(n + 1) % count}`],
      input: () => 1,
    })
    const circle = (count: number) => () =>
      defineGraph({
        type: 'circle',
        input: z.null(),
        nodes: Object.fromEntries(
          Array.from({ length: count }, (_, n) => [`n${n}`, node(n, count)]),
        ) as never,
      })
    expect(await told(circle(2))).toMatch(/a circle: n0 → n1 → n0$/)
    const long = await told(circle(3_000))
    expect(long).toMatch(/a circle: n0 → .* → … \(2981 more\) → .* → n0$/)
    expect(long.length).toBeLessThan(400)
  })

  test('a date that is none, a promise in place of a function, an input that does not encode', async () => {
    expect(await failing((ctx) => ctx.sleepUntil('a', new Date('nope')))).toContain(
      "sleepUntil 'a' takes a Date or epoch ms, not an invalid Date",
    )
    expect(await failing((ctx) => ctx.step('a', Promise.resolve(1) as never))).toContain('a promise')
    expect(await failing((ctx) => ctx.race('a', { b: Promise.resolve(1) as never }))).toContain(
      "branch 'b' of race 'a' is a function, not a promise",
    )
    const wrong = await failing((ctx) => ctx.spawn('sum', 'elsewhere', Symbol('no') as never))
    expect(wrong).not.toContain("'sum'the")
  })

  test('what was called inside of a step is named as it was called', async () => {
    const inside = (call: Parameters<typeof failing>[0]) =>
      failing((ctx, input) => ctx.step('around', () => call(ctx, input)))
    expect(await inside((ctx) => ctx.patched('i'))).toContain("patched 'i' was called inside step 'around'")
    expect(await inside((ctx) => ctx.race('r', { a: () => 1 }))).toContain("race 'r' was called inside step")
    expect(await inside((ctx) => ctx.all('r', { a: () => 1 }))).toContain("all 'r' was called inside step")
    expect(await inside((ctx) => ctx.sleep('s', 1))).toContain("sleep 's' was called inside step")
  })
})

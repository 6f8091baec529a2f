import { ConfigError } from '@ku0/agent-runtime-core'
import { SeededRandom } from '@ku0/agent-runtime-core/testing'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  type Composition,
  compose,
  defineComposition,
  defineTask,
  edge,
  type Edge,
  identityEdge,
  passThrough,
  type TaskDefinition,
} from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { plan, count } from './compose-scene.ts'

const write = defineTask(
  { type: 'write', input: z.object({ parts: z.array(z.string()), by: z.string() }) },
  (_, given) => ({
    text: given.parts.join(' and '),
    by: given.by,
  }),
)
describe('composition of agents (docs/semantics.md 13.5)', () => {
  test('13.5 an edge checks, adds metadata and maps; metadata come along to every edge behind', async () => {
    const seen: unknown[] = []
    const toWrite = edge({
      validate: z.array(z.string()).min(2),
      metadata: (parts: string[]) => ({ parts: parts.length }),
      map: (parts: string[], metadata) => ({ parts, by: String(metadata['author']) }),
    })
    const toCount = edge({
      map: (written: { text: string; by: string }, metadata) => {
        seen.push(metadata)
        return written.text
      },
    })
    const whole = compose(compose(plan, toWrite, write), toCount, count)
    expectTypeOf(whole).toEqualTypeOf<Composition<{ topic: string }, number>>()
    const essay = defineComposition({ type: 'essay', metadata: { author: 'ann' } }, whole)
    await using it = await createTestRuntime({ tasks: [plan, write, count, essay] })
    const receipt = await it.runtime.submit(essay, { topic: 'rain' })
    expect(await it.result(receipt)).toBe('rain and more'.length)
    expect(seen).toEqual([{ author: 'ann', parts: 2 }])
    const { tasks } = await it.runtime.list({ parent: receipt.taskId })
    expect(tasks.map(({ type }) => type)).toEqual(['count', 'write', 'plan'])
  })

  test('13.5 a value that an edge refuses does not flow: the task fails as invalid_output, and the next agent does not run', async () => {
    const picky = edge<string[], { parts: string[]; by: string }, string[]>({
      validate: z.array(z.string()).min(3),
      map: (parts) => ({ parts, by: 'me' }),
    })
    const task = defineComposition({ type: 'picky' }, compose(plan, picky, write))
    await using it = await createTestRuntime({ tasks: [plan, write, task] })
    const receipt = await it.runtime.submit(task, { topic: 'rain' })
    await expect(it.result(receipt)).rejects.toMatchObject({
      kind: 'invalid_output',
      message: expect.stringContaining(
        'edge 1 refuses the output of the agent before it: output: ',
      ) as string,
    })
    expect((await it.runtime.list({ parent: receipt.taskId })).tasks).toHaveLength(1)
  })

  test('the edges at the ends work on what is submitted and on what comes out', async () => {
    const first = edge({ map: (text: string) => ({ topic: text }) })
    const last = edge({ map: (parts: string[], metadata) => ({ parts, ...metadata }) })
    const around = compose(compose(passThrough<string>(), first, plan), last, passThrough())
    expect(() => defineComposition({ type: 'around' }, around)).toThrow("task 'around': input: a schema")
    const task = defineComposition({ type: 'around', input: z.string(), metadata: { a: 1 } }, around)
    await using it = await createTestRuntime({ tasks: [plan, task] })
    expect(await it.run(task, 'rain')).toEqual({ parts: ['rain', 'more'], a: 1 })
  })

  test('a value that is no agent and no edge is refused', () => {
    expect(() => compose(5 as never, {} as never, plan as never)).toThrow(ConfigError)
    expect(() => compose(5 as never, {} as never, plan as never)).toThrow(
      /a: what defineTask, .*\n.*edge: what edge/s,
    )
    expect(() => edge({ mapp: () => 1 } as never)).toThrow('edge.mapp: no such option, did you mean map?')
    expect(() => edge({ map: 5 } as never)).toThrow('edge.map: a function; given 5')
    expect(() => defineComposition({ type: 'a' }, plan as never)).toThrow('composition: what compose returns')
  })

  test('13.5 composition is associative and has an identity: by structure, and by result', async () => {
    const stages = Array.from({ length: 4 }, (_, index) =>
      defineTask({ type: `stage${index}`, input: z.number() }, (__, number) => number * 3 + index),
    )
    const random = new SeededRandom('composition')
    const pick = (below: number) => Math.floor(random.next() * below)
    const edges: Edge<number, number>[] = [
      identityEdge(),
      edge({ map: (number: number) => number + 7 }),
      edge({
        validate: z.number().int(),
        metadata: (number: number, { sum = 0 }) => ({ sum: Number(sum) + number }),
      }),
      edge({ map: (number: number, { sum = 1 }) => number * 2 - Number(sum) }),
    ]
    type Agent = TaskDefinition<string, number, number> | Composition<number, number>
    /** Put together from some place in the middle, and so on with both halves. */
    const together = (
      agents: readonly Agent[],
      between: readonly Edge<number, number>[],
      at: () => number,
    ): Agent => {
      if (agents.length === 1) return agents[0] as Agent
      const cut = 1 + Math.min(agents.length - 2, at())
      return compose(
        together(agents.slice(0, cut), between.slice(0, cut - 1), at),
        between[cut - 1] as Edge<number, number>,
        together(agents.slice(cut), between.slice(cut), at),
      )
    }
    const cases = Array.from({ length: 15 }, (_, index) => {
      const agents = Array.from({ length: 2 + pick(4) }, (): Agent =>
        pick(5) === 0 ? passThrough<number>() : (stages[pick(4)] as Agent),
      )
      const between = agents.slice(1).map(() => edges[pick(4)] as Edge<number, number>)
      const one = together(agents, between, () => 0) as Composition<number, number>
      const other = together(agents, between, () => pick(agents.length - 1)) as Composition<number, number>
      expect(other).toEqual(one)
      expect(compose(passThrough<number>(), identityEdge(), one)).toEqual(one)
      expect(compose(one, identityEdge(), passThrough<number>())).toEqual(one)
      const options = { input: z.number() }
      return [
        defineComposition({ type: `left${index}`, ...options }, one),
        defineComposition({ type: `any${index}`, ...options }, other),
      ] as const
    })
    await using it = await createTestRuntime({ tasks: [...stages, ...cases.flat()] })
    for (const [one, other] of cases) {
      const input = pick(100)
      expect(await it.run(other, input)).toBe(await it.run(one, input))
    }
  })
})

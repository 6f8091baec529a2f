import { SeededRandom } from '@ku0/agent-runtime-core/testing'
import { ConfigError } from '@ku0/agent-runtime-core'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { draws } from '../../../../tools/draws.ts'
import { createRuntime, defineGraph, defineTask, type GraphNode } from '../../src/index.ts'
import { createTestRuntime, type TestRuntime } from '../../src/testing/index.ts'
import { GRAPH_TYPE } from '../../src/terms/graph-contract.ts'
import { folder } from '../real-processes.ts'

const START = Date.UTC(2026, 0, 1)
/** Works for so many seconds without a slot. */
const nap = defineTask({ type: 'nap', input: z.number() }, async (ctx, seconds) => {
  await ctx.sleep('nap', seconds * 1_000)
  return seconds
})
export const add = defineTask(
  { type: 'add', input: z.object({ left: z.number(), right: z.number() }) },
  (_, it) => it.left + it.right,
)
export const double = defineTask({ type: 'double', input: z.number() }, (_, number) => number * 2)
const broken = defineTask({ type: 'broken', input: z.unknown() }, () => {
  throw new Error('no good')
})
const tasks = [nap, add, double, broken]
export const start = (options: object = {}) => createTestRuntime({ tasks, ...options })

async function nodesOf(it: TestRuntime, parent: string) {
  return (await it.runtime.list({ parent, limit: 1_000 })).tasks.toReversed()
}

async function statesOf(it: TestRuntime, parent: string): Promise<readonly string[]> {
  return (await nodesOf(it, parent)).map(({ type, state }) => `${type} ${state}`).toSorted()
}

describe('graphs (docs/semantics.md 13.3)', () => {
  test('13.3 a node starts when what it waits for is done, not when a level is: 11, not 20', async () => {
    await using it = await start({ workers: { capacity: 4 } })
    const receipt = await it.runtime.submitGraph({
      nodes: {
        A: { task: nap, input: 1 },
        B: { task: nap, input: 10 },
        C: { task: nap, input: 10, after: ['A'] },
        D: { task: nap, input: 1, after: ['B'] },
      },
    })
    expect(await it.result(receipt)).toEqual({ A: 1, B: 10, C: 10, D: 1 })
    expect(it.now - START).toBe(11_000)
  })

  test('inputs come from values, from a node, and from several nodes', async () => {
    await using it = await start()
    const receipt = await it.runtime.submitGraph({
      nodes: {
        one: { task: nap, input: 1 },
        two: { task: double, inputFrom: 'one' },
        three: { task: add, inputFrom: { left: 'one', right: 'two' } },
        last: { task: 'double', input: 21, after: ['three'] },
      },
    })
    const result = await it.result(receipt)
    expectTypeOf(result).toEqualTypeOf<{
      readonly one: number
      readonly two: number
      readonly three: number
      readonly last: unknown
    }>()
    expect(result).toEqual({ one: 1, two: 2, three: 3, last: 42 })
    expect((await nodesOf(it, receipt.taskId)).map(({ type }) => type)).toEqual([
      'nap',
      'double',
      'add',
      'double',
    ])
  })

  test('13.3 all faults of a graph are reported at once, and nothing is stored', async () => {
    await using it = await start()
    const node = (after: readonly string[] = []): GraphNode => ({ task: nap, input: 1, after })
    const nodes: Record<string, GraphNode> = {
      a: node(['c']),
      b: node(['a']),
      c: node(['b']),
      d: node(['nowhere']),
      e: node(['e']),
    }
    const submitted = it.runtime.submitGraph({ nodes })
    await expect(submitted).rejects.toMatchObject({
      code: 'invalid_argument',
      message: [
        "submitGraph: node 'd' waits for 'nowhere', which is not a node",
        'a circle: a → b → c → a',
        'a circle: e → e',
      ].join('\n'),
    })
    const wrong = it.runtime.submitGraph({
      nodes: {
        a: { task: 'nab', input: 1 },
        b: { task: nap, input: 'one' as never },
        c: { task: double, inputFrom: 'a' },
      },
    })
    await expect(wrong).rejects.toMatchObject({
      code: 'invalid_argument',
      message:
        "submitGraph: node 'a': no task of the type 'nab' is defined here, did you mean nap?\n" +
        "node 'b': the input does not fit the schema of task 'nap': input: Invalid input: expected number, received string",
    })
    const { totals } = await it.runtime.stats()
    expect([totals.submitted, totals.rejected]).toEqual([0, 0])
  })

  test.each([
    [{ nodes: {} }, 'graph nodes: an object with at least one node by name; given {}'],
    [
      { nodes: { a: { task: nap } }, concurency: 1 },
      'graph concurency: no such option, did you mean concurrency?',
    ],
    [
      { nodes: { a: {} } },
      "node 'a' task: what defineTask or defineContract returns, or the name of a task type; given undefined",
    ],
    [{ nodes: { '$ku0/a': { task: nap } } }, "node '$ku0/a': a name has 1 to 255 characters"],
    [
      { nodes: { a: { task: nap, input: 1, inputFrom: 'a' } } },
      "node 'a': input and inputFrom: give only one of them",
    ],
    [{ nodes: { a: 5 } }, "node 'a': an object with task, input, inputFrom, after; given 5"],
    [
      { nodes: { a: { task: nap, input: 1, options: { lane: 'fast' } } } },
      'node \'a\' option lane: interactive | normal | batch; given "fast"',
    ],
    [7, 'a graph is an object with nodes; given 7'],
  ])('refuses %j', async (graph, message) => {
    await using it = await start()
    await expect(it.runtime.submitGraph(graph as never)).rejects.toThrow(message)
  })

  test('the type of graphs is the runtime’s own: a process without workers submits, another runs', async () => {
    await using it = await start({ workers: 0 })
    const receipt = await it.runtime.submitGraph({ nodes: { a: { task: nap, input: 1 } } })
    await it.settle()
    expect(await it.runtime.status(receipt)).toMatchObject({ state: 'queued', type: GRAPH_TYPE })
    const own = { ...nap, type: '$ku0/nap' }
    await expect(createTestRuntime({ tasks: [own] })).rejects.toThrow(
      "a type that does not begin with '$ku0/'",
    )
  })

  test('the process that coordinates a graph need not define its nodes', async () => {
    const options = {
      store: `sqlite:${folder()}/store.db`,
      thread: false,
      logger: false,
      telemetry: false,
    } as const
    await using coordinator = await createRuntime({ ...options, tasks: [] })
    await using client = await createRuntime({ ...options, tasks, workers: 0 })
    const receipt = await client.submitGraph({ nodes: { a: { task: double, input: 2 } } })
    await expect.poll(() => coordinator.status(receipt.taskId)).toMatchObject({ state: 'waiting' })
    await using worker = await createRuntime({ ...options, tasks })
    expect(await worker.result(receipt.taskId)).toEqual({ a: 4 })
  })

  test('a failed node fails the graph and cancels the others; a retry keeps what is done', async () => {
    let fails = true
    const moody = defineTask({ type: 'moody', input: z.unknown() }, () => {
      if (fails) throw new Error('not today')
      return 'well'
    })
    await using it = await createTestRuntime({ tasks: [...tasks, moody] })
    const receipt = await it.runtime.submitGraph({
      nodes: {
        one: { task: nap, input: 1 },
        bad: { task: moody, after: ['one'] },
        long: { task: nap, input: 99 },
      },
    })
    await expect(it.result(receipt)).rejects.toMatchObject({
      message: expect.stringContaining("1 of 3 nodes failed: 'bad': ") as string,
      cause: { name: 'GraphFailed' },
    })
    expect(await statesOf(it, receipt.taskId)).toEqual(['moody failed', 'nap canceled', 'nap completed'])
    fails = false
    const again = await it.runtime.retry(receipt)
    expect(await it.result(again)).toEqual({ one: 1, bad: 'well', long: 99 })
    expect(await statesOf(it, again.taskId)).toEqual(['moody completed', 'nap completed'])
  })

  test("with onFailure: 'finish' what does not depend on the failure goes on", async () => {
    await using it = await start()
    const receipt = await it.runtime.submitGraph({
      onFailure: 'finish',
      nodes: {
        bad: { task: broken },
        worse: { task: broken, after: ['slow'] },
        never: { task: nap, input: 1, after: ['bad'] },
        slow: { task: nap, input: 5 },
        after: { task: double, inputFrom: 'slow' },
      },
    })
    await expect(it.result(receipt)).rejects.toThrow(/2 of 5 nodes failed: 'bad': .*no good; 'worse': /)
    const states = ['broken failed', 'broken failed', 'double completed', 'nap completed']
    expect(await statesOf(it, receipt.taskId)).toEqual(states)
  })

  test('cancelling the graph cancels its nodes', async () => {
    await using it = await start()
    const receipt = await it.runtime.submitGraph({
      nodes: {
        a: { task: nap, input: 9 },
        b: { task: nap, input: 9 },
        c: { task: nap, input: 9, after: ['a'] },
      },
    })
    await it.until(receipt, 'waiting')
    await it.runtime.cancel(receipt)
    expect((await nodesOf(it, receipt.taskId)).map(({ state }) => state)).toEqual(['canceled', 'canceled'])
  })

  test('concurrency bounds the nodes that are under way', async () => {
    await using it = await start()
    const names = Array.from({ length: 6 }, (_, index) => `n${index}`)
    const receipt = await it.runtime.submitGraph({
      concurrency: 2,
      nodes: Object.fromEntries(names.map((name) => [name, { task: nap, input: 1 }])),
    })
    await it.result(receipt)
    expect(it.now - START).toBe(3_000)
  })

  test('a full queue is no failure: the nodes wait for room', async () => {
    const config = { queueDepthLimit: 3, batchBackpressureThreshold: 3 }
    await using it = await start({ config, workers: { capacity: 1 } })
    const names = Array.from({ length: 20 }, (_, index) => `n${index}`)
    const receipt = await it.runtime.submitGraph({
      nodes: Object.fromEntries(names.map((name) => [name, { task: double, input: 1 }])),
    })
    expect(Object.keys(await it.result(receipt))).toHaveLength(20)
    expect(await nodesOf(it, receipt.taskId)).toHaveLength(20)
  })

  test('a node that there will never be room for fails', async () => {
    const config = { quotaConfig: { models: { large: { tokensPerWindow: 10 } } } }
    await using it = await start({ config })
    const receipt = await it.runtime.submitGraph({
      nodes: { a: { task: double, input: 1, options: { model: 'large', tokens: 11 } } },
    })
    await expect(it.result(receipt)).rejects.toThrow('the task needs 11')
  })

  test('7.5 the outputs of all nodes together may be larger than one may be', async () => {
    const page = defineTask({ type: 'page', input: z.number() }, (_, n) => String(n % 10).repeat(100_000))
    const names = Array.from({ length: 11 }, (_, n) => `node ${n}`)
    const expected = Object.fromEntries(names.map((name, n) => [name, String(n % 10).repeat(100_000)]))
    const fixed = defineGraph({
      type: 'fixed',
      input: z.null(),
      nodes: Object.fromEntries(names.map((name, n) => [name, { task: page, input: () => n }])),
    })
    const around = defineTask({ type: 'around', input: z.null() }, async (ctx) => {
      const pages = await ctx.call('graph', fixed, null)
      await ctx.sleep('a while', 1_000)
      return Object.keys(pages).length
    })
    await using it = await createTestRuntime({ tasks: [page, fixed, around] })
    const nodes = Object.fromEntries(names.map((name, n) => [name, { task: page, input: n }]))
    const receipt = await it.runtime.submitGraph({ nodes })
    expect(await it.result(receipt)).toEqual(expected)
    expect(await it.runtime.status(receipt)).toMatchObject({ state: 'completed', output: expected })
    expect(await it.runtime.replay(receipt, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
    expect(await it.run(around, null)).toBe(11)
    // One node by itself is held to the limit.
    const big = defineTask({ type: 'big', input: z.null() }, () => 'x'.repeat(2_000_000))
    await using other = await createTestRuntime({ tasks: [big] })
    const failed = await other.runtime.submitGraph({ nodes: { big: { task: big, input: null } } })
    await expect(other.result(failed)).rejects.toMatchObject({
      message: expect.stringContaining("'big': ") as string,
    })
  })
})

describe('graphs that stand in code (docs/semantics.md 13.3)', () => {
  test('are task types whose nodes make their inputs of typed results', async () => {
    const research = defineGraph({
      type: 'research',
      input: z.object({ start: z.number() }),
      nodes: {
        one: { task: nap, input: ({ input }) => input.start },
        two: { task: double, after: ['one'], input: ({ results }) => results.one + 1 },
        sum: {
          task: add,
          after: ['one', 'two'],
          input: ({ results }) => ({ left: results.one, right: results.two }),
        },
      },
    })
    await using it = await createTestRuntime({ tasks: [...tasks, research] })
    const result = await it.run(research, { start: 3 })
    expectTypeOf(result).toEqualTypeOf<{ readonly one: number; readonly two: number; readonly sum: number }>()
    expect(result).toEqual({ one: 3, two: 8, sum: 11 })
  })

  test('are checked when they are defined; a result that a node does not wait for is refused', async () => {
    const define = () =>
      defineGraph({
        type: 'bad',
        input: z.null(),
        nodes: {
          a: { task: nap, after: ['b'], input: () => 1 },
          b: { task: nap, after: ['a'], input: 5 as never },
        },
      })
    expect(define).toThrow(ConfigError)
    expect(define).toThrow('a circle: a → b → a')
    expect(define).toThrow("node 'b' input: a function ({ input, results }) => …; given 5")
    const sly = defineGraph({
      type: 'sly',
      input: z.null(),
      nodes: { a: { task: nap, input: () => 1 }, b: { task: nap, input: ({ results }) => results.a } },
    })
    await using it = await createTestRuntime({ tasks: [...tasks, sly] })
    await expect(it.run(sly, null)).rejects.toThrow(
      "node 'b' uses the result of 'a', which its after does not list",
    )
  })
})

describe('random graphs (docs/semantics.md 13.3, 13.4)', () => {
  test(
    '13.4 on k workers the makespan is at most (|V| - cp)/k + cp, and every node runs once, after what it waits for',
    {
      timeout: 120_000,
    },
    async () => {
      for (let seed = 0; seed < draws(1, 10, 25); seed++) {
        const random = new SeededRandom(`graph ${seed}`)
        const size = 1 + Math.floor(random.next() * 24)
        const workers = 1 + Math.floor(random.next() * 5)
        const runs = new Map<string, { begun: number; ended: number }[]>()
        // Holds its slot for one second of the runtime's time.
        const unit = defineTask({ type: 'unit', input: z.string() }, async (ctx, name) => {
          const begun = it.now
          await ctx.step('work', work)
          runs.set(name, [...(runs.get(name) ?? []), { begun, ended: it.now }])
        })
        const pending: (() => void)[] = []
        const work = () => new Promise<void>((resolve) => void pending.push(resolve))
        await using it = await createTestRuntime({
          patienceMs: 1,
          tasks: [unit],
          workers: { capacity: workers, count: 1 },
          config: { maxInFlightPerWorker: workers },
        })
        const nodes: Record<string, GraphNode> = {}
        const depth = new Map<string, number>()
        for (let index = 0; index < size; index++) {
          const after = Array.from({ length: index }, (_, other) => `n${other}`).filter(
            () => random.next() < 2 / size,
          )
          nodes[`n${index}`] = { task: unit, input: `n${index}`, after }
          depth.set(`n${index}`, 1 + Math.max(0, ...after.map((name) => depth.get(name) ?? 0)))
        }
        const receipt = await it.runtime.submitGraph({ nodes })
        for (let second = 0; second <= size; second++) {
          await it.settle()
          if ((await it.runtime.status(receipt))?.state === 'completed') break
          await it.advance(1_000)
          for (const resolve of pending.splice(0)) resolve()
        }
        await it.result(receipt)
        expect([...runs.keys()].toSorted()).toEqual(Object.keys(nodes).toSorted())
        for (const [name, node] of Object.entries(nodes)) {
          expect(runs.get(name)).toHaveLength(1)
          for (const before of node.after ?? [])
            expect(runs.get(before)?.[0]?.ended).toBeLessThanOrEqual(runs.get(name)?.[0]?.begun ?? 0)
        }
        const path = Math.max(...depth.values())
        const makespan = Math.max(...[...runs.values()].map(([run]) => run?.ended ?? 0)) - START
        expect(makespan / 1_000).toBeLessThanOrEqual((size - path) / workers + path)
      }
    },
  )
})

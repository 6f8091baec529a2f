import { ConfigError, type ConfigProblem } from '@ku0/agent-runtime-core'
import { openStore } from '@ku0/agent-runtime-persistence'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  type AgentView,
  compose,
  createRuntime,
  defineAgent,
  defineComposition,
  defineGraph,
  defineMarketplace,
  definePipeline,
  defineSupervisor,
  defineTask,
  identityEdge,
  passThrough,
  type TaskContext,
  type TaskDefinition,
  toAgentView,
  type WorkerOptions,
} from '../src/index.ts'
import { createTestRuntime, sweepCrashes } from '../src/testing/index.ts'

const known = defineTask({ type: 'known', input: z.number() }, (_, n) => n)
const stranger = defineTask({ type: 'stranger', input: z.number() }, (_, n) => n)
const judge = defineTask({ type: 'judge', input: z.looseObject({}) }, () => ({ quality: 1 }))
const nearly = defineTask({ type: 'knwon', input: z.undefined() }, () => null)
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

  test('5.5 a definition that starts a task which its program does not have, with its place and the name that was meant', async () => {
    const page = z.string()
    const reads = { subscribes: ['page'] }
    const agent = defineAgent(
      { name: 'agent', capabilities: [], domain: [], input: z.number(), output: z.number() },
      (_, n) => n,
    )
    const unit = { input: z.number() }
    const tasks = [
      defineSupervisor({
        type: 'sup',
        input: z.number(),
        children: { a: { task: known, input: (n) => n }, b: { task: stranger, input: (n) => n } },
      }),
      definePipeline({
        name: 'line',
        stages: [
          { name: 'first', task: known, publishes: { page } },
          { name: 'last', task: nearly, ...reads },
        ],
      }),
      defineGraph({ type: 'graph', ...unit, nodes: { only: { task: stranger } } }),
      defineComposition({ type: 'chain', ...unit }, compose(known, identityEdge<number>(), stranger)),
      defineMarketplace({
        name: 'market',
        ...unit,
        output: z.number(),
        agents: [agent],
        stages: { evaluate: judge },
      }),
    ]
    const open = (workers: WorkerOptions | number, ...more: TaskDefinition[]) =>
      createRuntime({
        store: 'sqlite::memory:',
        tasks: [...tasks, known, ...more] as TaskDefinition[],
        workers,
        thread: false,
        logger: false,
      })
    const fields = (await open({ types: ['*'] }).catch(
      (error: ConfigError) => error.problems,
    )) as ConfigProblem[]
    const allowed = 'one of the tasks of this program, or add it to them'
    expect(fields).toEqual([
      { path: "supervisor 'sup': child 'b' task", allowed, given: 'stranger' },
      {
        path: "pipeline 'line': stage 'last' task",
        allowed: `${allowed}, did you mean known?`,
        given: 'knwon',
      },
      { path: "graph 'graph': node 'only' task", allowed, given: 'stranger' },
      { path: "composition 'chain': agent 2", allowed, given: 'stranger' },
      { path: "marketplace 'market': stages.evaluate", allowed, given: 'judge' },
      { path: "marketplace 'market': agent 'agent'", allowed, given: 'agent' },
    ])
    // A process that does not run them need not have what they start.
    for (const workers of [0, { count: 0 }, { types: ['known'] }]) {
      await using _ = await open(workers)
    }
    await using _ = await open(1, stranger, judge, nearly, agent.task)
  })

  test.each(['propose', 'negotiate', 'decompose', 'execute'])(
    '5.5 a marketplace with its own stage %s runs without the tasks of agents, but not without that of the stage',
    async (stage) => {
      const agent = defineAgent(
        { name: 'agent', capabilities: [], domain: [], input: z.number(), output: z.number() },
        (_, n) => n,
      )
      const own = defineTask({ type: 'own', input: z.any() }, () => null)
      const market = defineMarketplace({
        name: 'market',
        input: z.number(),
        output: z.number(),
        agents: [agent],
        stages: { [stage]: own } as never,
      })
      const open = (...tasks: TaskDefinition[]) =>
        createRuntime({ store: 'sqlite::memory:', tasks, thread: false, logger: false })
      await using _ = await open(market, own)
      expect(await told(() => open(market))).toContain(`stages.${stage}`)
    },
  )

  test('5.5 a task that is missing is never said to be the one that names it', async () => {
    const unit = { input: z.number() }
    const record = definePipeline({ name: 'strange', stages: [{ name: 'first', task: stranger }] })
    const same = defineGraph({ type: 'judgs', ...unit, nodes: { only: { task: judge } } })
    const found = await createRuntime({
      store: 'sqlite::memory:',
      tasks: [record, same] as TaskDefinition[],
      thread: false,
      logger: false,
    }).catch((error: ConfigError) => error.problems)
    const allowed = 'one of the tasks of this program, or add it to them'
    expect(found).toEqual([
      { path: "pipeline 'strange': stage 'first' task", allowed, given: 'stranger' },
      { path: "graph 'judgs': node 'only' task", allowed, given: 'judge' },
    ])
  })

  test('a misspelt option of a definition, with the options that it has and its own word', async () => {
    const agent = defineAgent(
      { name: 'agent', capabilities: [], domain: [], input: z.number(), output: z.number() },
      (_, n) => n,
    )
    const unit = { input: z.number() }
    const stages = [{ name: 'first', task: known }]
    const nodes = { only: { task: known } }
    const market = { name: 'm', ...unit, output: z.number(), agents: [agent] }
    const ofTask =
      'lane, timeoutMs, abortGraceMs, profile, limits, model, budget, tools, retry, recovery, domain, rateLimited, replay, errors, oversight'
    const isolated = `${ofTask}, isolation, module, memoryMb`
    const asked: readonly (readonly [() => unknown, string])[] = [
      [
        () => defineSupervisor({ type: 's', ...unit, maxRestart: 3 } as never),
        "supervisor 's': maxRestart: no such option, did you mean maxRestarts?; given 3",
      ],
      [
        () => defineSupervisor({ type: 's', ...unit, colour: 3 } as never),
        `supervisor 's': colour: no such option; there are type, input, children, strategy, maxRestarts, periodMs, endsWith, shutdownMs, results, ${isolated}; given 3`,
      ],
      [
        () => definePipeline({ name: 'p', stages, maxUnreed: 3 } as never),
        "pipeline 'p': maxUnreed: no such option, did you mean maxUnread?; given 3",
      ],
      [
        () => definePipeline({ name: 'p', stages, colour: 3 } as never),
        `pipeline 'p': colour: no such option; there are name, input, stages, maxUnread, ${isolated}; given 3`,
      ],
      [
        () => definePipeline({ name: '', stages, timeoutMs: -1 }),
        "pipeline '…': timeoutMs: a number of ms above 0",
      ],
      [
        () => defineGraph({ type: 'g', ...unit, nodes, concurency: 3 } as never),
        "graph 'g': concurency: no such option, did you mean concurrency?; given 3",
      ],
      [
        () => defineGraph({ type: 'g', nodes, colour: 3 } as never),
        `graph 'g': colour: no such option; there are type, input, nodes, concurrency, onFailure, ${isolated}; given 3`,
      ],
      [() => defineGraph({ type: 'g', nodes } as never), "graph 'g': input: a schema, such as"],
      [
        () => defineMarketplace({ ...market, rankings: {} } as never),
        "marketplace 'm': rankings: no such option, did you mean ranking?; given {}",
      ],
      [
        () => defineMarketplace({ ...market, colour: 3 } as never),
        `marketplace 'm': colour: no such option; there are name, input, output, agents, contracted, stages, ranking, weights, ${ofTask}; given 3`,
      ],
      [
        () => defineMarketplace({ ...market, timeoutMs: -1, weights: { quality: 2 } }),
        "marketplace 'm': timeoutMs: a number of ms above 0",
      ],
    ]
    for (const [define, message] of asked) expect(await told(define)).toContain(message)
  })

  test('the task of a child or a stage may be of any kind, and the message names them all', async () => {
    const task = {} as never
    const all = 'what defineTask, defineGraph, definePipeline or defineSupervisor returns'
    expect(
      await told(() => defineSupervisor({ type: 's', input: z.null(), children: { a: { task } } })),
    ).toContain(`supervisor 's': child 'a' task: ${all}`)
    expect(await told(() => definePipeline({ name: 'p', stages: [{ name: 'a', task }] }))).toContain(all)
  })

  test('14.3 a fallback that is the task itself, in one line with what to write', async () => {
    const unit = { input: z.number(), output: z.number() }
    for (const fallback of [known, 'known', { type: 'known' }]) {
      const message = await told(() =>
        defineTask({ type: 'a', ...unit, recovery: { crash: 'fallback_agent', fallback } } as never, () => 1),
      )
      expect(message.split('\n').slice(1)).toEqual([
        expect.stringMatching(
          /^ {2}task 'a': recovery\.fallback: \{ task, model\?, cost\? \}: for a task alone, write \{ task: … \}; given /,
        ),
      ])
    }
  })

  test('a supervised child by a name that is nearly right, and an amount that rounds to nothing', async () => {
    const waits = defineTask({ type: 'waits', input: z.undefined() }, (ctx) => ctx.waitForSignal('go'))
    const sup = defineSupervisor({ type: 'sup', input: z.null(), children: { ada: { task: waits } } })
    await using it = await createTestRuntime({ tasks: [sup, waits], config: { shares: { ledger: true } } })
    const { supervisors, credits } = it.runtime
    const receipt = await it.runtime.submit(sup, null)
    await it.settle()
    for (const call of ['stop', 'restart'] as const) {
      const message = await told(() => supervisors[call](receipt, 'adda'))
      expect(message).toBe(
        `supervisors.${call}: supervisor ${receipt.taskId} has no child 'adda', did you mean ada?`,
      )
    }
    expect(await told(() => credits.purchase('a', 1e-7))).toBe(
      'credits.purchase: an amount from 0.000001, a millionth, to 1e9; given 1e-7',
    )
  })

  test('more capacity than a maxInFlightPerWorker that is set is a warning that names both', async () => {
    const warned: [string, unknown][] = []
    const logger = {
      debug() {},
      info() {},
      error() {},
      warn: (...line: readonly unknown[]) => warned.push(line as unknown as [string, unknown]),
    }
    const workers = { count: 1, capacity: 50 }
    const tasks = [known]
    await using _ = await createRuntime({
      store: 'sqlite::memory:',
      tasks,
      workers,
      logger,
      config: { maxInFlightPerWorker: 4 },
    })
    expect(JSON.stringify(warned)).toMatch(/workers\.capacity 50 is more than maxInFlightPerWorker 4/)
  })

  test('a capacity that is asked for lifts a limit that nobody has set', async () => {
    const memory = {
      store: 'sqlite::memory:',
      thread: false,
      tasks: [known],
      workers: { capacity: 20 },
      logger: false,
    } as const
    for (const [config, capacity] of [
      [undefined, 20],
      [{ queueDepthLimit: 2_000 }, 20],
      [{ maxInFlightPerWorker: undefined }, 20],
      [{ maxInFlightPerWorker: 6 }, 6],
    ] as const) {
      await using it = await createRuntime({ ...memory, config })
      expect(await it.workers()).toMatchObject([{ capacity }])
    }
    await using few = await createRuntime({ ...memory, workers: { capacity: 2 } })
    expect(await few.workers()).toMatchObject([{ capacity: 2 }])
    await using usual = await createRuntime({ ...memory, workers: 1 })
    expect(await usual.workers()).toMatchObject([{ capacity: 4 }])
  })

  test('a store that was opened with a limit of its own keeps it, and the runtime says so', async () => {
    const warned: string[] = []
    const logger = {
      debug() {},
      info() {},
      error() {},
      warn: (...line: readonly unknown[]) => warned.push(JSON.stringify(line)),
    }
    for (const [config, capacity] of [
      [undefined, 4],
      [{ maxInFlightPerWorker: 20 }, 20],
    ] as const) {
      const store = await openStore('sqlite::memory:', {
        thread: false,
        ...(config === undefined ? {} : { config }),
      })
      const it = await createRuntime({ store, tasks: [known], workers: { capacity: 20 }, logger })
      expect(await it.workers()).toMatchObject([{ capacity }])
      await it.close()
      await store.close()
    }
    expect(warned.filter((line) => line.includes('workers.capacity'))).toHaveLength(1)
    expect(warned.join()).toContain('open the store with config: { maxInFlightPerWorker: 20 }')
  })

  test('a series of something else than a window', async () => {
    await using it = await createTestRuntime({ tasks: [known] })
    for (const given of [Infinity, null, 60_000])
      await expect(it.runtime.series(given as never)).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringContaining('series: an object with windowMs') as string,
      })
  })

  test('a sweep without its script, and a test runtime without options', async () => {
    expect(await told(() => sweepCrashes(undefined as never))).toMatch(
      /^sweepCrashes options: an object with .*; given undefined$/,
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
    const wrong = await failing((ctx) => ctx.spawn('sum', known, Symbol('no') as never))
    expect(wrong).not.toContain("'sum'the")
  })

  test('a value that cannot even be looked at is refused like any other, as a whole or in a field', async () => {
    await using it = await createTestRuntime({ tasks: [known] })
    const { runtime } = it
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const trap = {
      get lane(): never {
        throw new Error('a getter of theirs')
      },
    }
    const unreadable = [proxy, trap] as never[]
    const calls: Readonly<Record<string, (given: never) => unknown>> = {
      'submit options': (given) => runtime.submit(known, 1, given),
      'submit option budget': (budget) => runtime.submit(known, 1, { budget }),
      'submit option dueAt': (dueAt) => runtime.submit(known, 1, { dueAt }),
      'submit: what defineTask or defineContract returns': (task) => runtime.submit(task, 1),
      'submitMany: a list of': (items) => runtime.submitMany(items),
      'status: a receipt': (task) => runtime.status(task),
      'observe: an object': (observer) => runtime.observe(observer),
      'evaluations.record option weights': (weights) =>
        runtime.evaluations.record('a', { quality: 1 }, { weights }),
      'config: settings that can be read': (config) =>
        createRuntime({ store: 'sqlite::memory:', tasks: [], config }),
      'tasks: a list': (tasks) => createRuntime({ store: 'sqlite::memory:', tasks }),
      'graph: an object with type': (graph) => defineGraph(graph),
      'composition: an object with type': (options) => defineComposition(options, passThrough()),
      'toAgentView: what runtime.status returns': (status) => toAgentView(status),
    }
    for (const [place, call] of Object.entries(calls))
      for (const given of unreadable)
        expect([place, await told(() => call(given))]).toEqual([place, expect.stringContaining(place)])
  })

  test('an error of a handler or a step ends its task, even if nobody can look at it', async () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const broken = Object.defineProperty(new Error('broken'), 'cause', {
      get: () => {
        throw new Error('a getter of theirs')
      },
    })
    for (const thrown of [proxy, broken] as Error[]) {
      const raise = () => {
        throw thrown
      }
      const message = thrown === broken ? /broken/ : /something unreadable/
      expect(await failing(raise)).toMatch(message)
      expect(await failing((ctx) => ctx.step('a', raise))).toMatch(message)
      expect(await failing((ctx) => ctx.race('a', { b: raise }))).toMatch(message)
    }
  })

  test('no task is no agent, and no options are no graph', async () => {
    const view = toAgentView as (given?: unknown) => AgentView
    expect(await told(() => view())).toBe('toAgentView: what runtime.status returns; given undefined')
    expect(await told(() => view({}))).toBe('agentState: a task as runtime.status gives it; given {}')
    expect(await told(() => (defineGraph as () => unknown)())).toContain(
      'graph: an object with type, input, nodes',
    )
    expect(await told(() => defineComposition({ type: Symbol('s') as never }, passThrough()))).toContain(
      'task: input: a schema, because the composition does not begin with an agent',
    )
  })

  test('a thousand mistakes in one call make no message that nobody can read', async () => {
    await using it = await createTestRuntime({ tasks: [known] })
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`field ${n}`, n])) as never
    const messages = [
      await told(() => it.runtime.list(many)),
      await told(() => it.runtime.submit(known, 1, { budget: many })),
      await told(() => it.runtime.evaluations.record('a', many)),
      await told(() => it.runtime.submitGraph({ nodes: many })),
      await told(() => createRuntime(many)),
      await told(() => createRuntime({ store: 'sqlite::memory:', tasks: [], config: many })),
      await told(() =>
        createRuntime({ store: 'sqlite::memory:', tasks: [], evaluation: { domains: { a: many } } }),
      ),
    ]
    for (const message of messages) {
      expect(message).toMatch(/and \d+ more|…/)
      expect(message.length).toBeLessThan(20_000)
    }
  })

  test('a call inside of a step is named as it was called', async () => {
    const inside = (call: Parameters<typeof failing>[0]) =>
      failing((ctx, input) => ctx.step('around', () => call(ctx, input)))
    expect(await inside((ctx) => ctx.patched('i'))).toContain("patched 'i' was called inside step 'around'")
    expect(await inside((ctx) => ctx.race('r', { a: () => 1 }))).toContain("race 'r' was called inside step")
    expect(await inside((ctx) => ctx.all('r', { a: () => 1 }))).toContain("all 'r' was called inside step")
    expect(await inside((ctx) => ctx.sleep('s', 1))).toContain("sleep 's' was called inside step")
    const page = z.string()
    const staged = async (call: Parameters<typeof failing>[0]) => {
      const first = defineTask({ type: 'first', input: z.undefined() }, (ctx) =>
        ctx.publish('page', '/').then(() => null),
      )
      const last = defineTask({ type: 'last', input: z.undefined() }, ((ctx: never, input: never) =>
        (ctx as TaskContext).step('around', () => call(ctx, input))) as never)
      const line = definePipeline({
        name: 'line',
        stages: [
          { name: 'first', task: first, publishes: { page } },
          { name: 'last', task: last, subscribes: ['page'], publishes: { page, word: page } },
        ],
      })
      await using it = await createTestRuntime({ tasks: [line, first, last] as TaskDefinition[] })
      return await told(() => it.run(line, undefined as never))
    }
    expect(await staged((ctx) => ctx.publish('page', '/'))).toContain(
      "ctx.publish('page') was called inside step 'around', whose function",
    )
    expect(
      await staged((ctx) =>
        ctx.publishAll({ page, word: page }, [
          { type: 'page', data: '/' },
          { type: 'word', data: 'a' },
        ]),
      ),
    ).toContain("ctx.publish('page', 'word') was called inside step 'around'")
    expect(await staged((ctx) => ctx.receive({ page }))).toContain(
      "ctx.receive('page') was called inside step 'around'",
    )
  })
})

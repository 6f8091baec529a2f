import { ConfigError } from '@ku0/agent-runtime-core'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { openStore } from '@ku0/agent-runtime-persistence'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineAgent, defineTask, MAX_WORKERS } from '../src/index.ts'
import { systemEnvironment } from '../src/system.ts'

const task = defineTask({ type: 'a', input: z.null() }, () => 1)
const agent = defineAgent(
  { name: 'a', capabilities: ['read'], domain: ['text'], input: z.null(), output: z.number() },
  () => 1,
)
const refused = (...given: unknown[]) =>
  (createRuntime as (...given: unknown[]) => Promise<never>)(...given).then(
    () => {
      throw new Error('was accepted')
    },
    (error: unknown) => error as ConfigError,
  )

describe('execution: the options of createRuntime', () => {
  test('an opened store is one runtime’s at a time: another is refused until that has stopped', async () => {
    await using stack = new AsyncDisposableStack()
    const store = await openStore('sqlite::memory:', { thread: false })
    stack.defer(() => store.close())
    const options = { store, tasks: [task], logger: false, telemetry: false } as const
    const first = stack.use(await createRuntime(options))
    const error = await refused(options)
    expect(error).toBeInstanceOf(ConfigError)
    expect(error.message).toContain(
      "store: an open store that no other runtime uses: open it again by its URL 'sqlite:PATH' or with openStore, or stop the other runtime first",
    )
    expect(await first.result(await first.submit(task, null))).toBe(1)
    await first.stop()
    const second = stack.use(await createRuntime(options))
    // A stop that is repeated takes nothing from who has the store now.
    await first.stop()
    await refused(options)
    expect(await second.result(await second.submit(task, null))).toBe(1)
  })

  test.each([[[]], [[null]], [['sqlite::memory:']], [[5]], [[[task]]]])(
    'are an object, which %j is not',
    async (given) => {
      const error = await refused(...given)
      expect(error).toBeInstanceOf(ConfigError)
      expect(error.message).toContain('options: an object, such as { store, tasks }')
    },
  )

  test.each([
    [
      { store: undefined },
      "store: 'sqlite:PATH', 'sqlite::memory:', 'postgres://HOST/DATABASE' or what openStore returns; not given",
    ],
    [{ store: 5 }, 'store: '],
    [{ store: null }, 'store: '],
    [{ store: {} }, 'store: '],
    [{ store: new URL('sqlite:a.db') }, 'store: '],
    [{ store: '' }, 'store: unknown store ""'],
    [
      { workers: null },
      'workers: a whole number from 0 to 1000 (MAX_WORKERS), or an object with count, capacity, maxTasks, types, lanes, ids',
    ],
    [{ workers: 'two' }, 'workers: '],
    [{ workers: [] }, 'workers: '],
    [{ workers: -1 }, 'workers: '],
    [{ workers: 1.5 }, 'workers: '],
    [{ workers: 1_000_000 }, 'workers: a whole number from 0 to 1000 (MAX_WORKERS)'],
    [{ workers: { count: 1_001 } }, 'workers.count: a whole number from 0 to 1000 (MAX_WORKERS); given 1001'],
    [{ workers: { cuont: 2 } }, 'workers.cuont: no such option, did you mean count?; given 2'],
    [{ workers: { capacity: 1.5 } }, 'workers.capacity: a whole number from 1 '],
    [{ workers: { count: 2, capacity: 0 } }, 'workers.capacity: a whole number from 1 '],
    [{ workers: { ids: [1, 2] } }, 'workers.ids: at most 1000 different ids of 1 to 255 characters'],
    [{ workers: { ids: [''] } }, 'workers.ids: '],
    [{ workers: { ids: ['a\ud800'] } }, 'workers.ids: '],
    [{ workers: { ids: 'ab' } }, 'workers.ids: '],
    [{ workers: { count: 1, ids: ['a', 'b'] } }, 'workers.ids: 1 different ids'],
    [
      { workers: { ids: Array.from({ length: 1_001 }, (_, index) => `${index}`) } },
      'workers.ids: at most 1000',
    ],
    [{ workers: { types: 'a' } }, "workers.types: a list of '*' or of a"],
    [{ workers: { lanes: [] } }, 'workers.lanes: a list of interactive, normal, batch'],
    [{ workers: { lanes: ['fast'] } }, 'workers.lanes: a list of interactive, normal, batch'],
    [{ workers: { types: [] } }, "workers.types: a list of '*' or of a"],
    [{ durability: 'foo' }, "durability: 'full' or 'normal'; given \"foo\""],
    [{ thread: 'x' }, 'thread: true or false; given "x"'],
    [{ signals: 'yes' }, 'signals: true or false; given "yes"'],
    [{ start: 1 }, 'start: true or false; given 1'],
    [
      { telemetry: 'off' },
      'telemetry: false, or an object with meterProvider, tracerProvider, logger, logPayloads',
    ],
    [{ telemetry: true }, 'telemetry: false, or an object'],
    [{ telemetry: { foo: 1 } }, 'telemetry.foo: no such option; there are meterProvider, tracerProvider,'],
    [{ telemetry: { logPayloads: 1 } }, 'telemetry.logPayloads: true or false; given 1'],
    [{ telemetry: { meterProvider: {} } }, 'telemetry.meterProvider: a MeterProvider; given {}'],
    [{ evaluation: 5 }, 'evaluation: an object with domains, driftThreshold; given 5'],
    [{ evaluation: { domain: {} } }, 'evaluation.domain: no such option, did you mean domains?'],
    [{ evaluation: { domains: [] } }, 'evaluation.domains: weights by the name of a domain'],
    [{ evaluation: { driftThreshold: 0 } }, 'evaluation.driftThreshold: a number above 0, up to 1; given 0'],
    [{ evaluation: { driftThreshold: 1.1 } }, 'evaluation.driftThreshold: a number above 0, up to 1'],
    [
      { evaluation: { domains: { support: { quality: 0.5 } } } },
      'evaluation.domains.support: weights that sum to 1; the given ones sum to 0.5; given {"quality":0.5}',
    ],
    [
      { evaluation: { domains: { support: { quality: 2, cost: -1, fun: 1 } } } },
      'evaluation.domains.support: fun: no such dimension; there are quality, adherence, speed, cost, errors, revisions; cost: a finite number, 0 or more; given -1;',
    ],
    [{ evaluation: { domains: { a: null } } }, 'evaluation.domains.a: an object with quality, adherence'],
    [{ evaluation: { domains: { '': {} } } }, 'evaluation.domains.: a name of 1 to 255 characters'],
    [{ logger: true }, 'logger: false, or a logger with the methods debug, info, warn, error'],
    [{ logger: {} }, 'logger: '],
    [{ onFailure: 1 }, 'onFailure: a function; given 1'],
    [{ environment: {} }, 'environment: an object with clock, timers, ids, random, digest; given {}'],
    [{ config: null }, 'config: an object with settings; given null'],
    [{ config: { leaseTtl: 1 } }, 'config.leaseTtl: no such setting, did you mean leaseTtlMs?'],
    [{ worker: 2 }, 'worker: no such option, did you mean workers?; given 2'],
    [{ tasks: 'a' }, 'tasks: a list of what defineTask returns; given "a"'],
    [{ tasks: [agent] }, "tasks[0]: what defineTask returns; for the agent 'a' that is agent.task; given {"],
    [{ tasks: [null] }, 'tasks[0]: what defineTask returns; given null'],
    [{ tasks: [task, { type: 'b', handler() {} }] }, 'tasks[1]: what defineTask returns'],
    [{ tasks: [], workers: { types: ['a'] } }, "workers.types: a list of '*' or of the types in tasks"],
    [{ tasks: [5], workers: { types: ['a'] } }, 'tasks[0]: what defineTask returns; given 5'],
    [{ tasks: [{ ...task, lane: 'fast' }] }, 'tasks[0]: what defineTask returns'],
    [{ tasks: [{ ...task, retry: { attempts: 3 } }] }, 'tasks[0]: what defineTask returns'],
    [{ tasks: [{ ...task, type: 'a\ud800' }] }, 'tasks[0]: what defineTask returns'],
  ])('refuse %j', async (wrong, message) => {
    const error = await refused({ store: 'sqlite:/nowhere/at/all.db', tasks: [task], ...wrong })
    expect(error).toBeInstanceOf(ConfigError)
    expect(error.message).toContain(message)
    expect(error.problems).toHaveLength(1)
  })

  test('G11 all wrong settings are refused in one error, each with the allowed values and the given one', async () => {
    const error = await refused({
      store: 5,
      tasks: [task, task],
      worker: 1,
      workers: { count: -1, capacity: 'x' },
      durability: 'foo',
      telemetry: { logPayload: true },
      config: { maxCrashes: 0, leaseTtl: 1 },
    })
    expect(error).toMatchObject({ name: 'ConfigError', code: 'invalid_config' })
    expect(error.problems.map(({ path }) => path).toSorted()).toEqual([
      'config.leaseTtl',
      'config.maxCrashes',
      'durability',
      'store',
      'tasks[1].type',
      'telemetry.logPayload',
      'worker',
      'workers.capacity',
      'workers.count',
    ])
    for (const { path, allowed } of error.problems)
      expect(error.message).toContain(`\n  ${path}: ${allowed}; given `)
  })

  test('are as documented when they are right', async () => {
    const ids = ['one', 'two']
    const environment = createVirtualEnvironment('options', { digest: systemEnvironment.digest })
    await using runtime = await createRuntime({
      store: 'sqlite::memory:',
      tasks: [task],
      config: {},
      workers: { ids, capacity: 50, types: ['*'] },
      durability: 'normal',
      thread: false,
      signals: false,
      evaluation: { domains: { support: { quality: 0.75, speed: 0.25 } }, driftThreshold: 0.3 },
      start: true,
      telemetry: { logPayloads: false },
      logger: false,
      environment,
      onFailure: () => {},
    })
    expect(await runtime.workers()).toMatchObject(ids.map((workerId) => ({ workerId, capacity: 50 })))
    await using most = await createRuntime({
      store: 'sqlite::memory:',
      tasks: [],
      workers: MAX_WORKERS,
      logger: false,
    })
    expect(await most.workers()).toHaveLength(MAX_WORKERS)
  })
})

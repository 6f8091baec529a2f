import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ExecutionStore } from '@ku0/agent-runtime-core'
import {
  createRuntime,
  defineAgent,
  defineAgreement,
  defineContract,
  defineDomain,
  defineSupervisor,
  defineTask,
  NonRetryableError,
  type Runtime,
  RuntimeError,
  type TaskDefinition,
} from '../../src/index.ts'
import { virtualRuntime } from '../virtual-runtime.ts'

const text = { input: z.string(), output: z.string() }
const full = () => Object.assign(new Error('the context is full'), { code: 'limit_exceeded' })
const fails = (): never => {
  throw full()
}

/** A task that fails, and the one that it hands over to, which gets its turn. */
async function handed(
  turn: (input: string, nth: number) => unknown,
  more: Partial<Parameters<typeof defineTask>[0]> = {},
  others: (quick: TaskDefinition) => readonly TaskDefinition[] = () => [],
) {
  const ran: string[] = []
  const careful = defineTask({ type: 'careful', ...text }, async (ctx, input) => {
    ran.push('careful')
    return ctx.step('turn', () => turn(input, ran.filter((it) => it === 'careful').length)) as Promise<string>
  })
  const { recovery, ...options } = more
  const quick = defineTask(
    {
      type: 'quick',
      ...text,
      ...(options as object),
      recovery: { ...(recovery as object), fallback: { task: careful } },
    },
    async (ctx) => {
      ran.push(ctx.failure === undefined ? 'quick' : `quick after ${ctx.failure.category}`)
      await ctx.step('read', () => 'kept')
      throw full()
    },
  )
  const tasks = [careful, quick, ...others(quick)] as TaskDefinition[]
  const virtual = await virtualRuntime({ tasks, workers: { capacity: 4 } })
  return { ...virtual, quick, careful, ran }
}

/** The oversight mode that a task was submitted with. */
async function submittedOversight(runtime: Runtime, taskId: string): Promise<unknown> {
  for await (const event of runtime.events(taskId, { live: false }))
    if (event.type === 'task.queued') return event.data.oversight
  return undefined
}

/** The line to the store is down at every other read of memos. Returns how often it was. */
function refusingMemos(store: ExecutionStore): () => number {
  const read = store.read.bind(store)
  let reads = 0
  store.read = ((query: Parameters<typeof read>[0]) => {
    if (query.kind !== 'memos' || reads++ % 2 === 1) return read(query)
    return Promise.reject(new RuntimeError('store_unavailable', 'the line is down'))
  }) as typeof read
  return () => Math.ceil(reads / 2)
}

describe('execution: a task that is handed over to another agent', () => {
  test('14.3 the try after the failure calls the other task, and its output is that of the first', async () => {
    const { runtime, elapse, quick, ran } = await handed((input) => `careful ${input}`)
    const { taskId } = await runtime.submit(quick, 'text')
    await elapse(0)
    expect(await runtime.status(taskId)).toMatchObject({
      state: 'completed',
      output: 'careful text',
      steps: 1,
      attempt: 2,
    })
    expect(ran).toEqual(['quick', 'careful'])
    const recoveries: unknown[] = []
    const spawned: string[] = []
    for await (const event of runtime.events(taskId, { live: false })) {
      if (event.type === 'task.requeued') recoveries.push(event.data.recovery)
      if (event.type === 'child.spawned') spawned.push(event.data.taskId)
    }
    const handedOver = { category: 'resource_exhaustion', kind: 'limit_exceeded', strategy: 'fallback_agent' }
    expect(recoveries).toEqual([{ ...handedOver, task: 'careful' }])
    expect(await runtime.status(spawned[0] ?? '')).toMatchObject({
      parent: taskId,
      labels: { 'recovery.handedOverBy': '["quick"]' },
    })
    expect(await runtime.replay(taskId, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
  })

  test('14.3 while the other works, the first holds no slot, and says who has it', async () => {
    const careful = defineTask({ type: 'careful', ...text }, (ctx) => ctx.waitForSignal<string>('go'))
    const quick = defineTask({ type: 'quick', ...text, recovery: { fallback: { task: careful } } }, fails)
    const { runtime, elapse } = await virtualRuntime({ tasks: [quick, careful], workers: { capacity: 1 } })
    const { taskId } = await runtime.submit(quick, 'text')
    await elapse(0)
    const explained = await runtime.explain(taskId)
    expect(explained?.summary).toContain("waits for 'careful', which it was handed over to (task ")
    expect(explained?.requeued?.last.recovery).toMatchObject({ task: 'careful' })
    await runtime.cancel(taskId)
    await elapse(0)
    const { tasks } = await runtime.list({ types: ['careful'] })
    expect(tasks.map(({ state }) => state)).toEqual(['canceled'])
  })

  test('14.3 its failure is that of the task, with its own category, and it is not asked again', async () => {
    const slow = () => {
      throw Object.assign(new Error('too slow'), { code: 'timeout' })
    }
    const { runtime, elapse, quick, ran } = await handed(slow)
    const { taskId } = await runtime.submit(quick, 'text')
    await elapse(60_000)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'failed', attempt: 3 })
    expect(ran).toEqual(['quick', 'careful', 'quick after timeout'])
    const asked = await handed(slow, { recovery: { timeout: 'human_escalation' } })
    const second = await asked.runtime.submit(asked.quick, 'text')
    await asked.elapse(0)
    const [question] = (await asked.runtime.approvals.list()).approvals
    expect(question?.artifact).toMatchObject({ escalated: 'timeout' })
    await asked.runtime.approvals.approve(question?.approvalId ?? '')
    await asked.elapse(0)
    expect(asked.ran).toEqual(['quick', 'careful', 'quick after timeout'])
    expect(await asked.runtime.status(second.taskId)).toMatchObject({ state: 'failed' })
  })

  test('14.3 the category of its failure is that of the error that its handler threw, also down a chain', async () => {
    const late = (): never => {
      throw Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })
    }
    const last = defineTask({ type: 'last', ...text }, late)
    const careful = defineTask(
      { type: 'careful', ...text, recovery: { timeout: 'fail', fallback: { task: last } } },
      fails,
    )
    const failures: unknown[] = []
    const quick = defineTask(
      { type: 'quick', ...text, recovery: { timeout: 'retry_with_feedback', fallback: { task: careful } } },
      (ctx, it) => {
        failures.push(ctx.failure?.category)
        if (ctx.failure === undefined) fails()
        return it
      },
    )
    const { runtime, elapse } = await virtualRuntime({ tasks: [last, careful, quick] as TaskDefinition[] })
    const { taskId } = await runtime.submit(quick, 'text')
    await elapse(60_000)
    expect(failures).toEqual([undefined, 'timeout'])
    expect(await runtime.status(taskId)).toMatchObject({ state: 'completed', output: 'text' })
  })

  test('14.3 the models come first, and the other task has the model that is named', async () => {
    const models: (string | undefined)[] = []
    const other = defineTask({ type: 'other', ...text }, (ctx) => {
      models.push(ctx.model)
      return 'done'
    })
    const task = defineTask(
      {
        type: 'task',
        ...text,
        model: 'big',
        recovery: { fallbackModels: ['small'], fallback: { task: other, model: 'tiny' } },
      },
      async (ctx): Promise<string> => {
        models.push(ctx.model)
        throw full()
      },
    )
    const { runtime, elapse } = await virtualRuntime({ tasks: [task, other] })
    const { taskId } = await runtime.submit(task, 'text')
    await elapse(0)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'completed', output: 'done', model: 'small' })
    expect(models).toEqual(['big', 'small', 'tiny'])
  })

  test('14.3 an output that does not fit the schema of the first is a failure of it', async () => {
    const { runtime, elapse, quick, ran } = await handed(() => 'long', {
      output: z.string().max(2),
      recovery: { invalid_output: 'fail' },
    })
    const { taskId } = await runtime.submit(quick, 'text')
    await elapse(0)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'failed', kind: 'invalid_output' })
    expect(ran).toEqual(['quick', 'careful'])
  })

  test('14.2 14.3 a supervisor that starts it again gives it a new beginning, with another call', async () => {
    const turn = (_: string, nth: number) => {
      if (nth === 1) throw new Error('not today')
      return 'the second time'
    }
    const { runtime, elapse, ran } = await handed(turn, {}, (quick) => [
      defineSupervisor({
        type: 'desk',
        input: z.undefined(),
        children: { quick: { task: quick, input: () => 'text' } },
      }) as TaskDefinition,
    ])
    const { taskId } = await runtime.submit('desk', undefined)
    await elapse(0)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'completed' })
    const again = ['quick after crash', 'quick after resource_exhaustion', 'careful']
    expect(ran).toEqual(['quick', 'careful', ...again])
  })

  test('5.4 14.3 the other task has the time to stop that the supervisor of the first gave it', async () => {
    const careful = defineTask(
      { type: 'careful', ...text, abortGraceMs: 9_000 },
      () => new Promise<string>(() => {}),
    )
    const quick = defineTask({ type: 'quick', ...text, recovery: { fallback: { task: careful } } }, fails)
    const desk = defineSupervisor({
      type: 'desk',
      input: z.undefined(),
      children: { quick: { task: quick, input: () => 'text', shutdownMs: 500 } },
    })
    const tasks = [careful, quick, desk] as TaskDefinition[]
    const { runtime, elapse } = await virtualRuntime({ tasks, workers: { capacity: 4 } })
    const receipt = await runtime.submit('desk', undefined)
    await elapse(0)
    const { tasks: others } = await runtime.list({ types: ['careful'] })
    expect(others).toMatchObject([{ state: 'running', labels: { 'supervisor.shutdownMs': '500' } }])
    await runtime.cancel(receipt)
    const leaked = async (ms: number) => {
      await elapse(ms)
      return runtime.leaked().length
    }
    expect([await leaked(499), await leaked(1)]).toEqual([0, 1])
  })

  test('12.5 14.3 a contract names it, and an agreement holds for both', async () => {
    const careful = defineTask({ type: 'careful', ...text }, (ctx) => ctx.waitForSignal<string>('go'))
    const contract = defineContract({
      type: 'quick',
      ...text,
      recovery: { crash: 'fallback_agent', fallback: { task: careful, cost: 9 } },
    })
    const quick = defineTask(contract, async (): Promise<string> => {
      throw new Error('too quick')
    })
    const agents = ['quick']
    const gold = defineAgreement({
      name: 'gold',
      client: 'acme',
      agents,
      oversight: 'supervised',
      lane: 'batch',
    })
    const { runtime, elapse } = await virtualRuntime({ tasks: [careful, quick] as TaskDefinition[] })
    await runtime.submit(contract, 'text', { agreement: gold })
    await elapse(0)
    const { tasks } = await runtime.list({ types: ['careful'] })
    const labels = { agreement: 'gold', 'recovery.handedOverBy': '["quick"]' }
    expect(tasks).toMatchObject([{ state: 'waiting', client: 'acme', lane: 'batch', cost: 9, labels }])
    expect(await submittedOversight(runtime, tasks[0]?.taskId ?? '')).toBe('supervised')
  })

  test('14.3 each model and the other task have their turn, whatever the number of tries', async () => {
    const { runtime, elapse, quick, ran } = await handed((input) => input, {
      retry: { attempts: 1 },
      recovery: { fallbackModels: ['small', 'tiny'] },
    })
    const { taskId } = await runtime.submit(quick, 'text')
    await elapse(0)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'completed', attempt: 4 })
    expect(ran.at(-1)).toBe('careful')
  })

  test('14.3 an error of the other task that is final is final for the first, too', async () => {
    const { runtime, elapse, quick, ran } = await handed(() => {
      throw new NonRetryableError('never')
    })
    const { taskId } = await runtime.submit(quick, 'text')
    await elapse(60_000)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'failed', attempt: 2 })
    expect(ran).toEqual(['quick', 'careful'])
  })

  test('14.3 a pass whose memos cannot be read ends no hand-over, and makes no second one', async () => {
    const { runtime, store, elapse, quick, ran } = await handed((input) => input, {
      model: 'big',
      recovery: { crash: 'fallback_agent', fallbackModels: ['small'] },
    })
    const refused = refusingMemos(store)
    const { taskId } = await runtime.submit(quick, 'text')
    await elapse(600_000)
    // The pass with the small model, and that which calls the other task.
    expect(refused()).toBe(2)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'completed', output: 'text' })
    expect(ran).toEqual(['quick', 'quick after resource_exhaustion', 'careful'])
  })

  test('14.3 a person who has to be asked is asked, also after a pass whose memos could not be read', async () => {
    const task = defineTask({ type: 'task', ...text, recovery: { crash: 'human_escalation' } }, (ctx) => {
      if (ctx.failure === undefined) throw new Error('no')
      return ctx.failure.strategy
    })
    const { runtime, store, elapse } = await virtualRuntime({ tasks: [task] })
    const refused = refusingMemos(store)
    const { taskId } = await runtime.submit(task, 'text')
    await elapse(60_000)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'waiting' })
    const [question] = (await runtime.approvals.list()).approvals
    await runtime.approvals.approve(question?.approvalId ?? '')
    await elapse(60_000)
    expect(refused()).toBe(2)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'completed', output: 'human_escalation' })
  })

  test('5.5 14.3 a task with as many children as it may have is handed over', async () => {
    const slow = defineTask({ type: 'slow', input: z.undefined() }, (ctx) => ctx.waitForSignal('go'))
    const careful = defineTask({ type: 'careful', ...text }, (_ctx, input) => input)
    const many = defineTask(
      { type: 'many', ...text, recovery: { fallback: { task: careful } } },
      async (ctx): Promise<string> => {
        for (const key of ['a', 'b', 'c']) await ctx.spawn(key, slow, undefined)
        return 'all'
      },
    )
    const tasks = [slow, careful, many] as TaskDefinition[]
    const { runtime, elapse } = await virtualRuntime({ tasks, config: { maxChildren: 2 } })
    const { taskId } = await runtime.submit(many, 'text')
    await elapse(0)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'completed', output: 'text' })
    const left = await runtime.list({ types: ['slow'] })
    expect(left.tasks.map(({ state }) => state)).toEqual(['canceled', 'canceled'])
  })

  test('12.2 14.3 waits that the handler has left open do not act on a task that was handed over', async () => {
    const careful = defineTask({ type: 'careful', ...text }, (ctx) => ctx.waitForSignal<string>('go'))
    const asks = defineTask(
      { type: 'asks', ...text, recovery: { fallback: { task: careful } } },
      async (ctx): Promise<string> => {
        const asked = ctx.requestApproval('plan', 'a', { timeoutMs: 1_000, onTimeout: 'fail' })
        const told = ctx.waitForSignal('news', { timeoutMs: 2_000 })
        await Promise.race([asked, told, ctx.sleep('nap', 10)])
        await ctx.step('look', () => {
          throw full()
        })
        return 'done'
      },
    )
    const { runtime, elapse } = await virtualRuntime({ tasks: [careful, asks] as TaskDefinition[] })
    const { taskId } = await runtime.submit(asks, 'text')
    await elapse(0)
    const [question] = (await runtime.approvals.list()).approvals
    expect(question?.key).toBe('plan')
    await elapse(10)
    expect((await runtime.approvals.list()).approvals).toEqual([])
    const late = runtime.approvals.reject(question?.approvalId ?? '', { feedback: 'no' })
    await expect(late).rejects.toThrow('revoked')
    await elapse(10_000)
    const { tasks } = await runtime.list({ types: ['careful'] })
    expect(tasks.map(({ state }) => state)).toEqual(['waiting'])
    expect(await runtime.explain(taskId)).toMatchObject({ state: 'waiting' })
    await runtime.signal(tasks[0]?.taskId ?? '', 'go', 'went')
    await elapse(0)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'completed', output: 'went' })
    expect(await runtime.replay(taskId, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
  })

  test('6.4 14.3 a hand-over is no sign of an old path: a patch is new where no call came after it', async () => {
    const patched: boolean[] = []
    const careful = defineTask({ type: 'careful', ...text }, () => {
      throw new Error('no')
    })
    const task = defineTask(
      { type: 'task', ...text, recovery: { fallback: { task: careful } } },
      async (ctx): Promise<string> => {
        if (ctx.failure === undefined) throw full()
        patched.push(await ctx.patched('new'))
        return 'done'
      },
    )
    const { runtime, elapse } = await virtualRuntime({ tasks: [careful, task] as TaskDefinition[] })
    const { taskId } = await runtime.submit(task, 'text')
    await elapse(0)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'completed', output: 'done' })
    expect(patched).toEqual([true])
  })

  test('6.3 14.3 a retry begins with the handler, and calls the other task again', async () => {
    const { runtime, elapse, quick, ran } = await handed((_, nth) => (nth === 1 ? 'long' : 'ok'), {
      output: z.string().max(2),
      recovery: { invalid_output: 'fail' },
    })
    const { taskId } = await runtime.submit(quick, 'text')
    await elapse(0)
    const retried = await runtime.retry(taskId)
    await elapse(0)
    expect(await runtime.status(retried.taskId)).toMatchObject({ state: 'completed', output: 'ok' })
    expect(ran).toEqual(['quick', 'careful', 'quick', 'careful'])
  })

  test('14.3 the table of a domain names it, and hands its own task over to nobody', () => {
    const legal = defineDomain({
      name: 'legal',
      recovery: { timeout: 'fallback_agent', fallback: { task: 'careful' } },
    })
    const of = (type: string) => defineTask({ type, ...text, domain: legal }, (_, it) => it).recovery
    expect(of('quick')).toMatchObject({
      table: { timeout: 'fallback_agent', resource_exhaustion: 'fallback_agent' },
      fallback: { task: 'careful' },
    })
    expect(of('careful')?.fallback).toBeUndefined()
    // Nobody has another agent for it: the usual answers hold.
    expect(of('careful')?.table).toMatchObject({ timeout: 'retry_with_backoff', resource_exhaustion: 'fail' })
    const web = defineDomain({ name: 'web', recovery: { fallback: { task: 'browser' } } })
    const both = defineTask({ type: 'careful', ...text, domain: [legal, web] }, (_, it) => it).recovery
    expect(both?.fallback).toEqual({ task: 'browser' })
  })

  test('14.3 a task that is handed over by a name needs an output schema', () => {
    const legal = defineDomain({ name: 'legal', recovery: { fallback: { task: 'careful' } } })
    const of = { type: 'quick', input: z.string() }
    const message = "task 'quick': output: a schema, because it checks what 'careful' gives"
    expect(() => defineTask({ ...of, recovery: { fallback: { task: 'careful' } } }, () => '')).toThrow(
      message,
    )
    expect(() => defineTask({ ...of, domain: legal }, () => '')).toThrow(message)
    expect(defineTask({ ...of, type: 'careful', domain: legal }, () => '').recovery?.fallback).toBeUndefined()
  })

  test('14.3 a task that hands over to itself, in a circle or to one that is not there is refused', async () => {
    const over = (type: string, task: string) =>
      defineTask({ type, ...text, recovery: { fallback: { task } } }, (_, it) => it)
    expect(() => over('a', 'a')).toThrow("task 'a': recovery.fallback.task: another task type")
    expect(() => over('a', '')).toThrow('recovery.fallback.task')
    const dear = { type: 'a', ...text, recovery: { fallback: { task: 'b', cost: -1 } } }
    expect(() => defineTask(dear, (_, it) => it)).toThrow('recovery.fallback.cost: a number from 0')
    const opened = (...tasks: TaskDefinition[]) => createRuntime({ store: 'sqlite::memory:', tasks })
    await expect(opened(over('a', 'b') as TaskDefinition, over('b', 'a') as TaskDefinition)).rejects.toThrow(
      'a task that does not hand over to \'a\' again; given "a > b > a"',
    )
    await expect(opened(over('a', 'b') as TaskDefinition)).rejects.toThrow('one of the tasks of this program')
  })

  test('14.3 the compiler refuses another task with other schemas', () => {
    const counts = defineTask({ type: 'counts', input: z.string(), output: z.number() }, () => 1)
    const adds = defineTask({ type: 'adds', input: z.number(), output: z.string() }, () => '')
    const wide = defineTask(
      { type: 'wide', input: z.union([z.string(), z.number()]), output: z.literal('a') },
      () => 'a' as const,
    )
    const of = { type: 't', ...text }
    // @ts-expect-error -- what it gives does not fit
    defineTask({ ...of, recovery: { fallback: { task: counts } } }, (_, it) => it)
    // @ts-expect-error -- it does not take the input
    defineTask({ ...of, recovery: { fallback: { task: adds } } }, (_, it) => it)
    const open = { type: 't', input: z.string() }
    // @ts-expect-error -- this one has no output schema
    expect(() => defineTask({ ...open, recovery: { fallback: { task: wide } } }, (_, it) => it)).toThrow(
      'output: a schema',
    )
    const task = defineTask({ ...of, recovery: { fallback: { task: wide } } }, (_, it) => it)
    expect(task.recovery?.fallback).toEqual({ task: 'wide' })
    const agent = defineAgent(
      {
        name: 'n',
        capabilities: [],
        domain: [],
        ...text,
        recovery: { fallback: { task: wide, model: 'm' } },
      },
      (_, it) => it,
    )
    expect(agent.task.recovery?.fallback).toEqual({ task: 'wide', model: 'm' })
  })
})

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ConfigError } from '@ku0/agent-runtime-core'
import {
  combineRecovery,
  defineAgent,
  defineDomain,
  defineTask,
  NonRetryableError,
  type RecoverySetting,
  type Runtime,
  type TaskContext,
  type TaskFailure,
} from '../../src/index.ts'
import { virtualRuntime } from '../virtual-runtime.ts'

const plain = { initialMs: 1_000, factor: 2, maxMs: 60_000, jitter: 0 }

type Options = Partial<Omit<Parameters<typeof defineTask>[0], 'type' | 'input' | 'recovery'>>

/** A task whose body gets its context and the number of the pass. */
async function begun(
  recovery: RecoverySetting | undefined,
  body: (ctx: TaskContext, pass: number) => unknown,
  options: Options = {},
) {
  let passes = 0
  const seen: (TaskFailure | undefined)[] = []
  const task = defineTask(
    { type: 'recovered', input: z.any(), recovery, ...options },
    (ctx): Promise<never> => {
      passes += 1
      seen.push(ctx.failure)
      return body(ctx, passes) as Promise<never>
    },
  )
  const virtual = await virtualRuntime({ tasks: [task], workers: { capacity: 2 } })
  const { taskId } = await virtual.runtime.submit(task, null)
  await virtual.elapse(0)
  const types = async () => {
    const names: string[] = []
    for await (const event of virtual.runtime.events(taskId, { live: false })) names.push(event.type)
    return names
  }
  return {
    ...virtual,
    taskId,
    task,
    passes: () => passes,
    seen,
    types,
    status: () => virtual.runtime.status(taskId),
  }
}

const failing =
  (times: number, error: () => unknown = () => new Error('no')) =>
  async (ctx: TaskContext, pass: number) => {
    const first = await ctx.step('first', () => 'kept')
    if (pass <= times) throw error()
    return `${first} after ${pass}`
  }

async function question(runtime: Runtime) {
  const { approvals } = await runtime.approvals.list()
  return approvals[0]
}

describe('execution: recovery by category of failure', () => {
  test('14.3 without a table nothing changes: the first failure is final', async () => {
    const { status, passes } = await begun(undefined, failing(1))
    expect(await status()).toMatchObject({ state: 'failed', kind: 'error' })
    expect(passes()).toBe(1)
  })

  test('14.3 a crash restarts the task at once, with its memos, and the next try sees what happened', async () => {
    const { status, passes, seen, runtime, taskId } = await begun({}, failing(1))
    expect(await status()).toMatchObject({ state: 'completed', output: 'kept after 2', attempt: 2, steps: 1 })
    expect(passes()).toBe(2)
    expect(seen).toEqual([
      undefined,
      {
        category: 'crash',
        strategy: 'restart',
        kind: 'error',
        error: { name: 'Error', message: 'no' },
        attempt: 1,
      },
    ])
    expect((await runtime.explain(taskId))?.requeued?.last).toMatchObject({
      reason: 'retry',
      recovery: { category: 'crash', strategy: 'restart', kind: 'error' },
    })
  })

  test('14.3 the number of tries is that of retry, or three', async () => {
    const three = await begun({}, failing(9))
    expect(await three.status()).toMatchObject({ state: 'failed', attempt: 3 })
    const two = await begun({}, failing(9), { retry: { attempts: 2 } })
    expect(await two.status()).toMatchObject({ state: 'failed', attempt: 2 })
  })

  test('14.3 a timeout is tried again after a back-off', async () => {
    const hang = (ctx: TaskContext, pass: number) =>
      pass === 1 ? new Promise((_, reject) => ctx.signal.addEventListener('abort', reject)) : 'in time'
    const { status, elapse, seen } = await begun({}, hang, {
      timeoutMs: 500,
      retry: { attempts: 3, backoff: plain },
    })
    await elapse(500)
    expect(await status()).toMatchObject({ state: 'queued', attempt: 2 })
    await elapse(999)
    expect(await status()).toMatchObject({ state: 'queued' })
    await elapse(1)
    expect(await status()).toMatchObject({ state: 'completed' })
    expect(seen[1]).toMatchObject({ category: 'timeout', strategy: 'retry_with_backoff', kind: 'timeout' })
  })

  test('14.3 an output that its schema refuses is tried again with feedback for the prompt', async () => {
    const { status, seen } = await begun(
      { invalid_output: 'retry_with_feedback' },
      (_, pass) => (pass === 1 ? 7 : 'a text'),
      { output: z.string() },
    )
    expect(await status()).toMatchObject({ state: 'completed', output: 'a text' })
    expect(seen[1]).toMatchObject({ category: 'invalid_output', strategy: 'retry_with_feedback' })
    expect(seen[1]?.feedback).toContain('expected string')
  })

  test('14.3 a fallback goes on with the next model, and keeps the memos', async () => {
    const models: (string | undefined)[] = []
    let firsts = 0
    const full = () => Object.assign(new Error('too much'), { code: 'limit_exceeded' })
    const { status, passes } = await begun(
      { fallbackModels: ['small', 'tiny'] },
      async (ctx, pass) => {
        models.push(ctx.model)
        await ctx.step('first', () => (firsts += 1))
        if (pass < 3) throw full()
        return ctx.step(`with ${ctx.model}`, () => ctx.model)
      },
      { model: 'big' },
    )
    expect(await status()).toMatchObject({ state: 'completed', output: 'tiny' })
    expect([models, firsts, passes()]).toEqual([['big', 'small', 'tiny'], 1, 3])
  })

  test('2.6 14.3 the quota of the new model counts the task, and that of the old one does not', async () => {
    const full = () => Object.assign(new Error('too much'), { code: 'limit_exceeded' })
    const task = defineTask(
      { type: 'quoted', input: z.any(), model: 'big', recovery: { fallbackModels: ['small'] } },
      async (ctx) => {
        if (ctx.model === 'big') throw full()
        await ctx.waitForSignal('go')
        return ctx.model
      },
    )
    const limits = { big: { maxInFlight: 1 }, small: { maxInFlight: 1 } }
    const { runtime, elapse } = await virtualRuntime({
      tasks: [task],
      workers: { capacity: 4 },
      config: { quotaConfig: { models: limits } },
    })
    const first = await runtime.submit(task, 1)
    await elapse(0)
    const held = Object.fromEntries(
      (await runtime.stats()).quotas.map((it) => [it.key, [it.queued, it.running]]),
    )
    expect(held).toEqual({ 'model:big': [0, 0], 'model:small': [0, 0] })
    await runtime.signal(first.taskId, 'go', 1)
    await elapse(0)
    expect(await runtime.status(first.taskId)).toMatchObject({ state: 'completed', output: 'small' })
  })

  test('14.3 with human_escalation the task waits for a person, without a slot, and goes on with their words', async () => {
    const { status, runtime, elapse, seen, passes, types } = await begun(
      { crash: 'human_escalation' },
      failing(1),
    )
    expect(await status()).toMatchObject({ state: 'waiting', waitingFor: 'approval', attempt: 2 })
    expect(passes()).toBe(1)
    const asked = await question(runtime)
    expect(asked?.artifact).toEqual({
      escalated: 'crash',
      kind: 'error',
      error: { name: 'Error', message: 'no' },
      attempt: 1,
    })
    await runtime.approvals.approve(asked?.approvalId ?? '', { by: 'Ada', feedback: 'use the other source' })
    await elapse(0)
    expect(await status()).toMatchObject({ state: 'completed', output: 'kept after 2' })
    expect(seen[1]).toMatchObject({ strategy: 'human_escalation', feedback: 'use the other source' })
    expect(await types()).toEqual([
      'task.queued',
      'task.started',
      'step.completed',
      'task.requeued',
      'task.started',
      'approval.requested',
      'task.waiting',
      'approval.resolved',
      'task.resumed',
      'task.started',
      'task.completed',
    ])
  })

  test('14.3 a person who says no ends the task with the failure that it had', async () => {
    const { status, runtime, elapse, passes, taskId } = await begun({ crash: 'human_escalation' }, failing(1))
    expect((await runtime.explain(taskId))?.summary).toContain('whether it is to go on after its failure')
    await runtime.approvals.reject((await question(runtime))?.approvalId ?? '')
    await elapse(0)
    expect(await status()).toMatchObject({ state: 'failed', kind: 'error', error: { message: 'no' } })
    expect(passes()).toBe(1)
  })

  test('14.3 a person is asked again about each further failure, and what else is waited for does not answer', async () => {
    const { status, runtime, elapse, passes } = await begun(
      { crash: 'human_escalation' },
      async (ctx, pass) => {
        void ctx.sleep('later', 5_000)
        await ctx.step('first', () => 1)
        if (pass <= 2) throw new Error(`failure ${pass}`)
        await ctx.sleep('later still', 1)
        return 'done'
      },
    )
    await elapse(6_000)
    expect(await status()).toMatchObject({ state: 'waiting', waitingFor: 'approval' })
    expect(passes()).toBe(1)
    await runtime.approvals.approve((await question(runtime))?.approvalId ?? '')
    await elapse(0)
    expect((await question(runtime))?.artifact).toMatchObject({ error: { message: 'failure 2' }, attempt: 2 })
    await runtime.approvals.approve((await question(runtime))?.approvalId ?? '')
    await elapse(10_000)
    expect(await status()).toMatchObject({ state: 'completed' })
  })

  test('12.2 14.3 a person who lets a task go on has approved none of its work: a later rejection goes back past that', async () => {
    const drafts: string[] = []
    const { status, runtime, elapse } = await begun({ crash: 'human_escalation' }, async (ctx, pass) => {
      await ctx.step('draft', () => drafts.push(`draft ${drafts.length + 1}`))
      if (pass === 1) throw new Error('no')
      await ctx.requestApproval('review', drafts.at(-1))
      return ctx.feedback.length
    })
    await runtime.approvals.approve((await question(runtime))?.approvalId ?? '')
    await elapse(0)
    await runtime.approvals.reject((await question(runtime))?.approvalId ?? '', { feedback: 'shorter' })
    await elapse(0)
    expect(drafts).toEqual(['draft 1', 'draft 2'])
    await runtime.approvals.approve((await question(runtime))?.approvalId ?? '')
    await elapse(0)
    expect(await status()).toMatchObject({ state: 'completed' })
  })

  /** Each request is rejected so many times. */
  async function rejected(choice: RecoverySetting['human_rejection'], times: number) {
    const begin = await begun({ human_rejection: choice }, async (ctx) => {
      await ctx.step('draft', () => 1)
      await ctx.requestApproval('review', 'a draft')
      return 'approved'
    })
    const { status, runtime, elapse } = begin
    for (let n = 1; n <= times; n++) {
      expect(await status()).toMatchObject({ state: 'waiting' })
      await runtime.approvals.reject((await question(runtime))?.approvalId ?? '', { feedback: `no ${n}` })
      await elapse(0)
    }
    return begin
  }

  test.each([
    ['fail', 1],
    ['retry_with_feedback', 4],
    [undefined, 4],
  ] as const)('14.3 human_rejection %s: the task fails at rejection %i', async (choice, times) => {
    const { status, seen } = await rejected(choice, times)
    expect(await status()).toMatchObject({ state: 'failed', kind: 'not_approved' })
    expect(seen.map((it) => [it?.category, it?.feedback])).toEqual(
      [
        [undefined, undefined],
        ['human_rejection', 'no 1'],
        ['human_rejection', 'no 2'],
        ['human_rejection', 'no 3'],
      ].slice(0, times),
    )
  })

  test('14.3 human_rejection human_escalation: above maxRetries a person is asked instead', async () => {
    const { status, runtime, elapse, seen } = await rejected('human_escalation', 4)
    const asked = await question(runtime)
    expect(asked?.artifact).toMatchObject({ escalated: 'human_rejection', kind: 'not_approved' })
    await runtime.approvals.approve(asked?.approvalId ?? '', { feedback: 'once more' })
    await elapse(0)
    expect(seen.at(-1)).toMatchObject({ strategy: 'human_escalation', feedback: 'once more' })
    await runtime.approvals.approve((await question(runtime))?.approvalId ?? '')
    await elapse(0)
    expect(await status()).toMatchObject({ state: 'completed', output: 'approved' })
  })

  test.each([
    ['keeps its slot', () => new Promise(() => {})],
    ['fails before it learns of it', () => Promise.reject(new Error('no'))],
  ])('12.2 14.3 a rejection above maxRetries asks a person although its pass %s', async (_, beside) => {
    const rejecting = Promise.withResolvers<void>()
    const { status, runtime, elapse, seen } = await begun(
      { human_rejection: 'human_escalation', crash: 'human_escalation' },
      async (ctx, pass) => {
        const work = ctx.step('work', async () => {
          if (pass > 1) return 'worked'
          await rejecting.promise
          return beside()
        })
        await Promise.all([work, ctx.requestApproval('review', 'a draft', { maxRetries: 0 })])
        return 'approved'
      },
    )
    expect(await status()).toMatchObject({ state: 'running' })
    await runtime.approvals.reject((await question(runtime))?.approvalId ?? '', { feedback: 'no' })
    rejecting.resolve()
    await elapse(1_000)
    const { approvals } = await runtime.approvals.list()
    expect(approvals.map(({ artifact }) => artifact)).toMatchObject([{ escalated: 'human_rejection' }])
    await runtime.approvals.approve(approvals[0]?.approvalId ?? '', { feedback: 'once more' })
    await elapse(0)
    expect(seen.at(-1)).toMatchObject({ category: 'human_rejection', feedback: 'once more' })
    await runtime.approvals.approve((await question(runtime))?.approvalId ?? '')
    await elapse(0)
    expect(await status()).toMatchObject({ state: 'completed', output: 'approved' })
  })

  test('14.3 a task that cannot be tried again with success fails at once, unless a person or another model may help', async () => {
    const final = () => new NonRetryableError('never')
    expect(await (await begun({}, failing(1, final))).status()).toMatchObject({ state: 'failed', attempt: 1 })
    const asked = await begun({ crash: 'human_escalation' }, failing(1, final))
    expect(await asked.status()).toMatchObject({ state: 'waiting' })
    const other = await begun({ crash: 'fallback_agent', fallbackModels: ['small'] }, failing(1, final))
    expect(await other.status()).toMatchObject({ state: 'completed' })
  })

  test('14.3 a composite failure gets the strongest of what its parts get', async () => {
    const both = () =>
      new AggregateError([
        Object.assign(new Error('slow'), { code: 'timeout' }),
        Object.assign(new Error('odd'), { code: 'invalid_output' }),
      ])
    const { status, runtime } = await begun(
      { timeout: 'retry_with_backoff', invalid_output: 'human_escalation' },
      failing(1, both),
    )
    expect(await status()).toMatchObject({ state: 'waiting' })
    expect((await question(runtime))?.artifact).toMatchObject({ escalated: 'invalid_output' })
  })

  test('14.3 a replay sees the failure that the last attempt saw', async () => {
    const { runtime, taskId, seen } = await begun({}, async (ctx, pass) => {
      await ctx.step(ctx.failure === undefined ? 'weak prompt' : 'strong prompt', () => 1)
      if (pass === 1) throw new Error('no')
      return 1
    })
    seen.length = 0
    expect(await runtime.replay(taskId, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
    expect(seen[0]).toMatchObject({ category: 'crash' })
  })

  test('14.3 tables of several domains are combined to the strongest of each', () => {
    const legal: RecoverySetting = {
      timeout: 'fallback_agent',
      crash: 'human_escalation',
      fallbackModels: ['fast'],
    }
    const web: RecoverySetting = { timeout: 'fail', fallbackModels: ['fast', 'tiny'] }
    expect(combineRecovery(legal, web)).toEqual({
      crash: 'human_escalation',
      timeout: 'fallback_agent',
      resource_exhaustion: 'fallback_agent',
      invalid_output: 'retry_with_backoff',
      human_rejection: 'retry_with_feedback',
      fallbackModels: ['fast', 'tiny'],
    })
  })

  test('the table of a domain counts for its task types, where they have none of their own', async () => {
    const legal = defineDomain({
      name: 'legal',
      recovery: { crash: 'fail', timeout: 'fallback_agent', fallbackModels: ['fast'] },
    })
    const web = defineDomain({ name: 'web', recovery: { timeout: 'fail', human_rejection: 'fail' } })
    const options = { type: 't', input: z.any() }
    const tableOf = (more: Pick<Parameters<typeof defineTask>[0], 'domain' | 'recovery'>) =>
      defineTask({ ...options, ...more }, () => 1).recovery
    expect(tableOf({ domain: legal })).toEqual({
      table: {
        crash: 'fail',
        timeout: 'fallback_agent',
        resource_exhaustion: 'fallback_agent',
        invalid_output: 'retry_with_backoff',
        human_rejection: 'retry_with_feedback',
      },
      fallbackModels: ['fast'],
    })
    expect(tableOf({ domain: [web, legal] })?.table).toMatchObject({
      crash: 'restart',
      timeout: 'fallback_agent',
      human_rejection: 'retry_with_feedback',
    })
    const own = { timeout: 'retry_with_feedback', crash: undefined } as const
    expect(tableOf({ domain: [web, legal], recovery: own })?.table).toMatchObject({
      crash: 'restart',
      timeout: 'retry_with_feedback',
    })
    expect(tableOf({ domain: legal, recovery: { crash: 'fallback_agent' } })?.table.crash).toBe(
      'fallback_agent',
    )
    expect(tableOf({})).toBeUndefined()
    const { profile, task } = defineAgent(
      { name: 'reader', capabilities: [], domain: ['contracts', web], input: z.any(), output: z.any() },
      () => 1,
    )
    expect([profile.domain, task.recovery?.table.timeout]).toEqual([['contracts', 'web'], 'fail'])

    const { runtime, elapse } = await virtualRuntime({
      tasks: [
        defineTask({ ...options, domain: web, retry: { attempts: 2 } }, (ctx) => {
          if (ctx.failure === undefined) throw new Error('broken')
          return ctx.failure.strategy
        }),
      ],
    })
    const receipt = await runtime.submit('t', null)
    await elapse(1_000)
    expect(await runtime.result(receipt)).toBe('restart')
  })

  test('a domain is refused with all that is wrong with it, and a task type with one that is none', () => {
    const problemsOf = (call: () => unknown): readonly string[] => {
      try {
        call()
      } catch (error) {
        return (error as ConfigError).problems.map(({ path }) => path)
      }
      return []
    }
    const wrong = { name: 'legal', recovery: { crash: 'fallback_agent', timeouts: 'fail' }, weights: {} }
    expect(problemsOf(() => defineDomain(wrong as never))).toEqual([
      "domain 'legal': weights",
      "domain 'legal': recovery.timeouts",
    ])
    expect(problemsOf(() => defineDomain(null as never))).toEqual(['domain'])
    expect(problemsOf(() => defineDomain({} as never))).toEqual(['domain: name', 'domain: recovery'])
    const task = (options: object) => () => defineTask({ type: 't', input: z.any(), ...options }, () => 1)
    expect(problemsOf(task({ domain: 'legal' }))).toEqual(["task 't': domain"])
    const web = defineDomain({ name: 'web', recovery: {} })
    expect(problemsOf(task({ domain: [web, web], recovery: { crash: 'fallback_agent' } }))).toEqual([
      "task 't': recovery.crash",
    ])
  })

  test('14.3 the entries of a table are checked when the type is defined', () => {
    const define = (recovery: unknown) => () =>
      defineTask({ type: 't', input: z.any(), recovery: recovery as RecoverySetting }, () => 1)
    expect(define({ timeout: 'again' })).toThrow(ConfigError)
    expect(define({ human_rejection: 'restart' })).toThrow(/human_rejection/)
    expect(define({ timeout: 'fallback_agent' })).toThrow(/only together with fallbackModels/)
    expect(define({ fallbackModels: ['a', 'a'] })).toThrow(/different names/)
    expect(define({ crash: 'fail', fallbackModels: ['a'] })).not.toThrow()
  })
})

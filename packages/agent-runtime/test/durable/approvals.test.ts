import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  ApprovalRejected,
  type ApprovalOptions,
  defineAgent,
  defineTask,
  type TaskContext,
  TimeoutError,
} from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'

/** A runtime on virtual time with one type of task, and one such task. */
async function asked(body: (ctx: TaskContext) => unknown, { crashes = false } = {}) {
  const task = defineTask({ type: 'asker', input: z.any() }, (ctx) => body(ctx))
  const runtime = await createTestRuntime({ tasks: [task], crashes })
  const receipt = await runtime.runtime.submit(task, null)
  const approvals = () => runtime.runtime.approvals
  const open = async () => {
    await runtime.until(receipt, (status) => status.state === 'waiting' && status.waitingFor === 'approval')
    const [first] = (await approvals().list({ task: receipt })).approvals
    if (first === undefined) throw new Error('nothing is asked')
    return first
  }
  return { test: runtime, runtime: runtime.runtime, approvals: runtime.runtime.approvals, receipt, open }
}

describe('execution: approvals', () => {
  test('give the handler who approved, what they said and what they handed over', async () => {
    const it = await asked((ctx) => ctx.requestApproval<string>('plan', { steps: ['a', 'b'] }))
    await using _ = it.test
    const open = await it.open()
    expect(open).toMatchObject({
      key: 'plan',
      type: 'asker',
      mode: 'autonomous_escalation',
      artifact: { steps: ['a', 'b'] },
      rejections: 0,
    })
    expect(await it.runtime.status(it.receipt)).toMatchObject({ state: 'waiting', waitingFor: 'approval' })
    expect(
      await it.approvals.approve(open.approvalId, { by: 'Ada', feedback: 'fine', value: 'a only' }),
    ).toMatchObject({ taskId: it.receipt.taskId, state: 'queued' })
    expect(await it.test.result(it.receipt)).toEqual({
      asked: true,
      by: 'Ada',
      feedback: 'fine',
      value: 'a only',
    })
    expect((await it.approvals.list()).approvals).toEqual([])
  })

  test('wait across restarts and crashes, without a slot', async () => {
    const ran: string[] = []
    const it = await asked(
      async (ctx) => {
        await ctx.step('draft', () => ran.push('draft'))
        const { by } = await ctx.requestApproval('text', 'a draft')
        await ctx.step('send', () => ran.push('send'))
        return by
      },
      { crashes: true },
    )
    await using _ = it.test
    const { approvalId } = await it.open()
    it.test.crash()
    await it.test.restart()
    await it.test.advance(90 * 86_400_000)
    await it.test.runtime.approvals.approve(approvalId, { by: 'Ada' })
    expect(await it.test.result(it.receipt)).toBe('Ada')
    expect(ran).toEqual(['draft', 'send'])
  })

  test('a rejection runs again what followed the last approval, with the feedback in hand', async () => {
    const ran: string[] = []
    const keys = new Set<string>()
    const it = await asked(
      async (ctx) => {
        await ctx.step('research', () => ran.push('research'))
        await ctx.requestApproval('plan', 'the plan')
        const heard = ctx.feedback.map(({ feedback }) => feedback)
        const text = await ctx.step('write', ({ idempotencyKey }) => {
          ran.push('write')
          keys.add(idempotencyKey)
          return `text${heard.map((said) => `, ${String(said)}`).join('')}`
        })
        await ctx.requestApproval('text', text)
        return [text, ctx.feedback.length]
      },
      { crashes: true },
    )
    await using _ = it.test
    await it.approvals.approve((await it.open()).approvalId)
    expect((await it.open()).artifact).toBe('text')
    await it.approvals.reject((await it.open()).approvalId, { by: 'Bob', feedback: 'shorter' })
    it.test.crash()
    await it.test.restart()
    const again = await it.open()
    expect(again).toMatchObject({ key: 'text', artifact: 'text, shorter', rejections: 1 })
    await it.test.runtime.approvals.approve(again?.approvalId ?? '')
    // Behind the approval the feedback is used up.
    expect(await it.test.result(it.receipt)).toEqual(['text, shorter', 0])
    expect(ran).toEqual(['research', 'write', 'write'])
    expect(keys.size).toBe(2)
  })

  test('steps behind a rejection are answered by memos in later passes, with the same feedback', async () => {
    const heard: unknown[] = []
    const it = await asked(async (ctx) => {
      heard.push(ctx.feedback.map(({ feedback }) => feedback))
      await ctx.step('write', () => 1)
      await ctx.requestApproval('text', 1)
      heard.push(ctx.feedback.length)
      await ctx.sleep('later', 1_000)
    })
    await using _ = it.test
    await it.approvals.reject((await it.open()).approvalId, { feedback: 'no' })
    await it.approvals.approve((await it.open()).approvalId)
    await it.test.result(it.receipt)
    // First pass; second, sent back; third, approved, sleeps; fourth.
    expect(heard).toEqual([[], ['no'], ['no'], 0, ['no'], 0])
  })

  test('the 4th rejection fails the task, with what the reviewer said', async () => {
    const it = await asked((ctx) => ctx.requestApproval('text', 1))
    await using _ = it.test
    for (let n = 1; n <= 4; n++)
      await it.approvals.reject((await it.open()).approvalId, { feedback: `no ${n}` })
    await expect(it.test.result(it.receipt)).rejects.toMatchObject({
      name: 'TaskFailed',
      kind: 'not_approved',
      code: 'not_approved',
      message: expect.stringContaining('no 4') as string,
    })
  })

  test('a rejection is thrown where that is asked for, in later passes too', async () => {
    const seen: unknown[] = []
    const it = await asked(async (ctx) => {
      await ctx.step('before', () => seen.push('before'))
      try {
        await ctx.requestApproval('deploy', 1, { onReject: 'throw' })
      } catch (error) {
        seen.push(error instanceof ApprovalRejected && [error.key, error.by, error.feedback])
      }
      await ctx.sleep('later', 1_000)
    })
    await using _ = it.test
    await it.approvals.reject((await it.open()).approvalId, { by: 'Ada', feedback: 'not today' })
    await it.test.result(it.receipt)
    const thrown = ['deploy', 'Ada', 'not today']
    expect(seen).toEqual(['before', thrown, thrown])
  })

  test.each([
    ['throw', 'TimeoutError'],
    ['approve', { asked: true, by: 'timeout' }],
    ['fail', 'not_approved'],
  ] as const)('a request that nobody answers in time: %s', async (onTimeout, expected) => {
    const it = await asked((ctx) =>
      ctx
        .requestApproval('plan', 1, { timeoutMs: 3_600_000, onTimeout })
        .catch((error: unknown) => (error instanceof TimeoutError ? error.name : 'something else')),
    )
    await using _ = it.test
    const end = await it.test.result(it.receipt).catch((error: { code: string }) => error.code)
    expect(end).toEqual(expected)
    expect((await it.approvals.trail(it.receipt)).map(({ outcome }) => outcome)).toEqual([
      onTimeout === 'approve' ? 'approved' : 'timed_out',
    ])
  })

  test('the last time that nobody answers is on record as a rejection, and reported with the task', async () => {
    const it = await asked((ctx) =>
      ctx.requestApproval('plan', 1, { timeoutMs: 1_000, onTimeout: 'reject', maxRetries: 1 }),
    )
    await using _ = it.test
    await expect(it.test.result(it.receipt)).rejects.toThrow('rejected 2 times')
    const ends = (await it.approvals.trail(it.receipt)).map(({ outcome, by }) => [outcome, by])
    expect(ends).toEqual([
      ['rejected', 'timeout'],
      ['rejected', 'timeout'],
    ])
    expect((await it.test.runtime.explain(it.receipt))?.summary).toBe(
      "failed (not_approved) in attempt 1: 'plan' was rejected 2 times since the last approval (maxRetries 1)",
    )
  })

  test('one rejection too many is said to be one; who gave it stays on record', async () => {
    const it = await asked((ctx) => ctx.requestApproval('plan', 1, { maxRetries: 0 }))
    await using _ = it.test
    await it.approvals.reject((await it.open()).approvalId, { by: 'Ada', feedback: 'no' })
    await expect(it.test.result(it.receipt)).rejects.toThrow('rejected once since')
    const ends = (await it.approvals.trail(it.receipt)).map(({ outcome, by }) => [outcome, by])
    expect(ends).toEqual([['rejected', 'Ada']])
  })

  test('requests of the children of a task are listed with it on request', async () => {
    const child = defineTask({ type: 'child', input: z.null() }, (ctx) => ctx.requestApproval('theirs', 1))
    const parent = defineTask({ type: 'parent', input: z.null() }, (ctx) => ctx.call('child', child, null))
    await using it = await createTestRuntime({ tasks: [child, parent] })
    const receipt = await it.runtime.submit(parent, null)
    await it.until(receipt, 'waiting')
    await it.settle()
    const { approvals } = it.runtime
    expect((await approvals.list({ task: receipt })).approvals).toEqual([])
    const [open] = (await approvals.list({ task: receipt, children: true })).approvals
    expect(open).toMatchObject({ key: 'theirs', type: 'child' })
    await approvals.approve(open?.approvalId ?? '')
    expect(await it.result(receipt)).toMatchObject({ asked: true })
    await expect(approvals.list({ children: true })).rejects.toThrow(
      'option children: only together with task',
    )
  })

  test('after a rejection a spot check asks without a draw', async () => {
    const modes: ApprovalOptions[] = [{ mode: 'supervised' }, { mode: 'spot_check' }]
    const it = await asked(async (ctx) => {
      const [options] = ctx.feedback.length === 0 ? modes : modes.slice(1)
      return (await ctx.requestApproval('text', 1, options)).asked
    })
    await using _ = it.test
    await it.approvals.reject((await it.open()).approvalId)
    await it.approvals.approve((await it.open()).approvalId)
    expect(await it.test.result(it.receipt)).toBe(true)
  })

  test.each(['supervised', 'autonomous_escalation'] as const)(
    '%s asks each time, and draws nothing',
    async (mode) => {
      const task = defineTask({ type: 'asks', input: z.number() }, (ctx) =>
        ctx.requestApproval('text', 1, { mode }),
      )
      await using it = await createTestRuntime({ tasks: [task] })
      const { approvals } = it.runtime
      for (let n = 0; n < 20; n++) await it.runtime.submit(task, n)
      await it.settle()
      const open = (await approvals.list()).approvals
      expect(open).toHaveLength(20)
      for (const { taskId } of open) expect((await approvals.trail(taskId))[0]?.draw).toBeUndefined()
    },
  )

  test('the mode of a request is that of the task type, or of the agent, where the call names none', async () => {
    const ask = (ctx: TaskContext) => ctx.requestApproval('plan', 1).then(() => 1)
    const task = defineTask({ type: 'watched', input: z.any(), oversight: 'supervised' }, ask)
    const agent = defineAgent(
      { name: 'agent', capabilities: [], domain: [], input: z.any(), output: z.number(), mode: 'supervised' },
      ask,
    )
    const named = defineTask({ type: 'named', input: z.any(), oversight: 'spot_check' }, (ctx) =>
      ctx.requestApproval('plan', 1, { mode: 'supervised' }),
    )
    await using it = await createTestRuntime({ tasks: [task, agent.task, named] })
    for (const type of ['watched', 'agent', 'named']) await it.runtime.submit(type, 1)
    await it.settle()
    const { approvals } = await it.runtime.approvals.list()
    expect(approvals.map(({ mode }) => mode)).toEqual(['supervised', 'supervised', 'supervised'])
  })

  test('a handler that takes another way after a rejection is not parked, and its replay agrees', async () => {
    const it = await asked(async (ctx) => {
      await ctx.step('research', () => 1)
      if (ctx.feedback.length > 0) await ctx.step('revise', () => ctx.feedback.length)
      else await ctx.sleep('think', 1_000)
      await ctx.step('write', () => 2)
      await ctx.requestApproval('text', 1)
      return ctx.step('send', () => 3)
    })
    await using _ = it.test
    await it.approvals.reject((await it.open()).approvalId)
    await it.open()
    expect((await it.runtime.replay(it.receipt, { mode: 'verify' })).verdict).toBe('agreed')
    await it.approvals.approve((await it.open()).approvalId)
    expect(await it.test.result(it.receipt)).toBe(3)
    expect(await it.runtime.replay(it.receipt, { mode: 'verify' })).toMatchObject({
      verdict: 'agreed',
      answered: { steps: 4, waits: 1 },
      end: { call: 'return' },
    })
  })

  test('a child that was spawned before the last approval and ended after it stays, with its end', async () => {
    const child = defineTask({ type: 'child', input: z.number() }, async (ctx, ms) => {
      await ctx.sleep('nap', ms)
      return ms
    })
    const parent = defineTask({ type: 'parent', input: z.any() }, async (ctx) => {
      const started = await ctx.spawn('child', child, 50)
      await ctx.requestApproval('plan', 1)
      const slept = await started.result()
      await ctx.requestApproval('text', slept)
      return slept
    })
    await using it = await createTestRuntime({ tasks: [parent, child] })
    const receipt = await it.runtime.submit(parent, null)
    const answer = async (as: 'approve' | 'reject', key: string) => {
      await it.until(receipt, (task) => task.state === 'waiting' && task.waitingFor === 'approval')
      const [open] = (await it.runtime.approvals.list()).approvals
      expect(open?.key).toBe(key)
      await it.runtime.approvals[as](open?.approvalId ?? '')
    }
    await answer('approve', 'plan')
    await answer('reject', 'text')
    await answer('approve', 'text')
    expect(await it.result(receipt)).toBe(50)
    expect((await it.runtime.replay(receipt, { mode: 'verify' })).verdict).toBe('agreed')
  })

  test('a child that is spawned again after a rejection is waited for again, whatever crashes between', async () => {
    let spawned = 0
    const child = defineTask({ type: 'child', input: z.null() }, async (ctx) => {
      spawned += 1
      await ctx.sleep('nap', 30_000)
      return ctx.taskId
    })
    const parent = defineTask({ type: 'parent', input: z.any() }, async (ctx) => {
      const by = await ctx.call('child', child, null)
      await ctx.requestApproval('text', by)
      return by
    })
    await using it = await createTestRuntime({ tasks: [parent, child], crashes: true })
    const receipt = await it.runtime.submit(parent, null)
    const open = async () => {
      await it.until(receipt, (task) => task.state === 'waiting' && task.waitingFor === 'approval')
      return (await it.runtime.approvals.list()).approvals[0]
    }
    const first = await open()
    await it.runtime.approvals.reject(first?.approvalId ?? '')
    await it.until(receipt, (task) => task.state === 'waiting' && task.waitingFor === 'children')
    it.crash()
    await it.restart()
    const second = await open()
    expect(second?.artifact).not.toBe(first?.artifact)
    await it.runtime.approvals.approve(second?.approvalId ?? '')
    expect(await it.result(receipt)).toBe(second?.artifact)
    expect(spawned).toBeGreaterThan(1)
    expect((await it.runtime.replay(receipt, { mode: 'verify' })).verdict).toBe('agreed')
  })

  test('a request that nobody awaits fails the task: what follows it would go on as if it had been given', async () => {
    const it = await asked(async (ctx) => {
      // oxlint-disable-next-line typescript/no-floating-promises -- the mistake
      ctx.requestApproval('pay out?', 1_000_000)
      await ctx.step('prepare', () => 1)
    })
    await using _ = it.test
    await expect(it.test.result(it.receipt)).rejects.toMatchObject({
      code: 'step_outside_handler',
      message: expect.stringContaining("'pay out?' was not awaited") as string,
    })
  })

  test('a verdict whose value is undefined has none', async () => {
    const it = await asked(async (ctx) => Object.keys(await ctx.requestApproval('plan', 1)))
    await using _ = it.test
    await it.approvals.approve((await it.open()).approvalId, { by: 'Ada', value: undefined })
    expect(await it.test.result(it.receipt)).toEqual(['asked', 'by'])
  })

  test('a replay stops at an open request and asks nobody', async () => {
    const it = await asked((ctx) => ctx.requestApproval('plan', 1))
    await using _ = it.test
    await it.open()
    const before = (await it.test.history(it.receipt)).events.length
    expect(await it.runtime.replay(it.receipt, { mode: 'verify' })).toMatchObject({
      verdict: 'agreed',
      end: { call: 'approval', key: 'plan' },
    })
    expect((await it.test.history(it.receipt)).events).toHaveLength(before)
  })

  test('the audit trail says who said what, when, to which artifact', async () => {
    const it = await asked(async (ctx) => {
      await ctx.requestApproval('text', `draft ${ctx.feedback.length + 1}`)
      await ctx.race('either', {
        human: (branch) => branch.requestApproval('more', 'never answered'),
        time: (branch) => branch.sleep('long', 1_000),
      })
    })
    await using _ = it.test
    const first = await it.open()
    await it.approvals.reject(first.approvalId, { by: 'Bob', feedback: 'shorter' })
    await it.approvals.approve((await it.open()).approvalId, { by: 'Ada' })
    await it.test.result(it.receipt)
    expect(await it.approvals.trail(it.receipt)).toMatchObject([
      { key: 'text', artifact: 'draft 1', outcome: 'rejected', by: 'Bob', feedback: 'shorter' },
      { key: 'text', artifact: 'draft 2', outcome: 'approved', by: 'Ada' },
      { key: 'more', artifact: 'never answered', outcome: 'revoked' },
    ])
  })

  test('two requests side by side are answered one by one', async () => {
    const it = await asked((ctx) =>
      Promise.all([ctx.requestApproval('legal', 1), ctx.requestApproval('money', 2)]).then((given) =>
        given.map(({ by }) => by),
      ),
    )
    await using _ = it.test
    await it.test.until(it.receipt, 'waiting')
    const { approvals } = await it.approvals.list()
    expect(approvals.map(({ key }) => key)).toEqual(['legal', 'money'])
    await it.approvals.approve(approvals[1]?.approvalId ?? '', { by: 'Eve' })
    await it.test.until(it.receipt, 'waiting')
    await it.approvals.approve(approvals[0]?.approvalId ?? '', { by: 'Ada' })
    expect(await it.test.result(it.receipt)).toEqual(['Ada', 'Eve'])
  })
})

describe('execution: verdicts that come to nothing', () => {
  test('a second verdict is already_resolved and names the first', async () => {
    const it = await asked((ctx) => ctx.requestApproval('plan', 1))
    await using _ = it.test
    const { approvalId } = await it.open()
    await it.approvals.approve(approvalId, { by: 'Ada' })
    for (const call of ['approve', 'reject'] as const)
      await expect(it.approvals[call](approvalId)).rejects.toMatchObject({
        code: 'already_resolved',
        message: expect.stringContaining("('plan') was already approved by Ada") as string,
      })
    expect(await it.test.result(it.receipt)).toMatchObject({ by: 'Ada' })
  })

  test('E09 approve against cancel: the first commit wins', async () => {
    const it = await asked((ctx) => ctx.requestApproval('plan', 1))
    await using _ = it.test
    const { approvalId } = await it.open()
    const canceled = it.runtime.cancel(it.receipt)
    await expect(it.approvals.approve(approvalId)).rejects.toMatchObject({ code: 'already_resolved' })
    expect(await canceled).toBe(true)
    expect(await it.approvals.trail(it.receipt)).toMatchObject([{ outcome: 'revoked' }])
  })

  test.each([
    ['nobody:3', 'not_found'],
    ['3', 'invalid_argument'],
    ['', 'invalid_argument'],
    [7, 'invalid_argument'],
  ])('an approval that never was: %j is %s', async (approvalId, code) => {
    const it = await asked((ctx) => ctx.requestApproval('plan', 1))
    await using _ = it.test
    await it.open()
    await expect(it.approvals.approve(approvalId as string)).rejects.toMatchObject({ code })
    await expect(it.approvals.trail('nobody')).rejects.toMatchObject({ code: 'not_found' })
    expect((await it.approvals.list()).approvals).toHaveLength(1)
  })

  test.each([
    [{ by: '' }, 'by'],
    [{ feedback: 3 }, 'feedback'],
    [{ reason: 'x' }, 'reason'],
  ])('a verdict with %j is refused, and the request stays open', async (verdict, field) => {
    const it = await asked((ctx) => ctx.requestApproval('plan', 1))
    await using _ = it.test
    const { approvalId } = await it.open()
    await expect(it.approvals.reject(approvalId, verdict as never)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(field) as string,
    })
    expect((await it.approvals.list()).approvals).toHaveLength(1)
  })

  test.each([
    [{ mode: 'sometimes' }, 'autonomous_escalation | spot_check | supervised'],
    [{ maxRetries: -1 }, 'maxRetries'],
    [{ timeoutMs: Number.NaN }, 'timeoutMs'],
    [{ onTimeout: 'shrug' }, 'throw | approve | reject | fail'],
    [{ retries: 1 }, 'retries'],
  ])('a request with %j is refused', async (options, message) => {
    const it = await asked((ctx) => ctx.requestApproval('plan', 1, options as never))
    await using _ = it.test
    await expect(it.test.result(it.receipt)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(message) as string,
    })
  })

  test('an artifact that cannot be stored is named', async () => {
    const it = await asked((ctx) => ctx.requestApproval('plan', { run: () => 1 }))
    await using _ = it.test
    await expect(it.test.result(it.receipt)).rejects.toMatchObject({
      code: 'step_not_serializable',
      message: expect.stringContaining("the artifact of approval 'plan'") as string,
    })
  })
})

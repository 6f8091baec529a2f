import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineSupervisor, defineTask } from '../../src/index.ts'
import { createTestRuntime, sweepCrashes } from '../../src/testing/index.ts'

describe('execution: recovery of a task whose process dies', () => {
  test('14.3 the fallback of a task whose process died is decided by the process that has it next', async () => {
    const models: (string | undefined)[] = []
    const task = defineTask(
      {
        type: 'dies',
        input: z.any(),
        model: 'big',
        recovery: { crash: 'fallback_agent', fallbackModels: ['small'] },
      },
      async (ctx) => {
        models.push(ctx.model)
        await ctx.step('first', () => 1)
        await ctx.step('second', () => {
          if (models.length === 1) life.crash()
          return 2
        })
        return ctx.failure?.kind
      },
    )
    await using life = await createTestRuntime({ tasks: [task], crashes: true })
    const { taskId } = await life.runtime.submit(task, null)
    await expect(life.settle()).rejects.toThrow('crashed')
    await life.restart()
    expect(await life.result(taskId)).toBe('crashed')
    expect(models).toEqual(['big', 'small'])
  })

  test('14.3 A05 a crash after any commit changes nothing of what is decided', async () => {
    const made = () =>
      defineTask(
        {
          type: 'legal',
          input: z.any(),
          model: 'big',
          recovery: { timeout: 'human_escalation', fallbackModels: ['small'] },
        },
        async (ctx) => {
          await ctx.step('read', () => 'text')
          if (ctx.model === 'big') throw Object.assign(new Error('too long'), { code: 'limit_exceeded' })
          await ctx.step('score', () => 'scored')
          if (!(await ctx.step('was told', () => ctx.failure?.feedback !== undefined))) return 'never told'
          return ctx.model
        },
      )
    const slow = defineTask(
      { type: 'slow', input: z.any(), recovery: { timeout: 'human_escalation' } },
      async (ctx) => {
        await ctx.step('once', () => 1)
        if (ctx.failure?.feedback === undefined) throw Object.assign(new Error('slow'), { code: 'timeout' })
        return ctx.failure.feedback
      },
    )
    const legal = made()
    const { crashedAfter } = await sweepCrashes({
      tasks: [legal, slow],
      async script(life) {
        const one = await life.runtime.submit(legal, 1)
        const two = await life.runtime.submit(slow, 2)
        await life.until(two, 'waiting')
        const { approvals } = await life.runtime.approvals.list()
        await life.runtime.approvals.approve(approvals[0]?.approvalId ?? '', { feedback: 'go on' })
        return [await life.result(one), await life.result(two)]
      },
      check: (_, result) => expect(result[1]).toBe('go on'),
    })
    expect(crashedAfter.length).toBeGreaterThan(8)
  })

  test('14.3 A05 a process that dies while it only asks a person is no second question', async () => {
    const pay = defineTask(
      { type: 'pay', input: z.any(), recovery: { crash: 'human_escalation' } },
      (ctx) => {
        if (ctx.failure === undefined) throw new Error('the bank refused')
        return 'paid'
      },
    )
    const asked: boolean[] = []
    const numbers: number[] = []
    await sweepCrashes({
      tasks: [pay],
      async script(life) {
        const { taskId } = await life.runtime.submit(pay, 1)
        for (;;) {
          await life.settle()
          const [open] = (await life.runtime.approvals.list()).approvals
          if (open === undefined) return await life.result(taskId)
          const about = (open.artifact as { attempt: number }).attempt
          // A process has died between the failure and the question.
          asked.push(((await life.runtime.status(taskId))?.attempt ?? 0) > about + 1)
          await life.runtime.approvals.approve(open.approvalId)
        }
      },
      check: () => {
        const [diedBefore] = asked
        if (diedBefore === true) numbers.push(asked.length)
        asked.length = 0
      },
    })
    expect(numbers.length).toBeGreaterThan(0)
    expect(new Set(numbers)).toEqual(new Set([1]))
  })

  test.each([
    ['alone', 5],
    ['supervised', 5],
    ['supervised', 2],
  ] as const)(
    '14.1 14.3 A05 the no of a person is final, also where its process dies after it: %s, maxCrashes %i',
    async (how, maxCrashes) => {
      let runs = 0
      const pay = defineTask(
        { type: 'pay', input: z.any(), recovery: { crash: 'human_escalation' } },
        async (ctx) => {
          runs += 1
          await ctx.step('pay', () => life.crash())
        },
      )
      const desk = defineSupervisor({ type: 'desk', input: z.any(), children: { one: { task: pay } } })
      await using life = await createTestRuntime({
        tasks: [pay, desk],
        crashes: true,
        config: { maxCrashes },
      })
      const { runtime } = life
      const { taskId } = await (how === 'alone' ? runtime.submit(pay, 1) : runtime.submit(desk, 1))
      await expect(life.settle()).rejects.toThrow('crashed')
      await life.restart()
      await life.settle()
      const [question] = (await life.runtime.approvals.list()).approvals
      // The commit of the answer gives the task to a worker.
      life.crashAfter(1)
      void life.runtime.approvals.reject(question?.approvalId ?? '')
      await expect(life.settle()).rejects.toThrow('crashed')
      await life.restart()
      await life.settle()
      expect((await life.runtime.approvals.list()).approvals).toEqual([])
      const found = await life.runtime.status(question?.taskId ?? '')
      expect(found).toMatchObject({ state: 'failed', kind: 'crashed' })
      expect(found?.attempt).toBeGreaterThan(2)
      expect(await life.runtime.status(taskId)).toMatchObject({ state: 'failed' })
      expect(runs).toBe(1)
    },
  )

  test('14.3 A05 a crash after any commit calls the other agent once', async () => {
    const schemas = { input: z.string(), output: z.string() }
    const careful = defineTask({ type: 'careful', ...schemas }, async (ctx, text) => {
      await ctx.step('read', () => text)
      return ctx.step('answer', () => `careful ${text}`)
    })
    const quick = defineTask(
      { type: 'quick', ...schemas, recovery: { crash: 'fallback_agent', fallback: { task: careful } } },
      async (ctx): Promise<string> => {
        await ctx.step('read', () => 'kept')
        throw new Error('too quick')
      },
    )
    const { crashedAfter } = await sweepCrashes({
      tasks: [quick, careful],
      async script(life) {
        const { taskId } = await life.runtime.submit(quick, 'text')
        const result = await life.result(taskId)
        const { tasks } = await life.runtime.list({ types: ['careful'] })
        return [result, tasks.map(({ parent }) => parent === taskId)]
      },
      check: (_, result) => expect(result).toEqual(['careful text', [true]]),
    })
    expect(crashedAfter.length).toBeGreaterThan(5)
  })
})

import { DuplicateStepKey } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type TaskContext } from '../../src/index.ts'
import { createTestRuntime, replayHistory, sweepCrashes } from '../../src/testing/index.ts'

const DAY = 86_400_000

const draws = async (ctx: TaskContext) => ({
  at: await ctx.now('at'),
  chance: await ctx.random('chance'),
  id: await ctx.uuid('id'),
})
type Draws = Awaited<ReturnType<typeof draws>>

/** Draws, waits for a day, and draws the same again in a later pass. */
const patient = defineTask({ type: 'patient', input: z.null() }, async (ctx) => {
  const drawn = await draws(ctx)
  await ctx.sleep('a day', DAY)
  return { ...drawn, later: await ctx.now('later') }
})

describe('time and chance', () => {
  test('7.8 are recorded: passes after a wait and a crash get the same, by the clock of the test', async () => {
    await using run = await createTestRuntime({ tasks: [patient], crashes: true })
    const receipt = await run.runtime.submit(patient, null)
    const begunAt = run.now
    await run.until(receipt, 'waiting')
    run.crash()
    await run.restart()
    const { at, chance, id, later } = await run.result(receipt)
    expect(at).toBe(begunAt)
    expect(later).toBe(begunAt + DAY)
    expect(chance).toBeGreaterThanOrEqual(0)
    expect(chance).toBeLessThan(1)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    const { steps } = await run.history(receipt)
    expect(steps.map(({ key, result }) => [key, result])).toEqual([
      ['at', at],
      ['chance', chance],
      ['id', id],
      ['later', later],
    ])
  })

  test('7.8 follow from the seed of a test, whatever a crash kept from being recorded', async () => {
    const drawing = defineTask({ type: 'drawing', input: z.null() }, async (ctx) => {
      const { chance, id } = await draws(ctx)
      return { chance, id, second: await ctx.uuid('second') }
    })
    const seen = new Set<string>()
    for (const seed of ['one', 'two']) {
      await sweepCrashes({
        tasks: [drawing],
        seed,
        script: async (run) => run.run(drawing, null),
        check: (_, result) => void seen.add(JSON.stringify(result)),
      })
    }
    const results = [...seen].map((text) => JSON.parse(text) as Draws & { readonly second: string })
    expect(results).toHaveLength(2)
    expect(new Set(results.flatMap(({ id, second }) => [id, second])).size).toBe(4)
    expect(results[0]?.chance).not.toBe(results[1]?.chance)
  })

  test('7.8 a rejection voids them with the other steps, and they are drawn again', async () => {
    const reviewed = defineTask({ type: 'reviewed', input: z.null() }, async (ctx) => {
      const { chance, id } = await draws(ctx)
      await ctx.requestApproval('draw', { chance, id })
      return { chance, id }
    })
    await using run = await createTestRuntime({ tasks: [reviewed] })
    const receipt = await run.runtime.submit(reviewed, null)
    const asked = async () => {
      await run.until(receipt, 'waiting')
      const [open] = (await run.runtime.approvals.list()).approvals
      if (open === undefined) throw new Error('nobody asks')
      return open
    }
    const first = await asked()
    await run.runtime.approvals.reject(first.approvalId)
    const second = await asked()
    await run.runtime.approvals.approve(second.approvalId)
    expect(await run.result(receipt)).toEqual(second.artifact)
    const [one, other] = [first.artifact as Draws, second.artifact as Draws]
    expect([one.chance === other.chance, one.id === other.id]).toEqual([false, false])
  })

  test('7.8 are steps: they share the keys, and a task that recorded the time itself goes on with ctx.now', async () => {
    const twice = defineTask({ type: 'twice', input: z.null() }, async (ctx) => {
      await ctx.now('at')
      return ctx.uuid('at').catch((error: unknown) => error instanceof DuplicateStepKey)
    })
    const before = defineTask({ type: 'clocked', input: z.null() }, async (ctx) => {
      const at = await ctx.step('at', () => 5)
      await ctx.sleep('a while', 10)
      return at
    })
    const after = defineTask({ type: 'clocked', input: z.null() }, async (ctx) => {
      const at = await ctx.now('at')
      await ctx.sleep('a while', 10)
      return at
    })
    await using run = await createTestRuntime({ tasks: [twice, before] })
    expect(await run.run(twice, null)).toBe(true)
    const receipt = await run.runtime.submit(before, null)
    await run.result(receipt)
    expect(await replayHistory(after, await run.record(receipt))).toMatchObject({ verdict: 'agreed' })
  })

  test('7.8 satisfy strict mode, in the branches of a race or all too', async () => {
    const task = defineTask({ type: 'branches', input: z.null() }, async (ctx) => {
      const { one, other } = await ctx.all('both', {
        one: (c) => c.uuid('one'),
        other: (c) => c.random('other'),
      })
      await ctx.sleep(`until ${one}`, 10)
      return [one, other, await ctx.now('end')]
    })
    await using run = await createTestRuntime({ tasks: [task], strict: true })
    expect(await run.run(task, null)).toEqual([expect.any(String), expect.any(Number), run.now])
  })
})

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { twice } from './branch-keys-scene.ts'

describe('keys of branches that are decided (docs/semantics.md 7.3)', () => {
  test.each(Object.entries(twice))(
    '7.3 %s is used up, in the same pass and in every later one',
    async (name, body) => {
      const task = defineTask({ type: 'twice', input: z.boolean() }, (ctx, later) =>
        body(ctx, async () => {
          if (!later) return
          const isInside = name.includes('inside')
          await (isInside ? new Promise((resolve) => setImmediate(resolve)) : ctx.sleep('between', 10))
        }),
      )
      await using it = await createTestRuntime({ tasks: [task] })
      for (const later of [false, true])
        await expect(it.run(task, later)).rejects.toMatchObject({ code: 'duplicate_step_key' })
    },
  )

  test('7.3 an approval that was given in a branch is not given again', async () => {
    const post = defineTask({ type: 'post', input: z.null() }, async (ctx) => {
      for (const n of [1, 2]) {
        await ctx.race(`round ${n}`, { ok: (b) => b.requestApproval('publish', `text ${n}`) })
        await ctx.sleep(`pause ${n}`, 10)
      }
    })
    await using it = await createTestRuntime({ tasks: [post] })
    const receipt = await it.runtime.submit(post, null)
    await it.settle()
    const [asked] = (await it.runtime.approvals.list()).approvals
    await it.runtime.approvals.approve(asked?.approvalId ?? '', { by: 'Ada' })
    await expect(it.result(receipt)).rejects.toMatchObject({ code: 'duplicate_step_key' })
  })

  test('7.3 several calls with keys of their own stand side by side', async () => {
    const task = defineTask({ type: 'apart', input: z.null() }, async (ctx) => {
      const first = await ctx.all('one', { a: (b) => b.step('a', () => 1), b: (b) => b.step('b', () => 2) })
      await ctx.sleep('between', 10)
      const second = await ctx.all('two', { a: (b) => b.step('c', () => 3) })
      return [first, second]
    })
    await using it = await createTestRuntime({ tasks: [task] })
    expect(await it.run(task, null)).toEqual([{ a: 1, b: 2 }, { a: 3 }])
  })
})

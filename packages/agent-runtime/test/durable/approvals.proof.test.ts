import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'

describe('execution: approvals', () => {
  test('a spot check asks in 30 % of the cases, by its seed, and its draws are recorded', async () => {
    const count = 400
    const spot = defineTask({ type: 'spot', input: z.number() }, (ctx) =>
      ctx.requestApproval('text', 1, { mode: 'spot_check' }),
    )
    const draw = async () => {
      await using it = await createTestRuntime({ tasks: [spot], seed: 'spots' })
      const receipts = []
      for (let n = 0; n < count; n++) receipts.push(await it.runtime.submit(spot, n))
      await it.advance(1_000)
      const pending = []
      for (let cursor = 0; ;) {
        const page = await it.runtime.approvals.list({ cursor })
        pending.push(...page.approvals.map(({ taskId }) => taskId))
        if (page.cursor === undefined) break
        cursor = page.cursor
      }
      const trails = []
      for (const receipt of receipts) trails.push(...(await it.runtime.approvals.trail(receipt)))
      return { pending, trails }
    }
    const { pending, trails } = await draw()
    expect(trails).toHaveLength(count)
    for (const { draw: drawn = 1, outcome } of trails)
      expect(outcome).toBe(drawn < 0.3 ? 'pending' : 'passed')
    expect(pending.length / count).toBeGreaterThan(0.24)
    expect(pending.length / count).toBeLessThan(0.36)
    expect((await draw()).pending.length).toBe(pending.length)
  })
})

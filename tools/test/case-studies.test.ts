import { describe, expect, test } from 'vitest'
import { createTestRuntime } from '../../packages/agent-runtime/src/testing/index.ts'
import * as audit from '../../examples/14-security-audit/src/evaluation.ts'
import { planted } from '../../examples/14-security-audit/src/target.ts'

describe('case studies', () => {
  test('compute the composites of the paper by its weights', async () => {
    await using it = await createTestRuntime({ tasks: [] })
    const { runtime } = it
    // 0.2075 + 0.178 + 0.123 + 0.1185 + 0.1365 + 0.085, and 0.249 + 0.178 + 0.082 + 0.079 + 0.182 + 0.085.
    const security = await audit.evaluatePaper(runtime)
    expect(rounded(security)).toEqual({ byDefault: 0.8485, bySecurity: 0.855 })
  })

  test('score an audit by what was measured, once', async () => {
    await using it = await createTestRuntime({ tasks: [] })
    const { runtime } = it
    const findings = planted.map((title) => ({
      title,
      where: '/',
      severity: 'low' as const,
      confidence: 1,
      by: 'web',
    }))
    const all = { findings, high: 0, probes: 15, asked: 3, dismissed: 2, missing: [] }
    const judge = (taskId: string, report: typeof all, tookMs: number) =>
      audit.evaluate(runtime, taskId, report, tookMs)
    // 0.30 + 0.20 + 0.10 + 0.10 + 0.20 x 17/19 + 0.10 x 0.7
    expect((await judge('a', all, 1_000)).composite).toBeCloseTo(0.948_947, 6)
    expect(await judge('a', all, 1_000)).toMatchObject({ deduplicated: true })
    // Half of the findings, twice the probes and twice the time: 0.30 x 8/17 + 0.20 + 0.05 + 0.10 x 20/40 + 0.20 x 8/10 + 0.07
    const half = { ...all, findings: findings.slice(0, 8), probes: 40 }
    expect((await judge('b', half, 120_000)).composite).toBeCloseTo(0.671_176, 6)
  })
})

function rounded<T extends Record<string, number>>(values: T): T {
  const entries = Object.entries(values).map(([name, value]) => [name, Number(value.toFixed(6))])
  return Object.fromEntries(entries) as T
}

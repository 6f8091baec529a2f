import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createTestRuntime, TaskStuck } from '../../packages/agent-runtime/src/testing/index.ts'
import { answer } from '../../examples/13-contract-review/src/desk.ts'
import * as legal from '../../examples/13-contract-review/src/evaluation.ts'
import { lawyerSays } from '../../examples/13-contract-review/src/requirements.ts'
import { agreement, review, tasks as phases } from '../../examples/13-contract-review/src/review.ts'
import * as audit from '../../examples/14-security-audit/src/evaluation.ts'
import { planted } from '../../examples/14-security-audit/src/target.ts'

describe('case studies', () => {
  test('compute the composites of the paper by its weights', async () => {
    await using it = await createTestRuntime({ tasks: [] })
    const { runtime } = it
    // 0.2075 + 0.178 + 0.123 + 0.1185 + 0.1365 + 0.085, and 0.249 + 0.178 + 0.082 + 0.079 + 0.182 + 0.085.
    const security = await audit.evaluatePaper(runtime)
    expect(rounded(security)).toEqual({ byDefault: 0.8485, bySecurity: 0.855 })
    // 0.3185 + 0.2375 + 0.0325 + 0.072 + 0.132 + 0.08, and 0.2275 + 0.19 + 0.0975 + 0.108 + 0.132 + 0.08.
    expect(rounded(await legal.evaluatePaper(runtime))).toEqual({ byLegal: 0.8725, byDefault: 0.835 })
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

describe('the contract review', () => {
  const contract = readFileSync(
    new URL('../../examples/13-contract-review/src/contract.txt', import.meta.url),
    'utf8',
  )

  test('goes on at the phase that failed, with what the phases before it gave', async () => {
    await using it = await createTestRuntime({ tasks: phases })
    const { runtime } = it
    const { approvals } = runtime
    /** Answers until somebody is asked what to do after a crash, or the review has its result. */
    const untilCrash = async (taskId: string) => {
      for (;;) {
        const result = await it.result(taskId).catch((error: unknown) => error)
        if (!(result instanceof TaskStuck)) return { result }
        const crash = (await approvals.list()).approvals.find(
          ({ artifact }) => 'escalated' in Object(artifact),
        )
        if (crash !== undefined) return { crash }
        await answer(runtime)
      }
    }
    const first = await runtime.submit(review, { job: 'a review', contract }, { agreement })
    const { crash } = await untilCrash(first.taskId)
    expect(crash).toMatchObject({ type: 'recommendation', artifact: { escalated: 'crash' } })
    await approvals.reject(crash?.approvalId ?? '', { by: 'Ada' })
    await expect(it.result(first.taskId)).rejects.toThrow("the house has no wording for 'transfers'")

    const { taskId } = await runtime.retry(first)
    await untilCrash(taskId)
    await answer(runtime)
    const { result } = await untilCrash(taskId)
    expect(result).toMatchObject({ clauses: 7, total: 12, corrected: ['breach'] })
    const all = (await runtime.list({ limit: 100 })).tasks.map(({ type }) => type)
    expect(all.toSorted()).toEqual([
      'extraction',
      'recommendation',
      'recommendation',
      'review',
      'review',
      'scoring',
    ])

    // 0.35 + 0.25 + 0.05 + 0.10 + 0.15 x 10/11 + 0.10 x 4/5
    const report = result as Parameters<typeof legal.evaluate>[2]
    const told = await legal.evaluate(runtime, taskId, report, 1_000)
    expect(told.composite).toBeCloseTo(0.966_364, 6)
    const found = report.risks.map(({ id, coverage }) => [id, coverage])
    expect(Object.fromEntries(found)).toEqual(lawyerSays)
  })
})

function rounded<T extends Record<string, number>>(values: T): T {
  const entries = Object.entries(values).map(([name, value]) => [name, Number(value.toFixed(6))])
  return Object.fromEntries(entries) as T
}

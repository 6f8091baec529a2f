import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createTestRuntime, TaskStuck } from '../../packages/agent-runtime/src/testing/index.ts'
import { definePipeline } from '../../packages/agent-runtime/src/index.ts'
import { boundOf } from '../../examples/12-web-testing/src/batch.ts'
import * as web from '../../examples/12-web-testing/src/evaluation.ts'
import { estimate } from '../../examples/12-web-testing/src/measure.ts'
import { inOrder } from '../../examples/12-web-testing/src/pipeline.ts'
import { planted as mistakes } from '../../examples/12-web-testing/src/site.ts'
import { observer } from '../../examples/12-web-testing/src/stages.ts'
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
    // 0.2175 + 0.184 + 0.117 + 0.1275 + 0.1425 + 0.088.
    expect(await web.evaluatePaper(runtime)).toBeCloseTo(0.8765, 6)
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

describe('the web test', () => {
  test('is scored by what was measured, once', async () => {
    await using it = await createTestRuntime({ tasks: [] })
    const { runtime } = it
    const all = { pages: 24, tests: 24, checks: 72, calls: 240, anomalies: [...mistakes] }
    // All 1 but the cost: 0.85 + 0.15 x 200/240
    expect((await web.evaluate(runtime, 'a', all, 1_000)).composite).toBeCloseTo(0.975, 6)
    expect(await web.evaluate(runtime, 'a', all, 1_000)).toMatchObject({ deduplicated: true })
    // Three of four mistakes and one that is none, half of the pages, twice the time: 0.25 x 0.75 + 0.20 x 0.5 + 0.15 x 0.5 + 0.15 + 0.15 x 0.75 + 0.10
    const half = { ...all, pages: 12, calls: 100, anomalies: [...mistakes.slice(1), 'nothing'] }
    expect((await web.evaluate(runtime, 'b', half, 120_000)).composite).toBeCloseTo(0.725, 6)
  })

  test.each([1, 3])('finds each mistake once, if its events come %i at a time', async (atOnce) => {
    const failed = (flow: boolean) =>
      ({ type: 'load_result', data: { path: '/api/6', flow, calls: 20, failed: 4 } }) as const
    const slow = { type: 'perf_metric', data: { path: '/api/6', ms: 180 } } as const
    const all = [failed(false), failed(true), slow]
    const published: unknown[] = []
    await observer({
      site: '',
      async *events() {
        for (let at = 0; at < all.length; at += atOnce) yield all.slice(at, at + atOnce)
      },
      publish: (_, data) => Promise.resolve(void published.push(data)),
      step: async (_, work) => work(),
    })
    expect(published).toEqual([
      { what: 'load /api/6: 4 of 20 calls failed' },
      { what: 'load /api/6: calls take 180 ms' },
      { observed: 3, anomalies: 2 },
    ])
  })

  test('has a pipeline that is refused with load before behavior', () => {
    const [recon, behavior, load, ...rest] = inOrder
    const stages = [recon, load, behavior, ...rest].filter((stage) => stage !== undefined)
    expect(() => definePipeline({ name: 'too-early', stages: stages as never })).toThrow(
      "pipeline 'too-early': stage 'load' subscribes to 'flow_mapped', which no stage before it publishes",
    )
  })

  test('takes as long as its critical path at best', () => {
    // Two pages of 10 ms, each tested for 20 ms as soon as it is there: 10 + 20 + 20, then 5 at the end.
    const pieces = [
      { stage: 'recon', of: undefined, ms: 10, gave: [0] },
      { stage: 'recon', of: undefined, ms: 10, gave: [1] },
      { stage: 'behavior', of: 0, ms: 20, gave: [2] },
      { stage: 'behavior', of: 1, ms: 20, gave: [3] },
      { stage: 'behavior', of: 'end', ms: 1, gave: [] },
      // It is there for the first test at 30, and is done with both at 51, when its stream ends.
      { stage: 'synthesis', of: 2, ms: 1, gave: [] },
      { stage: 'synthesis', of: 3, ms: 1, gave: [] },
      { stage: 'synthesis', of: 'end', ms: 5, gave: [] },
    ] as const
    expect(boundOf(pieces)).toEqual({ sum: 68, criticalPath: 56 })
  })

  test('is measured with intervals of 95 %', () => {
    // The standard error of 1 to 5 is the root of 2.5 / 5, and of t with 4 degrees of freedom 2.776 are left out.
    expect(estimate([1, 2, 3, 4, 5]).mean).toBe(3)
    expect(estimate([1, 2, 3, 4, 5]).within).toBeCloseTo(2.776 * Math.sqrt(0.5), 2)
    // With 19 degrees of freedom it is 2.093: ten times 0 and ten times 1 have the variance 5 / 19.
    const coins = Array.from({ length: 20 }, (_, at) => at % 2)
    expect(estimate(coins).within).toBeCloseTo(2.093 * Math.sqrt(5 / 19 / 20), 4)
    expect(estimate([1, 3]).within).toBeCloseTo(12.706, 3)
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
    const attempts = async () => {
      const { tasks } = await runtime.list({ limit: 100 })
      return Object.fromEntries(tasks.map(({ type, attempt }) => [type, attempt]))
    }
    const { crash } = await untilCrash(first.taskId)
    expect(crash).toMatchObject({ type: 'recommendation', artifact: { escalated: 'crash' } })
    const before = await attempts()
    await approvals.reject(crash?.approvalId ?? '', { by: 'Ada' })
    // Her no is final: the supervisor starts nothing again.
    await expect(it.result(first.taskId)).rejects.toThrow("child 'recommendation'")
    const after = await attempts()
    for (const phase of ['extraction', 'scoring']) expect(after[phase]).toBe(before[phase])

    const { taskId } = await runtime.retry(first)
    await untilCrash(taskId)
    await answer(runtime)
    const { result } = await untilCrash(taskId)
    expect(result).toMatchObject({ clauses: 7, total: 12, corrected: ['breach'] })
    const all = (await runtime.list({ limit: 100 })).tasks.map(({ type }) => type)
    expect(all.toSorted()).toEqual([
      'extraction',
      'phases',
      'phases',
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

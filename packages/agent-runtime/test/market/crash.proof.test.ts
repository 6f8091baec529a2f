import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineMarketplace, defineTask, type TaskFailed } from '../../src/index.ts'
import { sweepCrashes } from '../../src/testing/index.ts'
import { agents, judge } from './agents.ts'

const decompose = defineTask({ type: 'decompose', input: z.looseObject({}) }, () => ({
  parts: { skim: { agent: 'quick', cost: 1 }, score: { agent: 'thorough', inputFrom: 'skim' } },
}))
const market = defineMarketplace({
  name: 'market',
  input: z.string(),
  output: z.string(),
  agents,
  stages: { decompose, evaluate: judge },
})
const plain = defineMarketplace({ name: 'plain', input: z.string(), output: z.string(), agents })
const config = { shares: { ledger: true, startCredits: 0 } } as const

describe('13.6 a marketplace whose process dies at any commit', () => {
  test('13.6 loses nothing and does nothing twice: one evaluation, and each part paid for once', async () => {
    const report = await sweepCrashes({
      tasks: [market, decompose, judge, ...agents.tasks],
      config,
      script: async (it) => {
        const { runtime } = it
        await runtime.credits.purchase('acme', 20, { key: 'order 1' })
        const job = { work: 'clause 7', domain: 'legal' }
        const receipt = await runtime.submit(market, job, { client: 'acme', cost: 0, taskId: 'job' })
        const { result, contract, evaluation } = await it.result(receipt)
        const balance = await runtime.credits.balance('acme')
        const entries = await runtime.credits.entries('acme')
        const standing = await runtime.evaluations.reputation(contract.agent)
        return {
          result,
          agent: contract.agent,
          composite: evaluation.composite,
          spent: balance?.spent,
          reserved: balance?.reserved,
          kinds: entries.map(({ kind }) => kind).toSorted(),
          evaluations: standing?.evaluations,
        }
      },
      check: (_, result) => {
        expect(result).toMatchObject({
          result: 'scored skimmed clause 7',
          agent: 'quick',
          spent: 2.5,
          reserved: 0,
          kinds: ['purchase', 'reserve', 'reserve', 'settle', 'settle'],
          evaluations: 1,
        })
      },
    })
    expect(report.crashedAfter.length).toBeGreaterThan(15)
  })

  test('13.6 work that fails is judged once', async () => {
    await sweepCrashes({
      tasks: [plain, ...agents.tasks],
      config,
      script: async (it) => {
        const job = { work: 'a vase', domain: 'repair' }
        const receipt = await it.runtime.submit(plain, job, { taskId: 'job' })
        const failed = await it.result(receipt).then(
          () => 'completed',
          ({ kind }: TaskFailed) => kind,
        )
        const { evaluations, reputation } = (await it.runtime.evaluations.reputation('clumsy')) ?? {}
        return { failed, evaluations, reputation }
      },
      check: (_, result) => expect(result).toMatchObject({ failed: 'error', evaluations: 1 }),
    })
  })
})

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgreement, defineTask, type TaskContext } from '../src/index.ts'
import { createTestRuntime, type TestRuntime } from '../src/testing/index.ts'

/** The only open question. */
async function question({ runtime }: TestRuntime) {
  const { approvals } = await runtime.approvals.list()
  expect(approvals).toHaveLength(1)
  const [asked] = approvals
  return { approvalId: asked?.approvalId ?? '', artifact: asked?.artifact }
}

describe('case studies of the scheduler paper', () => {
  test('a contract: each result is reviewed, a rejected one is made again with the feedback, and a crash asks a person', async () => {
    const made: string[] = []
    const phase = (type: string, make: (ctx: TaskContext, of: string) => string) =>
      defineTask(
        {
          type,
          input: z.string(),
          retry: { attempts: 4, backoff: { initialMs: 10 } },
          // High stakes: no crash is gone over without a person.
          recovery: { timeout: 'fallback_agent', crash: 'human_escalation', fallbackModels: ['fast'] },
          model: 'careful',
        },
        async (ctx, of) => {
          const result = await ctx.step('make', () => {
            made.push(type)
            return make(ctx, of)
          })
          if (ctx.oversight === 'supervised') await ctx.requestApproval('review', result)
          return result
        },
      )
    const extraction = phase('extraction', (_, text) => `clauses of ${text}`)
    const scoring = phase('scoring', (ctx, clauses) => {
      if (ctx.attempt === 1) throw new Error('the scorer crashed')
      return `risks of ${[clauses, ...ctx.feedback.map(({ feedback }) => feedback)].join(', ')}`
    })
    const advice = phase('advice', (_, risks) => `advice on ${risks}`)
    const analysis = defineTask({ type: 'analysis', input: z.string() }, async (ctx, text) => {
      const clauses = await ctx.call('extraction', extraction, text)
      const risks = await ctx.call('scoring', scoring, clauses)
      return ctx.call('advice', advice, risks)
    })
    const gdpr = defineAgreement({ name: 'gdpr', client: 'acme', oversight: 'supervised' })

    await using it = await createTestRuntime({
      tasks: [analysis, extraction, scoring, advice],
      config: { shares: {} },
    })
    const { runtime } = it
    const receipt = await runtime.submit(analysis, 'the contract', { agreement: gdpr })
    const asks = async (artifact: unknown, verdict: 'approve' | 'reject', feedback?: string) => {
      await it.settle()
      const asked = await question(it)
      expect(asked.artifact).toEqual(artifact)
      await runtime.approvals[verdict](asked.approvalId, { feedback })
    }
    await asks('clauses of the contract', 'approve')
    await asks(expect.objectContaining({ escalated: 'crash', kind: 'error' }), 'approve')
    await asks('risks of clauses of the contract', 'reject', 'and clause 7')
    await asks('risks of clauses of the contract, and clause 7', 'approve')
    await asks('advice on risks of clauses of the contract, and clause 7', 'approve')
    expect(await it.result(receipt)).toBe('advice on risks of clauses of the contract, and clause 7')
    // The extraction was approved, and nothing that came later has made it again.
    expect(made).toEqual(['extraction', 'scoring', 'scoring', 'scoring', 'advice'])
  })

  test('an audit: a scanner that crashes is tried again alone, and only a doubtful finding asks a person', async () => {
    const scans: string[] = []
    const Target = z.object({ name: z.string(), confidence: z.number(), crashes: z.boolean() })
    const scanner = defineTask(
      { type: 'scanner', input: Target, retry: { attempts: 2, backoff: { initialMs: 10 } } },
      async (ctx, { name, confidence, crashes }) => {
        const finding = await ctx.step('scan', () => {
          scans.push(name)
          return `a finding of ${name}`
        })
        if (crashes && ctx.attempt === 1) throw new Error('the scanner crashed')
        if (confidence < 0.5) await ctx.requestApproval('doubt', finding, { mode: 'autonomous_escalation' })
        return finding
      },
    )
    const audit = defineTask({ type: 'audit', input: z.null() }, async (ctx) => {
      const targets = [
        { name: 'network', confidence: 0.9, crashes: true },
        { name: 'web', confidence: 0.2, crashes: false },
        { name: 'settings', confidence: 0.8, crashes: false },
      ]
      const findings = await Promise.all(targets.map((target) => ctx.call(target.name, scanner, target)))
      return ctx.step('report', () => findings.join('; '))
    })

    await using it = await createTestRuntime({ tasks: [audit, scanner], workers: { capacity: 4 } })
    const { runtime } = it
    const receipt = await runtime.submit(audit, null)
    await it.advance(1_000)
    const asked = await question(it)
    expect(asked.artifact).toBe('a finding of web')
    await runtime.approvals.approve(asked.approvalId)
    expect(await it.result(receipt)).toBe('a finding of network; a finding of web; a finding of settings')
    // Side by side, each once: the crash came after the scan was recorded.
    expect(scans.toSorted()).toEqual(['network', 'settings', 'web'])
    const { tasks } = await runtime.list({ parent: receipt.taskId })
    expect(tasks.map(({ attempt }) => attempt).toSorted((a, b) => a - b)).toEqual([1, 1, 2])
  })
})

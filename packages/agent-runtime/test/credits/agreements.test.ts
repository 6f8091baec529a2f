import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ConfigError } from '@ku0/agent-runtime-core'
import { createRuntime, defineAgreement, defineTask } from '../../src/index.ts'
import { virtualRuntime } from '../virtual-runtime.ts'

const inner = defineTask({ type: 'inner', input: z.null() }, async (ctx) => {
  if (ctx.oversight === 'supervised') await ctx.requestApproval('part', 'of it', { mode: 'spot_check' })
})
const work = defineTask({ type: 'work', input: z.null() }, async (ctx) => {
  await ctx.call('inner', inner, null)
  return 'done'
})

describe('an agreement', () => {
  test('12.5 gives its client, tier, lane, limits of time and label to what comes under it', async () => {
    const gold = defineAgreement({
      name: 'gold',
      client: 'acme',
      tier: 'contracted',
      lane: 'interactive',
      timeoutMs: 5_000,
      deadlineMs: 60_000,
    })
    const { runtime } = await virtualRuntime({ tasks: [work, inner], config: { shares: {} }, start: false })
    const receipt = await runtime.submit(work, null, { agreement: gold, labels: { of: 'me' } })
    expect(await runtime.status(receipt)).toMatchObject({
      client: 'acme',
      lane: 'interactive',
      labels: { of: 'me', agreement: 'gold' },
      budget: { limits: { wallMs: 60_000 } },
    })
    expect(await runtime.clients.get('acme')).toMatchObject({ tier: 'contracted', queued: 1 })
    const later = await runtime.submit(work, null, {
      agreement: gold,
      lane: 'batch',
      budget: { tokens: 5, wallMs: 10 },
    })
    expect(await runtime.status(later)).toMatchObject({
      lane: 'batch',
      budget: { limits: { tokens: 5, wallMs: 10 } },
    })
  })

  test('12.5 asks for approvals at least as often as it says, of children too', async () => {
    const watched = defineAgreement({ name: 'watched', client: 'acme', oversight: 'supervised' })
    await using runtime = await createRuntime({
      store: 'sqlite::memory:',
      tasks: [work, inner],
      logger: false,
    })
    const free = await runtime.submit(work, null)
    expect(await runtime.result(free)).toBe('done')
    const held = await runtime.submit(work, null, { agreement: watched })
    for await (const { type } of runtime.events(held)) if (type === 'task.waiting') break
    const { children } = (await runtime.explain(held)) ?? {}
    const child = children?.first[0]?.taskId ?? ''
    for await (const { type } of runtime.events(child)) if (type === 'task.waiting') break
    const { approvals } = await runtime.approvals.list()
    expect(approvals).toMatchObject([{ mode: 'supervised', key: 'part', taskId: child }])
    await runtime.approvals.approve(approvals[0]?.approvalId ?? '')
    expect(await runtime.result(held)).toBe('done')
  })

  test('11.9 says what happens without credits, whatever the shares say', async () => {
    await using runtime = await createRuntime({
      store: 'sqlite::memory:',
      tasks: [work, inner],
      logger: false,
      config: { shares: { ledger: true, outOfCredits: 'park', startCredits: 0 } },
    })
    const strict = defineAgreement({ name: 'strict', client: 'poor', outOfCredits: 'reject' })
    expect(await runtime.submit(work, null, { agreement: strict })).toMatchObject({
      accepted: false,
      reason: 'quota_exceeded',
    })
    const trusted = defineAgreement({ name: 'trusted', client: 'rich', outOfCredits: 'run' })
    // Its child runs on credit as well.
    expect(await runtime.result(await runtime.submit(work, null, { agreement: trusted }))).toBe('done')
    expect(await runtime.credits.balance('rich')).toMatchObject({ credits: -2, reserved: 0, spent: 2 })
  })

  test('12.5 is refused where it is with another client, or was not defined', async () => {
    const { runtime } = await virtualRuntime({ tasks: [work, inner], start: false })
    const gold = defineAgreement({ name: 'gold', client: 'acme' })
    await expect(runtime.submit(work, null, { agreement: gold, client: 'other' })).rejects.toThrow(
      'submit options agreement and client: the agreement "gold" is with "acme"; given "other"',
    )
    await expect(runtime.submit(work, null, { agreement: { ...gold } })).rejects.toThrow(
      'what defineAgreement returns',
    )
    expect(() => defineAgreement({ name: '', client: 'acme', lane: 'fast' } as never)).toThrow(ConfigError)
  })
})

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ConfigError } from '@ku0/agent-runtime-core'
import { createClient, createRuntime, defineAgreement, defineTask } from '../../src/index.ts'
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

  test('12.5 promises a time from the submission to the end, and says how late a task is', async () => {
    const slow = defineTask({ type: 'slow', input: z.number() }, (ctx, ms) => ctx.sleep('work', ms))
    const fast = defineAgreement({ name: 'fast', client: 'acme', latencyMs: 10_000 })
    const any = defineAgreement({ name: 'any', client: 'acme' })
    const { runtime, elapse } = await virtualRuntime({ tasks: [slow], agreements: [fast] })
    const [kept, late, plain] = [
      await runtime.submit(slow, 4_000, { agreement: 'fast' }),
      await runtime.submit(slow, 12_500, { agreement: fast }),
      await runtime.submit(slow, 12_500, { client: 'acme' }),
    ]
    const promised = async (task: typeof kept) => (await runtime.explain(task))?.agreement?.promise
    const { submittedAt = 0 } = (await runtime.status(late)) ?? {}
    const promise = { latencyMs: 10_000, until: submittedAt + 10_000 }
    await elapse(5_000)
    expect(await promised(late)).toEqual({ ...promise, lateMs: 0 })
    await elapse(6_000)
    expect(await promised(late)).toEqual({ ...promise, lateMs: 1_000 })
    await elapse(60_000)
    expect(await promised(late)).toEqual({ ...promise, lateMs: 2_500 })
    expect(await promised(kept)).toMatchObject({ lateMs: 0 })
    expect(await promised(plain)).toBeUndefined()
    const labels = { 'agreement.latencyMs': '5', of: 'me' }
    const own = await runtime.submit(slow, 1, { agreement: any, labels })
    expect(await promised(own)).toBeUndefined()
    expect((await runtime.status(own))?.labels).toEqual({ agreement: 'any', of: 'me' })
    const again = await runtime.fork(kept)
    expect((await promised(again))?.until).toBeGreaterThan(promise.until)
    expect(() => defineAgreement({ name: 'no', client: 'acme', latencyMs: 0 })).toThrow('latencyMs')
  })

  test('12.5 asks for approvals at least as often as it says, of children too', async () => {
    const watched = defineAgreement({ name: 'watched', client: 'acme', oversight: 'supervised' })
    await using runtime = await createRuntime({
      store: 'sqlite::memory:',
      thread: false,
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

  test('11.9 is refused by a runtime that keeps no credits if it says what happens without them', async () => {
    const made = (outOfCredits: 'reject' | 'park' | 'run', config: object) =>
      createRuntime({
        store: 'sqlite::memory:',
        thread: false,
        tasks: [work, inner],
        logger: false,
        agreements: [
          defineAgreement({ name: 'gold', client: 'acme' }),
          defineAgreement({ name: 'strict', client: 'poor', outOfCredits }),
        ],
        ...config,
      })
    for (const outOfCredits of ['reject', 'park'] as const)
      for (const config of [{}, { config: { shares: {} } }])
        await expect(made(outOfCredits, config)).rejects.toMatchObject({
          code: 'invalid_config',
          problems: [
            {
              path: 'agreements[1].outOfCredits',
              allowed: expect.stringContaining('config.shares: { ledger: true }') as string,
              given: outOfCredits,
            },
          ],
        })
    await using runs = await made('run', {})
    await using sells = await made('reject', { config: { shares: { ledger: true } } })
    expect([await runs.agreements.get('strict'), await sells.agreements.get('strict')]).toMatchObject([
      { outOfCredits: 'run' },
      { outOfCredits: 'reject' },
    ])
  })

  test('11.9 is refused by a client whose settings keep no credits, and not by one that takes the settings of others', async () => {
    const parks = defineAgreement({ name: 'parks', client: 'acme', outOfCredits: 'park' })
    const made = (more: object) =>
      createClient({ store: 'sqlite::memory:', thread: false, logger: false, agreements: [parks], ...more })
    for (const settings of ['stated', 'own'] as const)
      await expect(made({ config: { shares: {} }, settings })).rejects.toMatchObject({
        problems: [
          {
            path: 'agreements[0].outOfCredits',
            allowed: expect.stringContaining('config.shares: { ledger: true }') as string,
            given: 'park',
          },
        ],
      })
    for (const more of [
      {},
      { config: { shares: {} }, settings: 'followed' },
      { config: { maxChildren: 10 } },
    ]) {
      await using _ = await made(more)
    }
    await using _ = await made({ config: { shares: { ledger: true } } })
  })

  test('11.9 says what happens without credits, whatever the shares say', async () => {
    await using runtime = await createRuntime({
      store: 'sqlite::memory:',
      thread: false,
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

  test('12.5 is found by its name in submissions and schedules, where the runtime was given it', async () => {
    const gold = defineAgreement({
      name: 'gold',
      client: 'acme',
      tier: 'contracted',
      lane: 'interactive',
      oversight: 'supervised',
      outOfCredits: 'run',
    })
    const silver = defineAgreement({ name: 'silver', client: 'bob' })
    const { runtime } = await virtualRuntime({
      tasks: [work, inner],
      agreements: [silver, gold],
      config: { shares: {} },
      start: false,
    })
    expect(await runtime.agreements.list()).toEqual([gold, silver])
    expect(await runtime.agreements.get('gold')).toBe(gold)
    expect(await runtime.agreements.get('lead')).toBeUndefined()
    const [first, second] = await runtime.submitMany([
      { task: work, input: null, options: { agreement: 'gold' } },
      { task: work, input: null, options: { agreement: silver } },
    ])
    expect(await runtime.status(first)).toMatchObject({ client: 'acme', labels: { agreement: 'gold' } })
    expect(await runtime.status(second)).toMatchObject({ client: 'bob', lane: 'normal' })
    expect(await runtime.explain(first)).toMatchObject({
      agreement: { name: 'gold', client: 'acme', tier: 'contracted' },
    })
    expect(await runtime.explain(second)).toMatchObject({
      agreement: { name: 'silver', client: 'bob', tier: 'marketplace' },
    })
    const hourly = { everyMs: 3_600_000 }
    const terms = { client: 'acme', oversight: 'supervised', outOfCredits: 'run' }
    for (const [name, task] of [['known', work]] as const) {
      const put = await runtime.schedules.put(name, hourly, task, null, { agreement: 'gold' })
      expect(put).toMatchObject({ ...terms, lane: 'interactive', labels: { agreement: 'gold' } })
      const receipt = await runtime.schedules.trigger(name)
      expect(await runtime.status(receipt)).toMatchObject({ client: 'acme', lane: 'interactive' })
      expect(await runtime.explain(receipt)).toMatchObject({
        agreement: { name: 'gold', tier: 'contracted' },
      })
    }
    expect(
      await runtime.schedules.put('slow', hourly, work, null, { agreement: gold, lane: 'batch' }),
    ).toMatchObject({ lane: 'batch' })
    expect(await runtime.schedules.put('usual', hourly, work, null, { agreement: silver })).toMatchObject({
      lane: 'batch',
    })
  })

  test('12.5 reaches a schedule whose task type only workers know, and gives the tier', async () => {
    await using client = await createClient({
      store: 'sqlite::memory:',
      thread: false,
      agreements: [
        defineAgreement({ name: 'gold', client: 'acme', tier: 'contracted', outOfCredits: 'park' }),
      ],
      config: { shares: { ledger: true } },
      logger: false,
    })
    const put = await client.schedules.put('s', { everyMs: 1_000 }, 'unknown', 1, { agreement: 'gold' })
    expect(put).toMatchObject({ client: 'acme', outOfCredits: 'park', labels: { agreement: 'gold' } })
    expect(await client.clients.get('acme')).toMatchObject({ tier: 'contracted' })
  })

  test('12.5 a name that no agreement has is refused by each door, with the names that there are', async () => {
    const gold = defineAgreement({ name: 'gold', client: 'acme' })
    const { runtime } = await virtualRuntime({ tasks: [work, inner], agreements: [gold], start: false })
    const missing = 'there is no agreement "lead", there are "gold"; pass what defineAgreement returns'
    await expect(runtime.submit(work, null, { agreement: 'lead' })).rejects.toThrow(
      `submit option agreement: ${missing}`,
    )
    await expect(
      runtime.submitMany([
        { task: work, input: null, options: { agreement: 'gold' } },
        { task: work, input: null, options: { agreement: 'lead' } },
      ]),
    ).rejects.toThrow(`item 1: submit option agreement: ${missing}`)
    await expect(
      runtime.schedules.put('s', { everyMs: 1_000 }, work, null, { agreement: 'lead' }),
    ).rejects.toThrow(missing)
    await expect(
      runtime.schedules.put('s', { everyMs: 1_000 }, work, null, { agreement: 'gold', client: 'bob' }),
    ).rejects.toThrow('the agreement "gold" is with "acme"; given "bob"')
    expect((await runtime.list()).tasks).toEqual([])
    const twice = [gold, defineAgreement({ name: 'gold', client: 'bob' })]
    await expect(
      createClient({ store: 'sqlite::memory:', agreements: twice, logger: false }),
    ).rejects.toThrow('agreements[1].name')
    await expect(
      createClient({ store: 'sqlite::memory:', agreements: [{ ...gold }], logger: false }),
    ).rejects.toThrow('what defineAgreement returns')
  })

  test('12.5 children, retries and forks stay under it', async () => {
    const gold = defineAgreement({
      name: 'gold',
      client: 'acme',
      lane: 'interactive',
      deadlineMs: 60_000,
      oversight: 'supervised',
      outOfCredits: 'run',
    })
    const part = defineTask({ type: 'part', input: z.null() }, () => 'part')
    const breaks = defineTask({ type: 'breaks', input: z.null() }, async (ctx) => {
      await ctx.call('part', part, null, { labels: { of: 'me' } })
      throw new Error('broken')
    })
    await using runtime = await createRuntime({
      store: 'sqlite::memory:',
      thread: false,
      tasks: [breaks, part],
      agreements: [gold],
      config: { shares: { ledger: true, outOfCredits: 'reject', startCredits: 0 } },
      logger: false,
    })
    const first = await runtime.submit(breaks, null, { agreement: 'gold' })
    await expect(runtime.result(first)).rejects.toThrow('broken')
    const again = await runtime.retry(first)
    await expect(runtime.result(again)).rejects.toThrow('broken')
    const forked = await runtime.fork(first)
    await expect(runtime.result(forked)).rejects.toThrow('broken')
    for (const receipt of [first, again, forked]) {
      expect(await runtime.status(receipt)).toMatchObject({
        client: 'acme',
        lane: 'interactive',
        labels: { agreement: 'gold' },
        budget: { limits: { wallMs: 60_000 } },
      })
      const { events } = await runtime.history(receipt, { limit: 1 })
      expect(events[0]?.data).toMatchObject({ oversight: 'supervised', outOfCredits: 'run' })
    }
    const { tasks } = await runtime.list({ types: ['part'] })
    expect(tasks).toMatchObject([{ client: 'acme', labels: { of: 'me', agreement: 'gold' } }])
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

  test.each([
    [{}, 'agreement: name: 1 to 255 characters, no lone surrogates; not given'],
    [{ name: 'gold' }, 'agreement "gold": client: 1 to 255 characters, no lone surrogates; not given'],
    [{ name: 'gold', client: 'acme', agents: [] }, 'agreement "gold": agents: a list of names, at least one'],
    [
      { name: 'gold', client: 'acme', teir: 'spot' },
      'agreement "gold": teir: no such option, did you mean tier?',
    ],
  ])('12.5 is refused when it is defined with wrong terms: %o', (terms, message) => {
    expect(() => defineAgreement(terms as never)).toThrow(message)
  })

  test('12.5 may be for some agents: others are not submitted under it, and what an agent calls is its own business', async () => {
    const gold = defineAgreement({ name: 'gold', client: 'acme', agents: ['work'] })
    expect(Object.isFrozen(gold.agents)).toBe(true)
    const { runtime } = await virtualRuntime({ tasks: [work, inner], agreements: [gold], start: false })
    expect(await runtime.submit(work, null, { agreement: 'gold' })).toMatchObject({ accepted: true })
    const under = { agreement: 'gold' }
    const refusal = 'option agreement: the agreement "gold" is for "work"; given "inner"'
    await expect(runtime.submit(inner, null, under)).rejects.toThrow(`submit ${refusal}`)
    const nightly = { cron: '0 3 * * *' }
    await expect(runtime.schedules.put('nightly', nightly, inner, null, under)).rejects.toThrow(refusal)
    expect(() => defineAgreement({ name: 'gold', client: 'acme', agents: 'work' } as never)).toThrow(
      'agreement "gold": agents: a list of names, at least one',
    )
  })
})

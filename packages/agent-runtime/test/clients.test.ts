import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../src/index.ts'
import { virtualRuntime } from './virtual-runtime.ts'

const order: string[] = []
const work = defineTask({ type: 'work', input: z.string() }, (ctx, client) => {
  order.push(client)
  ctx.charge({ cost: 2 })
})

describe('clients', () => {
  test('share by their credits what slots there are', async () => {
    order.length = 0
    const { runtime } = await virtualRuntime({
      tasks: [work],
      config: { shares: {}, maxInFlightPerWorker: 1 },
      start: false,
    })
    await runtime.clients.set('big', { credits: 3_000 })
    const items = Array.from({ length: 24 }, (_, n) => (n % 2 === 0 ? 'small' : 'big'))
    const receipts = await runtime.submitMany(
      items.map((client) => ({ task: work, input: client, options: { client } })),
    )
    await runtime.start()
    for (const receipt of receipts) await runtime.result(receipt)
    const early = order.slice(0, 12)
    expect(early.filter((client) => client === 'big')).toHaveLength(9)
    expect(await runtime.clients.list()).toMatchObject([
      { name: 'big', credits: 3_000, tier: 'marketplace', spent: 24, queued: 0, running: 0 },
      { name: 'small', credits: 1_000, spent: 24 },
    ])
  })

  test('are known by name, and forgotten when they are removed', async () => {
    const { runtime } = await virtualRuntime({ tasks: [work], config: { shares: {}, maxClients: 2 } })
    expect(await runtime.clients.get('a')).toBeUndefined()
    expect(await runtime.clients.set('a', { tier: 'contracted' })).toMatchObject({
      name: 'a',
      credits: 1_000,
      tier: 'contracted',
      virtualTime: 0,
    })
    await runtime.clients.set('a', { credits: 0.5 })
    expect(await runtime.clients.get('a')).toMatchObject({ credits: 0.5, tier: 'contracted' })
    await runtime.clients.set('b', {})
    await expect(runtime.clients.set('c', {})).rejects.toMatchObject({ code: 'limit_exceeded' })
    expect(await runtime.clients.list({ after: 'a' })).toMatchObject([{ name: 'b' }])
    expect(await runtime.clients.remove('a')).toBe(true)
    expect(await runtime.clients.remove('a')).toBe(false)
  })

  test('a task that was queued before there were shares and quotas is of the client without a name, and comes under none of them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ku0-clients-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const database = join(folder, 'clients.db')
    const before = await virtualRuntime({ tasks: [work], database, start: false })
    for (const input of ['a', 'a', 'a']) await before.runtime.submit(work, input, { client: 'a' })
    await before.runtime.stop()
    await before.store.close()
    const { runtime } = await virtualRuntime({
      tasks: [work],
      database,
      environment: before.environment,
      config: { shares: {}, quotaConfig: { clients: { a: { maxInFlight: 1, onExceeded: 'defer' } } } },
      start: false,
    })
    await runtime.submit(work, 'a', { client: 'a' })
    await runtime.clients.set('', { credits: 3_000 })
    expect(await runtime.clients.list()).toMatchObject([
      { name: '', queued: 3 },
      { name: 'a', queued: 1 },
    ])
    expect((await runtime.stats()).quotas).toMatchObject([{ key: 'client:a', queued: 1 }])
  })

  test('one with tasks under way cannot be removed', async () => {
    const { runtime } = await virtualRuntime({ tasks: [work], config: { shares: {} }, start: false })
    await runtime.submit(work, 'a', { client: 'a' })
    await expect(runtime.clients.remove('a')).rejects.toMatchObject({
      code: 'invalid_argument',
      details: { name: 'a', queued: 1, delayed: 0, running: 0 },
    })
  })

  test('tasks without a client have one without a name, which comes first and is set like any other', async () => {
    const { runtime } = await virtualRuntime({ tasks: [work], config: { shares: {} } })
    await runtime.clients.set('a', {})
    expect(await runtime.clients.get('')).toBeUndefined()
    await runtime.result(await runtime.submit(work, ''))
    expect(await runtime.clients.get('')).toMatchObject({ name: '', credits: 1_000, spent: 2 })
    expect(await runtime.clients.set('', { credits: 5 })).toMatchObject({ name: '', credits: 5 })
    expect(await runtime.clients.list()).toMatchObject([{ name: '' }, { name: 'a' }])
    expect(await runtime.clients.list({ limit: 1 })).toMatchObject([{ name: '' }])
    expect(await runtime.clients.list({ after: '' })).toMatchObject([{ name: 'a' }])
    expect(await runtime.clients.remove('')).toBe(true)
  })

  test('without shares what is set is kept for when there are', async () => {
    const { runtime } = await virtualRuntime({ tasks: [work] })
    await runtime.clients.set('a', { credits: 7 })
    expect(await runtime.clients.get('a')).toMatchObject({ credits: 7 })
  })

  test.each([
    ['credits', { credits: -1 }, 'credits: a number from 0 to 1e9; given -1'],
    ['credits', { credits: Number.NaN }, 'credits'],
    ['tier', { tier: 'gold' }, 'tier: contracted | marketplace'],
    ['a misspelt setting', { credit: 5 }, 'did you mean credits?'],
    ['nothing', undefined, 'an object with credits, tier'],
  ])('bad %s is invalid_argument and changes nothing', async (_, settings, message) => {
    const { runtime } = await virtualRuntime({ tasks: [work], config: { shares: {} } })
    await expect(runtime.clients.set('a', settings as never)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(message),
    })
    expect(await runtime.clients.get('a')).toBeUndefined()
  })

  test.each([
    [{ tierPolicy: 'loose' }, "shares.tierPolicy: 'strict' or 'weighted'"],
    [{ reputationBeta: -1 }, 'shares.reputationBeta: a number from 0 to 100'],
    [{ tierPolice: 'strict' }, 'did you mean tierPolicy?'],
  ])('a bad configuration is refused at the start: %j', async (shares, message) => {
    await expect(
      virtualRuntime({ tasks: [work], config: { shares: shares as never } }),
    ).rejects.toMatchObject({
      code: 'invalid_config',
      message: expect.stringContaining(message),
    })
  })
})

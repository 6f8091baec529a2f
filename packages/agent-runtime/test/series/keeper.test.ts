import { HOUR_MS, MINUTE_MS } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'

const work = defineTask({ type: 'work', input: z.number() }, (ctx, ms) => ctx.sleep('work', ms))
const fails = defineTask({ type: 'fails', input: z.null() }, () => {
  throw new Error('no')
})
const stays = defineTask({ type: 'stays', input: z.null() }, (ctx) => ctx.waitForSignal('go'))

/** A time in the middle of a minute, at the beginning of an hour. */
const now = 500_000 * HOUR_MS + 30_000

describe('samples of the past', () => {
  test('are kept minute by minute: what was queued, ran and ended', async () => {
    await using it = await createTestRuntime({ tasks: [work, fails, stays], now })
    const { runtime } = it
    using _ = runtime.keepSeries()
    await it.result(await runtime.submit(work, 1_000))
    await expect(it.result(await runtime.submit(fails, null))).rejects.toThrow('no')
    await runtime.pauseQueue({ types: ['stays'] })
    for (let n = 0; n < 3; n += 1) await runtime.submit(stays, null, { lane: 'batch' })
    await it.advance(3 * MINUTE_MS)
    const { points } = await runtime.series({ windowMs: 3 * MINUTE_MS, stepMs: MINUTE_MS })
    expect(points.map(({ queued }) => queued?.batch)).toEqual([3, 3, 3])
    const steps = await runtime.series({ windowMs: 4 * MINUTE_MS, stepMs: MINUTE_MS, type: 'work' })
    expect(steps.points.map(({ queued }) => queued?.batch)).not.toContain(3)
    expect(steps.points.reduce((sum, { completed }) => sum + completed, 0)).toBe(1)
  })

  test('outlive the runs that retention deletes, and a restart', async () => {
    const config = { retention: { completed: { ageMs: MINUTE_MS }, everyMs: 10_000 } } as const
    await using it = await createTestRuntime({ tasks: [work], now, config, crashes: true })
    const first = it.runtime.keepSeries()
    for (let n = 0; n < 4; n += 1) await it.result(await it.runtime.submit(work, 1))
    await it.advance(2 * MINUTE_MS)
    first[Symbol.dispose]()
    it.crash()
    await it.restart()
    const { runtime } = it
    using _ = runtime.keepSeries()
    await it.advance(4 * MINUTE_MS)
    expect((await runtime.list({ states: ['completed'] })).tasks.length).toBeLessThan(4)
    const { points } = await runtime.series({ windowMs: 10 * MINUTE_MS, stepMs: MINUTE_MS })
    expect(points.reduce((sum, { completed }) => sum + completed, 0)).toBe(4)
  })

  test('begin with the first run of a store: nothing is written of the hour before it', async () => {
    await using it = await createTestRuntime({ tasks: [work], now })
    const { runtime } = it
    using _ = runtime.keepSeries()
    await it.result(await runtime.submit(work, 1_000))
    const { commits } = await runtime.stats()
    await it.advance(MINUTE_MS)
    // Its own, and those by which the process shows that it lives.
    expect((await runtime.stats()).commits - commits).toBeLessThan(10)
  })

  test('are rolled up to one of an hour from those of its minutes', async () => {
    await using it = await createTestRuntime({ tasks: [work], now: now + 57 * MINUTE_MS })
    using _ = it.runtime.keepSeries()
    await it.result(await it.runtime.submit(work, 1_000))
    await it.advance(5 * MINUTE_MS)
    const { points, stepMs } = await it.runtime.series({ windowMs: 30 * HOUR_MS, stepMs: HOUR_MS })
    expect(stepMs).toBe(HOUR_MS)
    expect(points.filter(({ queued }) => queued !== undefined)).toHaveLength(1)
  })
})

import { HOUR_MS, MINUTE_MS, type Sample, type Write } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { virtualRuntime } from '../virtual-runtime.ts'

const work = defineTask({ type: 'work', input: z.number() }, (ctx, ms) => ctx.sleep('work', ms))
const fails = defineTask({ type: 'fails', input: z.null() }, () => {
  throw new Error('no')
})
const stays = defineTask({ type: 'stays', input: z.null() }, (ctx) => ctx.waitForSignal('go'))

/** A time in the middle of a minute, at the beginning of an hour. */
const now = 500_000 * HOUR_MS + 30_000

/** A runtime on a new store, and the samples of each write. */
async function newStage() {
  const stage = await virtualRuntime({ tasks: [work] })
  const { store } = stage
  const write = store.write.bind(store)
  const written: (readonly Sample[])[] = []
  store.write = (operation) => {
    if (operation.kind === 'sample') written.push((operation as unknown as Write<'sample'>).samples)
    return write(operation)
  }
  return { ...stage, written }
}

function minutesOf(samples: readonly Sample[]): readonly number[] {
  return [...new Set(samples.map(({ at }) => at))]
}

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
    const { runtime, written, elapse, block } = await newStage()
    await block(10 * MINUTE_MS)
    await runtime.submit(work, 1_000)
    using _ = runtime.keepSeries()
    await elapse(MINUTE_MS + 1_000)
    expect(written.map((samples) => minutesOf(samples).length)).toEqual([1])
  })

  test('are kept in one write of all minutes for which nobody kept them', async () => {
    const { runtime, written, elapse, block } = await newStage()
    const first = runtime.keepSeries()
    await runtime.submit(work, 1_000)
    await elapse(MINUTE_MS + 1_000)
    first[Symbol.dispose]()
    await block(40 * MINUTE_MS)
    using _ = runtime.keepSeries()
    await elapse(MINUTE_MS + 1_000)
    expect(written.map((samples) => minutesOf(samples).length)).toEqual([1, 41])
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

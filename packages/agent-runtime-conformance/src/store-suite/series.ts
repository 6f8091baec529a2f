import { HOUR_MS, MINUTE_MS, type Sample, type SeriesFilter } from '@ku0/agent-runtime-core'
import type { Suite } from './suite.ts'

export function series({ rule, timed, expect }: Suite): void {
  timed(
    'a series tells what started, ended, failed and ran, by type and lane, and for how long tasks waited',
    async (scene) => {
      const steps = async (more: SeriesFilter = {}) => {
        const filter = { windowMs: 30_000, stepMs: 10_000, ...more }
        const { points } = await scene.read({ kind: 'series', filter })
        return points.map(({ started, completed, failed, running }) => [started, completed, failed, running])
      }
      expect(await steps()).toEqual([
        [0, 0, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
      ])
      const completed = await scene.running()
      await scene.jump(15_000)
      await scene.settle(completed)
      await scene.jump(11_000)
      await scene.accepted({ type: 'other', lane: 'batch' })
      await scene.jump(2_000)
      await scene.worker('late', 1, ['other'])
      const failed = await scene.claim()
      await scene.settle(failed, { as: 'failed', kind: 'timeout', error: '{"message":"late"}' })
      await scene.running({ lane: 'interactive' })
      await scene.jump(1_000)
      expect(await steps()).toEqual([
        [1, 0, 0, 1],
        [0, 1, 0, 0],
        [2, 0, 1, 1],
      ])
      const { workers } = await scene.read({
        kind: 'series',
        filter: { windowMs: 30_000, stepMs: 10_000 },
      })
      expect(workers.map(({ running }) => running.join()).toSorted()).toEqual(['0,0,1', '1,0,0'])
      expect((await steps({ lane: 'interactive' })).at(-1)).toEqual([1, 0, 0, 1])
      expect((await steps({ type: 'other' })).at(-1)).toEqual([1, 0, 1, 0])
      const { points } = await scene.read({
        kind: 'series',
        filter: { windowMs: 10_000, stepMs: 10_000, type: 'other' },
      })
      expect(points.at(-1)?.wait).toEqual({ half: 2_000, most: 2_000, nearly: 2_000 })
    },
  )

  rule('a series tells why submissions were refused, by type and lane', async (scene) => {
    const refused = async (more: SeriesFilter = {}) => {
      const filter = { windowMs: 60_000, stepMs: 60_000, ...more }
      return (await scene.read({ kind: 'series', filter })).points.at(-1)?.refused
    }
    expect(await refused()).toEqual({})
    await scene.submitMany(2, unknownType)
    await scene.submit({ type: 'work', lane: 'batch', refused: { reason: 'invalid_payload', message: 'no' } })
    await scene.accepted()
    expect(await refused()).toEqual({ unknown_task_type: 2, invalid_payload: 1 })
    expect(await refused({ type: 'work' })).toEqual({ invalid_payload: 1 })
    expect(await refused({ lane: 'batch' })).toEqual({ invalid_payload: 1 })
    expect(await refused({ lane: 'interactive' })).toEqual({})
  })

  timed(
    'a series tells refusals step by step, as far back as their records reach',
    async (scene) => {
      const steps = async () => {
        const filter = { windowMs: 30_000, stepMs: 10_000 }
        return (await scene.read({ kind: 'series', filter })).points.map(({ refused }) => refused)
      }
      await scene.submit(unknownType)
      await scene.jump(10_000)
      await scene.submit(unknownType)
      expect(await steps()).toEqual([{}, { unknown_task_type: 1 }, { unknown_task_type: 1 }])
      await scene.submitMany(3, unknownType)
      expect(await steps()).toEqual([undefined, undefined, { unknown_task_type: 3 }])
      await scene.jump(10_000)
      await scene.submit(unknownType)
      expect(await steps()).toEqual([undefined, { unknown_task_type: 2 }, { unknown_task_type: 1 }])
    },
    { config: { maxRejectedKept: 3 } },
  )

  rule(
    'a series counts a task that failed once, and not with an attempt that was repeated',
    async (scene) => {
      const first = await scene.running()
      await scene.settle(first, { as: 'retry', error: '{"message":"no"}', delayMs: 0 })
      await scene.worker('second', 1, ['work'])
      const second = await scene.claim()
      await scene.settle(second, { as: 'failed', kind: 'error', error: '{"message":"no"}' })
      const { points } = await scene.read({ kind: 'series', filter: { windowMs: 60_000, stepMs: 60_000 } })
      expect(points).toMatchObject([{ started: 2, completed: 0, failed: 1, running: 0 }])
    },
  )

  const counts = { running: 0, started: 1, completed: 1, failed: 0, waits: [0, 2] }
  const sample = (at: number, more: Partial<Sample> = {}): Sample => ({
    stepMs: MINUTE_MS,
    at,
    type: '',
    lane: 'normal',
    queued: 1,
    ...counts,
    ...more,
  })

  rule(
    'samples take the place of those of the same step, and are listed by their ends, of one type or of all',
    async (scene) => {
      const at = 100 * HOUR_MS
      const write = (samples: readonly Sample[]) => scene.write({ kind: 'sample', samples })
      expect(await scene.read({ kind: 'lastSample', stepMs: MINUTE_MS })).toBe(undefined)
      const { queued: _, ...unknown } = sample(at, { type: 'a', lane: 'batch' })
      expect(await write([sample(at), sample(at), unknown])).toEqual({ kept: 3 })
      await write([sample(at, { started: 2 }), sample(at + MINUTE_MS), sample(at, { stepMs: HOUR_MS })])
      const read = (more: object = {}) =>
        scene.read({ kind: 'samples', stepMs: MINUTE_MS, from: at - 1, to: at, ...more })
      expect(await read()).toEqual([sample(at, { started: 2 }), unknown])
      expect(await read({ type: '' })).toEqual([sample(at, { started: 2 })])
      expect(await read({ lane: 'batch' })).toEqual([unknown])
      expect(await read({ from: at })).toEqual([])
      expect(await scene.read({ kind: 'lastSample', stepMs: MINUTE_MS })).toBe(at + MINUTE_MS)
      expect(await scene.read({ kind: 'lastSample', stepMs: HOUR_MS })).toBe(at)
    },
  )

  rule('samples of a minute are kept for a day, and those of an hour for 30 days', async (scene) => {
    const at = 100 * HOUR_MS
    const day = 24 * HOUR_MS
    const ends = async (stepMs: number) =>
      (await scene.read({ kind: 'samples', stepMs, from: 0, to: at + 40 * day })).map((it) => it.at - at)
    const both = (end: number) => [sample(end), sample(end, { stepMs: HOUR_MS })]
    await scene.write({ kind: 'sample', samples: both(at) })
    await scene.write({ kind: 'sample', samples: both(at + day - HOUR_MS) })
    expect(await ends(MINUTE_MS)).toEqual([day - HOUR_MS, 0])
    await scene.write({ kind: 'sample', samples: both(at + day) })
    expect(await ends(MINUTE_MS)).toEqual([day, day - HOUR_MS])
    expect(await ends(HOUR_MS)).toEqual([day, day - HOUR_MS, 0])
    await scene.write({ kind: 'sample', samples: both(at + 30 * day) })
    expect(await ends(HOUR_MS)).toEqual([30 * day, day, day - HOUR_MS])
  })

  timed(
    'runs are read from either side by their numbers, with what is queued, and a series shows what samples say was queued',
    async (scene) => {
      const first = await scene.running()
      await scene.settle(first)
      await scene.accepted({ type: 'other', lane: 'batch' })
      await scene.accepted({ type: 'other', lane: 'batch' })
      const { runs, depths } = await scene.read({ kind: 'runs', limit: 5 })
      expect(runs).toMatchObject([{ type: 'work', leaseState: 'completed', taskState: 'completed' }])
      expect(depths).toEqual([{ type: 'other', lane: 'batch', queued: 2 }])
      const number = runs[0]?.number ?? 0
      const numbers = async (more: object) =>
        (await scene.read({ kind: 'runs', limit: 5, ...more })).runs.map((it) => it.number)
      expect(await numbers({ after: number - 1 })).toEqual([number])
      expect(await numbers({ after: number })).toEqual([])
      expect(await numbers({ before: number })).toEqual([])
      expect(await numbers({ these: [number, number + 9] })).toEqual([number])
      const at = Math.floor(scene.clock.now() / MINUTE_MS) * MINUTE_MS
      const filter = { windowMs: 30 * MINUTE_MS, stepMs: 5 * MINUTE_MS }
      await scene.write({ kind: 'sample', samples: [sample(at, { lane: 'batch', queued: 7 })] })
      const { points } = await scene.read({ kind: 'series', filter })
      expect(points.at(-1)).toMatchObject({ started: 1, queued: { interactive: 0, normal: 0, batch: 7 } })
    },
  )
}

const unknownType = {
  type: 'nonsense',
  refused: { reason: 'unknown_task_type', message: 'no task type nonsense' },
} as const

import type { SeriesFilter } from '@ku0/agent-runtime-core'
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
      expect((await steps({ lane: 'interactive' })).at(-1)).toEqual([1, 0, 0, 1])
      expect((await steps({ type: 'other' })).at(-1)).toEqual([1, 0, 1, 0])
      const { points } = await scene.read({
        kind: 'series',
        filter: { windowMs: 10_000, stepMs: 10_000, type: 'other' },
      })
      expect(points.at(-1)?.wait).toEqual({ half: 2_000, most: 2_000 })
    },
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
}

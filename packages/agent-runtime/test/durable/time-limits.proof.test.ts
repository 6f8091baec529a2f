import { describe, expect, test } from 'vitest'
import { sweepCrashes } from '../../src/testing/index.ts'
import { verdictOf, twice } from './time-limits-scene.ts'

describe('the time limit of a race or an all', () => {
  test('it ends the same after a crash at any place; verify and a fork agree', async () => {
    const ran: string[] = []
    const task = twice(ran)
    const { commits } = await sweepCrashes({
      tasks: [task],
      script: async (world) => world.result(await world.runtime.submit(task, null)),
      check: async (world, result) => {
        expect(result).toEqual([
          "race 'first' took longer than its time limit of 1000 ms",
          { inner: "race 'inner' took longer than its time limit of 500 ms", step: 4 },
        ])
        const { taskId } = (await world.runtime.list()).tasks[0] ?? { taskId: '' }
        expect(await verdictOf(world, taskId)).toMatchObject({ verdict: 'agreed', unused: 0 })
        ran.splice(0)
        expect(await world.result(await world.runtime.fork(taskId))).toEqual(result)
        expect(ran).toEqual([])
      },
    })
    expect(commits).toBeGreaterThan(8)
  })
})

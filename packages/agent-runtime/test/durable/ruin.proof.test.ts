import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'
import { folder, runToRuin } from '../real-processes.ts'

const program = new URL('../processes/ruinous.ts', import.meta.url)
/** Small enough that a handler runs out of it at once, and large enough for everything else. */
const littleMemory = ['--max-old-space-size=48']

/** Sees the store, and works on nothing. */
function look(database: string) {
  const any = (type: string) => defineTask({ type, input: z.any() }, () => {})
  const tasks = [any('ruin'), any('good')]
  return createRuntime({ store: `sqlite:${database}`, tasks, workers: 0, logger: false })
}

/** Starts the program again as long as it dies, as a supervisor does. Gives how each died. */
async function supervised(database: string, ...args: readonly string[]) {
  const deaths: { code: number | null; signal: NodeJS.Signals | null }[] = []
  while (deaths.length < 6) {
    const { ended } = runToRuin(littleMemory, program, database, ...args)
    const death = await ended
    if (death.code === 0) return deaths
    deaths.push(death)
  }
  throw new Error(`it dies for ever: ${JSON.stringify(deaths)}`)
}

describe('execution: handlers that ruin their process', () => {
  test.each(['exit', 'memory'])(
    'A20 every time, by %s: poisoned at the last life that it may take, and the tasks behind it run',
    async (how) => {
      const database = join(folder(), 'store.db')
      expect(await supervised(database, how)).toHaveLength(2)
      await using runtime = await look(database)
      const { tasks } = await runtime.list()
      expect(tasks.find(({ type }) => type === 'ruin')).toMatchObject({
        state: 'failed',
        kind: 'poisoned',
        crashes: 2,
      })
      const others = tasks.filter(({ type }) => type === 'good')
      expect(others.map(({ state, attempt, crashes }) => [state, attempt, crashes])).toEqual(
        Array.from({ length: 4 }, () => ['completed', 1, 0]),
      )
    },
  )

  test.each([
    ['exit', 5],
    ['memory', 3],
  ])(
    'A21 every time beside others, by %s: it alone is poisoned, and what lost its leases with it completes',
    async (how, maxCrashes) => {
      const database = join(folder(), 'store.db')
      const args = ['--beside', '--capacity', '4', '--crashes', String(maxCrashes)]
      expect(await supervised(database, how, ...args)).toHaveLength(maxCrashes)
      await using runtime = await look(database)
      const { tasks } = await runtime.list()
      expect(tasks.find(({ type }) => type === 'ruin')).toMatchObject({
        kind: 'poisoned',
        crashes: maxCrashes,
      })
      const others = tasks.filter(({ type }) => type === 'good')
      // Three ran beside it until they were suspects; the fourth was queued behind them.
      const lost = Math.ceil(maxCrashes / 2)
      expect(others.map(({ state, crashes }) => `${state} ${crashes}`).toSorted()).toEqual([
        'completed 0',
        `completed ${lost}`,
        `completed ${lost}`,
        `completed ${lost}`,
      ])
    },
  )

  test.each(['timer', 'rejection', 'emitter'])(
    'A23 an error that no code of the handler can catch, in a %s: Node ends the process, and the next one takes its tasks over',
    async (how) => {
      const database = join(folder(), 'store.db')
      expect(await supervised(database, how, '--capacity', '4')).toEqual([{ code: 1, signal: null }])
      await using runtime = await look(database)
      const { tasks } = await runtime.list()
      expect(tasks.map(({ state }) => state)).toEqual(Array.from({ length: 5 }, () => 'completed'))
      expect(await runtime.status('ruin')).toMatchObject({ output: 'recovered', attempt: 2, crashes: 1 })
      expect(await runtime.leases('ruin')).toMatchObject([
        { status: 'failed', endReason: 'owner_dead' },
        { status: 'completed' },
      ])
    },
  )

  test('A12 a process that dies in a clean-up hook of a canceled task: the task stays canceled, and nothing of it runs again', async () => {
    const database = join(folder(), 'store.db')
    await using runtime = await look(database)
    const first = runToRuin([], program, database, 'hook')
    await first.said('began 1')
    expect(await runtime.cancel('ruin')).toBe(true)
    expect(await first.ended).toEqual({ code: null, signal: 'SIGKILL' })
    const second = runToRuin([], program, database, 'hook')
    expect(await second.ended).toEqual({ code: 0, signal: null })
    expect(second.lines).toEqual([])
    expect(await runtime.status('ruin')).toMatchObject({ state: 'canceled', attempt: 1 })
    const events: string[] = []
    for await (const { type } of runtime.events('ruin')) events.push(type)
    expect(events).toEqual(['task.queued', 'task.started', 'task.canceled'])
  })
})

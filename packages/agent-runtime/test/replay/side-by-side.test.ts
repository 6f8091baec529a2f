import { describe, expect, test } from 'vitest'
import type { TaskContext } from '../../src/index.ts'
import { turns } from '../virtual-runtime.ts'
import { begun, crash, type Version, type Versions } from './versions.ts'

const done = () => 'done'

/** What ran of the version that is deployed, in this order. */
type Ran = string[]

/** Steps in a `Promise.all`, after and before others; those of `hanging` never end. */
function beside(
  keys: readonly string[],
  {
    before = [],
    after = [],
    end = done,
    ran = [],
    hanging = [],
    order = keys,
  }: {
    readonly before?: readonly string[]
    readonly after?: readonly string[]
    readonly end?: () => unknown
    readonly ran?: Ran
    readonly hanging?: readonly string[]
    /** The order in which they end. */
    readonly order?: readonly string[]
  } = {},
): Version {
  return async (ctx) => {
    const step = (key: string) =>
      ctx.step(key, async () => {
        if (hanging.includes(key)) await crash()
        for (let turn = order.indexOf(key); turn > 0; turn -= 1) await turns()
        ran.push(key)
        return key
      })
    for (const key of before) await step(key)
    await Promise.all(keys.map(step))
    for (const key of after) await step(key)
    return end()
  }
}

async function recorded(first: Version): Promise<Versions> {
  const task = await begun(first)
  for (let turn = 0; turn < 10; turn += 1) await turns()
  return task
}

const parkedBy = (divergence: object) => ({ state: 'waiting', waitingFor: 'divergence', divergence })

describe('changed calls side by side (docs/semantics.md 6.4)', () => {
  const abc = ['a', 'b', 'c']
  const places: [string, { before?: string[]; after?: string[] }][] = [
    ['at the handler’s end', {}],
    ['before sequential steps that are recorded', { after: ['d', 'e'] }],
    ['after sequential steps', { before: ['y', 'z'] }],
    ['between sequential steps', { before: ['z'], after: ['d'] }],
  ]

  describe.each(places)('%s', (_, around) => {
    const start = around.before?.length ?? 0
    test.each([
      ['the second', ['a', 'b2', 'c'], 'b', 1],
      ['the last', ['a', 'b', 'c2'], 'c', 2],
      ['the second and the last', ['a', 'b2', 'c2'], 'b', 1],
      ['the first', ['a2', 'b', 'c'], 'a', 0],
    ] as const)(
      '%s is renamed: the task is parked before anything runs',
      async (_name, keys, expected, at) => {
        for (const order of [abc, abc.toReversed(), ['b', 'c', 'a']]) {
          const task = await recorded(beside(abc, { ...around, order, end: crash }))
          const ran: Ran = []
          const [key, position] = [`${expected}2`, start + at]
          expect(await task.deploy(beside(keys, { ...around, ran }))).toMatchObject(
            parkedBy({ kind: 'unexpected_step', key, position, expected, actual: key }),
          )
          expect(ran).toEqual([])
        }
      },
    )

    test('one in the middle is taken out: the task is parked at the next call that is new, or at the end', async () => {
      const task = await recorded(beside(abc, { ...around, end: crash }))
      const ran: Ran = []
      const after = [...(around.after ?? []), 'new']
      expect(await task.deploy(beside(['a', 'c'], { ...around, after, ran }))).toMatchObject(
        parkedBy({ kind: 'missing_step', key: 'b', position: start + 1, actual: 'new' }),
      )
      expect(await task.runtime.resume(task.taskId)).toBeUndefined()
      expect(await task.deploy(beside(['a', 'c'], { ...around, ran }))).toMatchObject(
        parkedBy({ kind: 'missing_step', key: 'b', position: start + 1 }),
      )
      expect(ran).toEqual([])
    })

    test('they change places: their keys answer', async () => {
      const task = await recorded(beside(abc, { ...around, end: crash }))
      const ran: Ran = []
      const after = [...(around.after ?? []), 'new']
      expect(await task.deploy(beside(['c', 'a', 'b'], { ...around, after, ran }))).toMatchObject({
        state: 'completed',
      })
      expect(ran).toEqual(['new'])
    })

    test('one more that is not the last of them runs', async () => {
      const task = await recorded(beside(abc, { ...around, end: crash }))
      const ran: Ran = []
      expect(await task.deploy(beside(['a', 'new', 'b', 'c'], { ...around, ran }))).toMatchObject({
        state: 'completed',
      })
      expect(ran).toEqual(['new'])
    })
  })

  test('one more as the last of them runs where nothing is recorded behind them, and parks the task where something is', async () => {
    const open = await recorded(beside(abc, { end: crash }))
    const ran: Ran = []
    expect(await open.deploy(beside([...abc, 'new'], { ran }))).toMatchObject({ state: 'completed' })
    const behind = await recorded(beside(abc, { after: ['d'], end: crash }))
    expect(await behind.deploy(beside([...abc, 'new'], { after: ['d'], ran }))).toMatchObject(
      parkedBy({ kind: 'unexpected_step', key: 'new', position: 3, expected: 'd' }),
    )
    expect(ran).toEqual(['new'])
  })

  test.each(abc)(
    '%s was cut off by the crash: a recorded one that is renamed is not run again',
    async (cut) => {
      const names = abc.filter((key) => key !== cut)
      for (const renamed of names) {
        const task = await recorded(beside(abc, { before: ['z'], hanging: [cut] }))
        const ran: Ran = []
        const keys = abc.map((key) => (key === renamed ? `${key}2` : key))
        const status = await task.deploy(beside(keys, { before: ['z'], ran }))
        expect(await task.elapse(0)).toMatchObject(
          parkedBy({ kind: 'unexpected_step', key: `${renamed}2`, expected: renamed }),
        )
        expect(status.state).not.toBe('completed')
        expect(ran).not.toContain(`${renamed}2`)
        // One that was begun before the renamed one was called is waited for, and kept.
        expect(ran).toEqual(abc.indexOf(cut) < abc.indexOf(renamed) ? [cut] : [])
      }
    },
  )

  test('one that is cut off is run again beside those that are recorded', async () => {
    for (const cut of abc) {
      const task = await recorded(beside(abc, { before: ['z'], hanging: [cut] }))
      const ran: Ran = []
      expect(await task.deploy(beside(abc, { before: ['z'], after: ['d'], ran }))).toMatchObject({
        state: 'completed',
      })
      expect(ran).toEqual([cut, 'd'])
    }
  })

  test('the last of three is taken out: nothing tells, its memo is left over', async () => {
    const task = await recorded(beside(abc, { end: crash }))
    const ran: Ran = []
    expect(await task.deploy(beside(['a', 'b'], { after: ['new'], ran }))).toMatchObject({
      state: 'completed',
      steps: 4,
    })
    expect(ran).toEqual(['new'])
  })

  test('children and waits count like steps', async () => {
    const calls =
      (nap: string, signal: string, end: () => unknown): Version =>
      async (ctx) => {
        await Promise.all([ctx.step('a', () => 1), ctx.sleep(nap, 10), ctx.waitForSignal(signal)])
        return end()
      }
    for (const [nap, signal] of [
      ['rest', 'go'],
      ['nap', 'on'],
    ] as const) {
      const task = await begun(calls('nap', 'go', crash))
      await task.runtime.signal(task.taskId, 'go')
      await task.elapse(10)
      const key = nap === 'nap' ? signal : nap
      expect(await task.deploy(calls(nap, signal, done))).toMatchObject(
        parkedBy({ kind: 'unexpected_step', key }),
      )
    }
  })

  test('a record in place of a step that had failed before them proves nothing', async () => {
    let works = false
    const flow =
      (end: (ctx: TaskContext) => unknown): Version =>
      async (ctx) => {
        await ctx
          .step('first', () => {
            if (!works) throw new Error('no')
          })
          .catch(() => ctx.step('instead', () => 1))
        await Promise.all(abc.map((key) => ctx.step(key, () => key)))
        return end(ctx)
      }
    const task = await begun(flow(crash))
    works = true
    await task.deploy(flow(crash))
    expect(await task.deploy(flow((ctx) => ctx.step('new', () => 2)))).toMatchObject({ state: 'completed' })
  })

  test('chains that go on from them may get on in any order', async () => {
    const flow =
      (open: readonly string[]): Version =>
      async (ctx) => {
        await ctx.step('first', () => 1)
        const chain = async (key: string) => {
          await ctx.step(key, () => key)
          await turns()
          await Promise.all(
            ['x', 'y'].map((more) => ctx.step(`${key} ${more}`, () => (open.includes(key) ? 1 : crash()))),
          )
        }
        await Promise.all(abc.map(chain))
        return 'done'
      }
    for (const open of [['c'], ['b'], ['b', 'c']]) {
      const task = await recorded(flow(open))
      await task.deploy(flow(abc))
      for (let turn = 0; turn < 5; turn += 1) await turns()
      expect(await task.elapse(0)).toMatchObject({ state: 'completed' })
    }
  })
})

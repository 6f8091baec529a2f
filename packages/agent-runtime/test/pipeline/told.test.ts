import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { definePipeline, defineTask } from '../../src/index.ts'
import { gate, turns, virtualRuntime, type VirtualRuntime } from '../virtual-runtime.ts'

const nothing = z.undefined()
const word = z.string()

interface Begun extends Pick<VirtualRuntime, 'store' | 'runtime' | 'elapse'> {
  /** Runs all that needs no time. */
  readonly settled: () => Promise<void>
}

/** Begins a pipeline on time that stands still: a stage that waits for the end of its slot never goes on. */
async function begin(
  maxUnread: number,
  stages: Parameters<typeof definePipeline>[0]['stages'],
  prepare: (virtual: VirtualRuntime) => void = () => undefined,
): Promise<Begun> {
  const pipeline = definePipeline({ name: 'line', maxUnread, stages })
  const virtual = await virtualRuntime({ tasks: [pipeline, ...stages.map(({ task }) => task)] })
  const { runtime } = virtual
  prepare(virtual)
  await runtime.submit(pipeline, undefined)
  const settled = async () => {
    for (let turn = 0; turn < 30; turn += 1) await turns()
  }
  await settled()
  return { ...virtual, settled }
}

/** The next answers to `receive` and `publish` come together, as from one commit: the first to be asked first. */
function answerTogether(store: VirtualRuntime['store']): void {
  const write = store.write.bind(store)
  const kept: (() => void)[] = []
  const held = async (it: Parameters<typeof write>[0]) => {
    const outcome = await write(it)
    if (kept.length === 2 || (it.kind !== 'receive' && it.kind !== 'publish')) return outcome
    return await new Promise((resolve) => {
      kept.push(() => resolve(outcome))
      if (kept.length === 2) for (const give of kept) give()
    })
  }
  Object.assign(store, { write: held })
}

describe('13.2 a stage that keeps its slot', () => {
  test('gets the end of the stream at once', async () => {
    const hold = gate()
    const heard: string[] = []
    const says = defineTask({ type: 'says', input: nothing }, async (ctx) => {
      await ctx.publish('word', 'a')
      await hold.promise
    })
    const hears = defineTask({ type: 'hears', input: nothing }, async (ctx) => {
      const events = await ctx.receive({ word })
      const end = await ctx.receive({ word })
      heard.push(`${events.length} and ${end.length}`)
    })
    const { settled } = await begin(9, [
      { name: 'says', task: says, publishes: { word } },
      { name: 'hears', task: hears, subscribes: ['word'] },
    ])
    expect(heard).toEqual([])
    hold.resolve()
    await settled()
    expect(heard).toEqual(['1 and 0'])
  })

  test('goes on at once when the stage that held it back has completed, and its events are checked once', async () => {
    const hold = gate()
    const said: string[] = []
    const checked: string[] = []
    const counted = word.refine((text) => checked.push(text) > 0)
    const says = defineTask({ type: 'says', input: nothing }, async (ctx) => {
      for (const text of ['a', 'b', 'c']) {
        await ctx.publish('word', text)
        said.push(text)
      }
    })
    const hears = defineTask({ type: 'hears', input: nothing }, () => hold.promise)
    const { settled } = await begin(1, [
      { name: 'says', task: says, publishes: { word: counted } },
      { name: 'hears', task: hears, subscribes: ['word'] },
    ])
    expect(said).toEqual(['a'])
    hold.resolve()
    await settled()
    expect(said).toEqual(['a', 'b', 'c'])
    expect(checked).toEqual(['a', 'b', 'c'])
  })

  test('gets what came in the commit that had nothing for it, after its question', async () => {
    const receipt = gate()
    const publication = gate()
    const heard: string[] = []
    const says = defineTask({ type: 'says', input: nothing }, async (ctx) => {
      await ctx.publish('word', 'a')
      await publication.promise
      await ctx.publish('word', 'b')
      await ctx.waitForSignal('never')
    })
    const hears = defineTask({ type: 'hears', input: nothing }, async (ctx) => {
      for (;;) {
        const events = await ctx.receive({ word })
        heard.push(...events.map(({ data }) => data))
        if (events.length === 0) return
        await receipt.promise
      }
    })
    const { settled, store } = await begin(9, [
      { name: 'says', task: says, publishes: { word } },
      { name: 'hears', task: hears, subscribes: ['word'] },
    ])
    expect(heard).toEqual(['a'])
    answerTogether(store)
    receipt.resolve()
    publication.resolve()
    await settled()
    expect(heard).toEqual(['a', 'b'])
  })

  test.each([
    ['as three commits take', { commitMs: 60, checkMs: 0 }, 180],
    ['as 250 ms, if a wait costs more', { commitMs: 200, checkMs: 0 }, 250],
    ['as a later pass would take to come here', { commitMs: 0, checkMs: 100 }, 200],
    ['as 50 ms, if a wait costs less', { commitMs: 1, checkMs: 1 }, 50],
  ])('keeps it for as long %s, in its first pass too', async (_, { commitMs, checkMs }, keptMs) => {
    let takes = (ms: number): void => void ms
    const says = defineTask({ type: 'says', input: nothing }, async (ctx) => {
      await ctx.publishAll('word', ['a', 'b'])
      await ctx.waitForSignal('never')
    })
    const slow = word.refine(() => {
      takes(checkMs)
      return true
    })
    const hears = defineTask({ type: 'hears', input: nothing }, async (ctx) => {
      while ((await ctx.receive({ word: slow })).length > 0);
    })
    const stages = [
      { name: 'says', task: says, publishes: { word } },
      { name: 'hears', task: hears, subscribes: ['word'] },
    ]
    const { runtime, elapse, settled } = await begin(9, stages, ({ store, environment }) => {
      takes = (ms) => environment.clock.advanceBy(ms)
      const write = store.write.bind(store)
      const slowly = async (it: Parameters<typeof write>[0]) => {
        const outcome = await write(it)
        if (it.kind === 'receive') takes(commitMs)
        return outcome
      }
      Object.assign(store, { write: slowly })
    })
    const state = async () => (await runtime.list({ types: ['hears'] })).tasks[0]?.state
    await elapse(keptMs - 1)
    expect(await state()).toBe('running')
    await elapse(1)
    await settled()
    expect(await state()).toBe('waiting')
  })
})

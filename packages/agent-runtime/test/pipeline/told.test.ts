import { join } from 'node:path'
import { RuntimeError } from '@ku0/agent-runtime-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import * as z from 'zod'
import { Stir } from '../../src/durable/pipeline/stir.ts'
import { definePipeline, defineTask, type TaskContext } from '../../src/index.ts'
import { folder } from '../real-processes.ts'
import { gate, turns, virtualEnvironment, virtualRuntime, type VirtualRuntime } from '../virtual-runtime.ts'

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
  const tasks = [pipeline, ...stages.map(({ task }) => task)]
  const virtual = await virtualRuntime({ tasks, workers: { capacity: 9 } })
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

/** The next readings of the pipeline do this first. */
function beforeReadings(store: VirtualRuntime['store'], before: () => Promise<void>): void {
  const read = store.read.bind(store)
  const held = async (it: Parameters<typeof read>[0]) => {
    if (it.kind === 'pipeline') await before()
    return await read(it)
  }
  Object.assign(store, { read: held })
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

  test('asks again only when there is room, and one that waits at a time', async () => {
    const doors = [gate(), gate(), gate()] as const
    const [first, second, third] = doors
    // None of them ends: that may make room, too.
    const says = defineTask({ type: 'says', input: nothing }, async (ctx) => {
      await ctx.publish('word', 'a')
      await ctx.waitForSignal('never')
    })
    const passes = defineTask({ type: 'passes', input: z.number() }, async (ctx, partition) => {
      await doors[partition === 1 ? 0 : 1].promise
      await ctx.receive({ word })
      await ctx.waitForSignal('never')
    })
    const hears = defineTask({ type: 'hears', input: nothing }, async (ctx) => {
      await third.promise
      for (const _ of [1, 2, 3]) await ctx.receive({ word }, { max: 1 })
    })
    const twice = defineTask({ type: 'twice', input: nothing }, async (ctx) => {
      await ctx.publishAll('word', ['a', 'b'])
      await ctx.publish('word', 'c')
    })
    const asked: string[] = []
    const counts = ({ store }: VirtualRuntime) => {
      const write = store.write.bind(store)
      const counted = async (it: Parameters<typeof write>[0]) => {
        const outcome = await write(it)
        if (it.kind === 'publish') asked.push((outcome as { readonly as: string }).as)
        return outcome
      }
      Object.assign(store, { write: counted })
    }
    const many = await begin(
      1,
      [
        { name: 'twice', task: twice, publishes: { word } },
        { name: 'passes', task: passes, input: (_, it) => it, subscribes: ['word'], partitions: 2 },
      ],
      counts,
    )
    expect(asked).toEqual(['published', 'no_room'])
    first.resolve()
    await many.settled()
    expect(asked).toEqual(['published', 'no_room'])
    second.resolve()
    await many.settled()
    expect(asked.splice(0)).toEqual(['published', 'no_room', 'published'])

    const one = await begin(
      1,
      [
        { name: 'says', task: says, publishes: { word }, partitions: 3 },
        { name: 'hears', task: hears, subscribes: ['word'] },
      ],
      counts,
    )
    // The pipeline gives its slot back.
    await one.elapse(1)
    expect(asked).toEqual(['published', 'no_room', 'no_room'])
    third.resolve()
    await one.settled()
    expect(asked).toEqual(['published', 'no_room', 'no_room', 'published', 'published'])
  })

  test.each([
    ['has published, and there is more', undefined, ['said', 'said', 'said', 'said']],
    ['fails to publish', new Error('no'), ['said', 'said', 'failed', 'said']],
  ])('tells the next one that waits for room when it %s', async (_, failure, expected) => {
    const door = gate()
    const said: string[] = []
    let fails: Error | undefined
    // None of them ends: all that wait would be told.
    const says = defineTask({ type: 'says', input: nothing }, async (ctx) => {
      await ctx.publish('word', 'a').then(
        () => said.push('said'),
        () => said.push('failed'),
      )
      await ctx.waitForSignal('never')
    })
    const hears = defineTask({ type: 'hears', input: nothing }, async (ctx) => {
      await door.promise
      await ctx.receive({ word }, { max: 2 })
      await ctx.waitForSignal('never')
    })
    const stages = [
      { name: 'says', task: says, publishes: { word }, partitions: 4 },
      { name: 'hears', task: hears, subscribes: ['word'] },
    ]
    const { elapse, settled } = await begin(2, stages, ({ store }) => {
      const write = store.write.bind(store)
      const failing = async (it: Parameters<typeof write>[0]) => {
        const failed = it.kind === 'publish' ? fails : undefined
        if (failed === undefined) return await write(it)
        fails = undefined
        throw failed
      }
      Object.assign(store, { write: failing })
    })
    // The pipeline gives its slot back.
    await elapse(1)
    expect(said).toEqual(['said', 'said'])
    fails = failure
    door.resolve()
    await settled()
    expect(said).toEqual(expected)
  })

  test('keeps it for longer while its turn comes nearer', async () => {
    const doors = [gate(), gate(), gate()] as const
    const end = gate()
    const said: number[] = []
    const says = defineTask({ type: 'says', input: z.number() }, async (ctx, partition) => {
      await ctx.publish('word', 'a')
      said.push(partition)
      await end.promise
    })
    const hears = defineTask({ type: 'hears', input: nothing }, async (ctx) => {
      for (const { promise } of doors) {
        await promise
        await ctx.receive({ word }, { max: 1 })
      }
    })
    const { runtime, elapse } = await begin(1, [
      { name: 'says', task: says, input: (_, it) => it, publishes: { word }, partitions: 4 },
      { name: 'hears', task: hears, subscribes: ['word'] },
    ])
    for (const door of doors) {
      await elapse(40)
      expect((await runtime.list({ types: ['says'], states: ['waiting'] })).tasks).toEqual([])
      door.resolve()
    }
    await elapse(1)
    expect(said.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4])
    end.resolve()
    await elapse(1)
  })

  test('gets events, and the end of the stream, from another process in time', async () => {
    const [more, end] = [gate(), gate()]
    const heard: string[] = []
    const { elapse } = await apart(
      9,
      async (ctx) => {
        await ctx.publish('word', 'a')
        await more.promise
        await ctx.publish('word', 'b')
        await end.promise
      },
      async (ctx) => {
        for (;;) {
          const events = await ctx.receive({ word })
          heard.push(...(events.length === 0 ? ['end'] : events.map(({ data }) => data)))
          if (events.length === 0) return
        }
      },
    )
    expect(heard).toEqual(['a'])
    more.resolve()
    await elapse(11)
    expect(heard).toEqual(['a', 'b'])
    end.resolve()
    await elapse(11)
    expect(heard).toEqual(['a', 'b', 'end'])
  })

  test('gets room that another process has made in time', async () => {
    const hold = gate()
    const said: string[] = []
    const { elapse } = await apart(
      1,
      async (ctx) => {
        for (const text of ['a', 'b']) {
          await ctx.publish('word', text)
          said.push(text)
        }
      },
      async (ctx) => {
        await hold.promise
        await ctx.receive({ word })
        await ctx.waitForSignal('never')
      },
    )
    expect(said).toEqual(['a'])
    hold.resolve()
    await elapse(11)
    expect(said).toEqual(['a', 'b'])
  })

  test('gets what comes after a look that failed', async () => {
    const more = gate()
    const heard: string[] = []
    const { elapse, store } = await apart(
      9,
      async (ctx) => {
        await ctx.publish('word', 'a')
        await more.promise
        await ctx.publish('word', 'b')
        await ctx.waitForSignal('never')
      },
      async (ctx) => {
        for (;;) heard.push(...(await ctx.receive({ word })).map(({ data }) => data))
      },
    )
    let failed = 0
    beforeReadings(store, async () => {
      failed += 1
      if (failed === 1) throw new RuntimeError('store_busy', 'the store is busy')
    })
    await elapse(11)
    expect(failed).toBe(1)
    more.resolve()
    await elapse(11)
    expect(heard).toEqual(['a', 'b'])
  })

  test('gives it up in time while a look takes long, and then is not here any more', async () => {
    const answer = gate()
    const { elapse, runtime, store } = await apart(
      9,
      async (ctx) => {
        await ctx.publish('word', 'a')
        await ctx.waitForSignal('never')
      },
      async (ctx) => {
        while ((await ctx.receive({ word })).length > 0);
      },
    )
    beforeReadings(store, () => answer.promise)
    const hears = async () => (await runtime.list({ types: ['hears'] })).tasks[0]
    const { taskId = '' } = (await hears()) ?? {}
    expect((await hears())?.state).toBe('running')
    await elapse(51)
    expect((await hears())?.state).toBe('waiting')
    const isHere = () => Stir.of(store).runsHere(taskId)
    expect(isHere()).toBe(false)
    answer.resolve()
    await elapse(1)
    expect(isHere()).toBe(false)
  })

  test('gives it up at once for a task that comes before it', async () => {
    const ran: string[] = []
    const says = defineTask({ type: 'says', input: nothing }, async (ctx) => {
      await ctx.publish('word', 'a')
      await ctx.waitForSignal('never')
    })
    const hears = defineTask({ type: 'hears', input: nothing }, async (ctx) => {
      while ((await ctx.receive({ word })).length > 0) ran.push('hears')
    })
    const urgent = defineTask({ type: 'urgent', input: nothing }, () => void ran.push('urgent'))
    const line = definePipeline({
      name: 'line',
      stages: [
        { name: 'says', task: says, publishes: { word } },
        { name: 'hears', task: hears, subscribes: ['word'] },
      ],
    })
    const { runtime, elapse } = await virtualRuntime({
      tasks: [line, says, hears, urgent],
      workers: { capacity: 1 },
      config: { preemption: true },
    })
    await runtime.submit(line, undefined)
    await elapse(1)
    expect(ran).toEqual(['hears'])
    await runtime.submit(urgent, undefined, { lane: 'interactive' })
    await elapse(11)
    expect(ran).toEqual(['hears', 'urgent'])
  })
})

/** Runs two stages, each in a process of its own, from when both have begun. Gives the process of the one that hears. */
async function apart(
  maxUnread: number,
  saying: (ctx: TaskContext) => Promise<void>,
  hearing: (ctx: TaskContext) => Promise<void>,
): Promise<VirtualRuntime> {
  const begun = new Set<string>()
  const doors = [gate(), gate()] as const
  const says = defineTask({ type: 'says', input: nothing }, async (ctx) => {
    begun.add('says')
    await doors[0].promise
    await saying(ctx)
  })
  const hears = defineTask({ type: 'hears', input: nothing }, async (ctx) => {
    begun.add('hears')
    await doors[1].promise
    await hearing(ctx)
  })
  const line = definePipeline({
    name: 'line',
    maxUnread,
    stages: [
      { name: 'says', task: says, publishes: { word } },
      { name: 'hears', task: hears, subscribes: ['word'] },
    ],
  })
  const shared = { database: join(folder(), 'line.db'), environment: virtualEnvironment() }
  const others = { types: ['line', 'says'] }
  const { runtime, elapse } = await virtualRuntime({ ...shared, tasks: [line, says, hears], workers: others })
  const other = await virtualRuntime({ ...shared, tasks: [hears] })
  onTestFinished(async () => {
    const stopped = other.runtime.stop({ drain: false })
    await elapse(100)
    await stopped
  })
  await runtime.submit(line, undefined)
  // A process at rest looks seldom.
  for (let turn = 0; begun.size < 2; turn += 1) {
    expect(turn).toBeLessThan(200)
    await elapse(10)
  }
  for (const door of doors) {
    door.resolve()
    await elapse(1)
  }
  return other
}

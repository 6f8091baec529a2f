import { SeededRandom } from '@ku0/agent-runtime-core/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type RuntimeEvent } from '../../src/index.ts'
import { gate, turns, until, virtualRuntime } from '../virtual-runtime.ts'

/** A task that says that it started, and runs until its gate is opened. */
function held(type = 'held') {
  const started: string[] = []
  const gates = new Map<string, PromiseWithResolvers<void>>()
  const task = defineTask({ type, input: z.string() }, async (_, name) => {
    started.push(name)
    const door = gate()
    gates.set(name, door)
    await door.promise
    return name
  })
  return { task, started, open: (name: string) => gates.get(name)?.resolve() }
}

describe('execution: scheduling', () => {
  test('lanes are strict: when the one slot frees, interactive runs first, then normal, then batch', async () => {
    const { task, started, open } = held()
    const { runtime } = await virtualRuntime({ tasks: [task], workers: { capacity: 1 } })
    await runtime.submit(task, 'first')
    for (const lane of ['batch', 'normal', 'interactive'] as const) await runtime.submit(task, lane, { lane })
    for (const name of ['first', 'interactive', 'normal', 'batch']) {
      await until(() => started.at(-1) === name)
      open(name)
    }
    expect(started).toEqual(['first', 'interactive', 'normal', 'batch'])
  })

  test('inside a lane tasks start in the order of their submission', async () => {
    const { task, started, open } = held()
    const { runtime } = await virtualRuntime({ tasks: [task], workers: { capacity: 1 } })
    const names = Array.from({ length: 20 }, (_, index) => `t${index}`)
    await runtime.submitMany(names.map((input) => ({ task, input })))
    for (const name of names) {
      await until(() => started.at(-1) === name)
      open(name)
    }
    expect(started).toEqual(names)
  })

  test('two idle workers of capacity 4 and four tasks give 2 + 2', async () => {
    const { task } = held()
    const { runtime } = await virtualRuntime({ tasks: [task], workers: { ids: ['a', 'b'], capacity: 4 } })
    await runtime.submitMany(['1', '2', '3', '4'].map((input) => ({ task, input })))
    await turns()
    expect(
      (await runtime.workers()).map(({ workerId, inFlight, state }) => [workerId, inFlight, state]),
    ).toEqual([
      ['a', 2, 'busy'],
      ['b', 2, 'busy'],
    ])
  })

  test('a worker never runs more than its capacity, and that is at most maxInFlightPerWorker', async () => {
    const { task, started } = held()
    const config = { maxInFlightPerWorker: 3 }
    const { runtime } = await virtualRuntime({ tasks: [task], config, workers: { capacity: 50 } })
    await runtime.submitMany(Array.from({ length: 10 }, (_, index) => ({ task, input: String(index) })))
    await turns()
    expect(started).toHaveLength(3)
    expect(await runtime.workers()).toMatchObject([{ capacity: 3, inFlight: 3 }])
    expect(await runtime.stats()).toMatchObject({ running: 3, inFlight: 3, depth: { normal: 7 } })
  })

  test('a slot is given back when the handler settles, whatever became of its lease', async () => {
    const { task, started, open } = held()
    const { runtime } = await virtualRuntime({ tasks: [task], workers: { capacity: 1 } })
    const stubborn = await runtime.submit(task, 'stubborn')
    await runtime.submit(task, 'next')
    await until(() => started.length === 1)
    expect(await runtime.cancel(stubborn.taskId)).toBe(true)
    await turns()
    expect(started).toEqual(['stubborn'])
    open('stubborn')
    await until(() => started.length === 2)
  })

  test('a type that a worker does not list stays for others', async () => {
    const left = held('left')
    const right = held('right')
    const { runtime } = await virtualRuntime({
      tasks: [left.task, right.task],
      workers: { types: ['right'] },
    })
    const waiting = await runtime.submit(left.task, 'l')
    await runtime.submit(right.task, 'r')
    await turns()
    expect([left.started, right.started]).toEqual([[], ['r']])
    expect(await runtime.explain(waiting.taskId)).toMatchObject({ state: 'queued', waitsFor: 'worker' })
  })

  test('a head without a worker is skipped in place, and holds nobody up', async () => {
    const left = held('left')
    const right = held('right')
    const { runtime } = await virtualRuntime({
      tasks: [left.task, right.task],
      workers: { types: ['right'], capacity: 1 },
    })
    await runtime.submitMany([
      { task: left.task, input: 'l', options: { lane: 'interactive' } },
      { task: right.task, input: 'r' },
    ])
    await until(() => right.started.length === 1)
    expect(left.started).toEqual([])
  })

  test('without workers a process only submits', async () => {
    const { task, started } = held()
    const { runtime } = await virtualRuntime({ tasks: [task], workers: 0 })
    await runtime.submit(task, 'x')
    await turns()
    expect(started).toEqual([])
    expect(await runtime.workers()).toEqual([])
  })

  test('workers wait for start when that is set', async () => {
    const { task, started } = held()
    const { runtime } = await virtualRuntime({ tasks: [task], start: false })
    await runtime.submit(task, 'x')
    await turns()
    expect(started).toEqual([])
    await Promise.all([runtime.start(), runtime.start()])
    await until(() => started.length === 1)
    expect(await runtime.workers()).toHaveLength(1)
  })

  test('a handler that returns without a promise is as good', async () => {
    const sync = defineTask({ type: 'sync', input: z.number() }, (_, n) => n + 1)
    const { runtime } = await virtualRuntime({ tasks: [sync], workers: { capacity: 1 } })
    const receipts = await runtime.submitMany(
      Array.from({ length: 50 }, (_, input) => ({ task: sync, input })),
    )
    expect(await Promise.all(receipts.map((receipt) => runtime.result(receipt)))).toEqual(
      receipts.map((_, index) => index + 1),
    )
  })

  test('H12 the same tasks in the same order give the same starts, twice, and on a machine that takes its time', async () => {
    const run = async (restMs: () => number) => {
      const { task, started, open } = held()
      const { runtime, elapse } = await virtualRuntime({
        tasks: [task],
        start: false,
        workers: { ids: ['a', 'b'], capacity: 2 },
      })
      const starts: unknown[] = []
      runtime.on('task.started', ({ data }) => starts.push([data.workerId, data.dispatch, data.lane]))
      const lanes = ['batch', 'normal', 'interactive'] as const
      for (let index = 0; index < 30; index += 1) {
        await runtime.submit(task, `t${index}`, { lane: lanes[(index * 7) % 3] ?? 'normal' })
        await elapse(restMs())
      }
      await runtime.start()
      for (let index = 0; index < 30; index += 1) {
        await until(() => started.length > index)
        await elapse(restMs())
        open(started[index] ?? '')
      }
      return { starts, started }
    }
    const first = await run(() => 0)
    expect(await run(() => 0)).toEqual(first)
    const random = new SeededRandom('slow')
    expect(await run(() => random.int(40))).toEqual(first)
  })

  test('a handler that is canceled before its task could be parked keeps its slot until it ends', async () => {
    const [door, outside] = [gate(), gate()]
    let passes = 0
    const changed = defineTask({ type: 'changed', input: z.null() }, async (ctx) => {
      passes += 1
      const work = passes === 1 ? new Promise<never>(() => {}) : door.promise
      const slow = ctx.step('slow', () => work)
      void ctx.step('fast', { input: passes }, () => 1)
      await slow.catch(() => outside.promise)
    })
    const other = held('other')
    const { runtime, block, elapse } = await virtualRuntime({
      tasks: [changed, other.task],
      workers: { capacity: 2 },
    })
    const { taskId } = await runtime.submit(changed, null)
    await turns()
    // Its lease is lost. The second pass gives a step another input while a step of it runs.
    await block(31_000)
    await elapse(0)
    expect(passes).toBe(2)
    await runtime.submit(other.task, 'o')
    await runtime.cancel(taskId)
    door.resolve()
    await turns()
    expect(other.started).toEqual([])
    outside.resolve()
    await until(() => other.started.length === 1)
  })
})

describe('execution: preemption', () => {
  test('the youngest lease of the lowest lane yields at its next step boundary; a running step is never cut', async () => {
    const ran: string[] = []
    const door = gate()
    const long = defineTask({ type: 'long', input: z.null() }, async (ctx) => {
      await ctx.step('one', async () => {
        ran.push('one')
        await door.promise
      })
      await ctx.step('two', () => void ran.push('two'))
      return 'done'
    })
    const urgent = held('urgent')
    const { runtime } = await virtualRuntime({
      tasks: [long, urgent.task],
      workers: { capacity: 1 },
      config: { preemption: true },
    })
    const events: RuntimeEvent[] = []
    runtime.on('task.*', (event) => events.push(event))
    const lower = await runtime.submit(long, null, { lane: 'batch' })
    await until(() => ran.length === 1)
    await runtime.submit(urgent.task, 'u', { lane: 'interactive' })
    await turns()
    expect(urgent.started).toEqual([])
    door.resolve()
    await until(() => urgent.started.length === 1)
    expect(ran).toEqual(['one'])
    expect(await runtime.status(lower.taskId)).toMatchObject({ state: 'queued', attempt: 1, steps: 1 })
    expect(await runtime.leases(lower.taskId)).toMatchObject([{ status: 'canceled', endReason: 'yielded' }])
    urgent.open('u')
    expect(await runtime.result(lower)).toBe('done')
    expect(ran).toEqual(['one', 'two'])
    expect(events.map(({ type }) => type)).toContain('task.preempted')
  })

  test('a handler that is canceled after it was asked to yield keeps its slot until it ends', async () => {
    const [began, door, outside] = [gate(), gate(), gate()]
    const long = defineTask({ type: 'long', input: z.null() }, async (ctx) => {
      await ctx
        .step('one', () => {
          began.resolve()
          return door.promise
        })
        .catch(() => {})
      await outside.promise
    })
    const urgent = held('urgent')
    const { runtime } = await virtualRuntime({
      tasks: [long, urgent.task],
      workers: { capacity: 1 },
      config: { preemption: true },
    })
    const lower = await runtime.submit(long, null, { lane: 'batch' })
    await began.promise
    await runtime.submit(urgent.task, 'u', { lane: 'interactive' })
    await turns()
    await runtime.cancel(lower.taskId)
    door.resolve()
    await turns()
    expect(urgent.started).toEqual([])
    outside.resolve()
    await until(() => urgent.started.length === 1)
    expect((await runtime.stats()).staleWrites).toBe(0)
  })

  test('a handler gets the yield by its signal only: no call of it settles, and its return value is dropped', async () => {
    const unhandled: unknown[] = []
    const onUnhandled = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', onUnhandled)
    const heard: string[] = []
    const hooks: string[] = []
    const [door, doorOutside] = [gate(), gate()]
    let pass = 0
    const swallowing = defineTask({ type: 'swallowing', input: z.null() }, async (ctx) => {
      pass += 1
      if (pass > 1) return ctx.step('one', () => 'never').then(() => 'second pass')
      ctx.onCleanup((reason) => void hooks.push(reason))
      ctx.signal.addEventListener('abort', () => heard.push((ctx.signal.reason as Error).name))
      // Were it rejected, nobody would handle it.
      void ctx.step('one', () => door.promise).then(() => heard.push('settled'))
      await doorOutside.promise
      for (const call of [
        () => ctx.step('three', () => 3),
        () => ctx.sleep('nap', 1),
        () => ctx.exec('true'),
        () => ctx.emit(1),
        () => ctx.checkpoint(1),
        () => ctx.heartbeat(),
      ]) {
        const settled = () => void heard.push('settled')
        void call().then(settled, settled)
      }
      return 'first pass'
    })
    const urgent = held('urgent')
    const { runtime } = await virtualRuntime({
      tasks: [swallowing, urgent.task],
      workers: { capacity: 1 },
      config: { preemption: true },
    })
    const lower = await runtime.submit(swallowing, null)
    await until(() => pass === 1)
    await runtime.submit(urgent.task, 'u', { lane: 'interactive' })
    await turns()
    door.resolve()
    await until(() => urgent.started.length === 1)
    expect(heard).toEqual(['Suspended'])
    expect(hooks).toEqual(['yielded'])
    doorOutside.resolve()
    await turns()
    urgent.open('u')
    expect(await runtime.result(lower)).toBe('second pass')
    process.off('unhandledRejection', onUnhandled)
    expect(heard).toEqual(['Suspended'])
    expect(unhandled).toEqual([])
  })

  test('parallel steps: none is cut, and those not begun wait for the next pass', async () => {
    const ran: string[] = []
    const doors = { a: gate(), b: gate() }
    const wide = defineTask({ type: 'wide', input: z.null() }, async (ctx) => {
      const branch = async (name: 'a' | 'b') => {
        await ctx.step(name, async () => {
          ran.push(name)
          await doors[name].promise
        })
        await ctx.step(`${name}2`, () => void ran.push(`${name}2`))
      }
      await Promise.all([branch('a'), branch('b')])
    })
    const urgent = held('urgent')
    const { runtime } = await virtualRuntime({
      tasks: [wide, urgent.task],
      workers: { capacity: 1 },
      config: { preemption: true },
    })
    const lower = await runtime.submit(wide, null)
    await until(() => ran.length === 2)
    await runtime.submit(urgent.task, 'u', { lane: 'interactive' })
    await turns()
    doors.a.resolve()
    await turns()
    expect([ran, urgent.started]).toEqual([['a', 'b'], []])
    doors.b.resolve()
    await until(() => urgent.started.length === 1)
    expect(ran).toEqual(['a', 'b'])
    urgent.open('u')
    await runtime.result(lower)
    expect(ran.toSorted()).toEqual(['a', 'a2', 'b', 'b2'])
    expect(await runtime.status(lower.taskId)).toMatchObject({ attempt: 1, steps: 4 })
  })
})

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineTask, type PoolChange } from '../../src/index.ts'
import { virtualRuntime } from '../virtual-runtime.ts'

/** Tasks of a type that end when the test says so. */
function held() {
  const ends: (() => void)[] = []
  const task = defineTask({ type: 'held', input: z.number() }, async (ctx, n) => {
    await new Promise<void>((end) => {
      ends.push(end)
      ctx.signal.addEventListener('abort', () => end())
    })
    if (n < 0) throw new Error('negative')
    return n
  })
  const endAll = () => {
    for (const end of ends.splice(0)) end()
  }
  return { task, endAll }
}

/** Between two passes, and a moment more. */
const pass = 10_001

describe('a pool of workers in one process (docs/semantics.md 8.1-8.3)', () => {
  test('8.1 grows by one worker a pass while five tasks are queued, up to max', async () => {
    const { task, endAll } = held()
    const { runtime, elapse } = await virtualRuntime({
      tasks: [task],
      workers: { min: 1, max: 3, capacity: 1 },
    })
    for (let n = 0; n < 20; n++) await runtime.submit(task, n)
    const sizes = [runtime.pool.stats().totalWorkers]
    for (let passes = 0; passes < 4; passes++) {
      await elapse(pass)
      sizes.push(runtime.pool.stats().totalWorkers)
    }
    expect(sizes).toEqual([1, 2, 3, 3, 3])
    expect(runtime.pool.stats()).toMatchObject({ idleWorkers: 0, processingWorkers: 3, totalCompleted: 0 })
    expect((await runtime.workers()).map(({ inFlight }) => inFlight)).toEqual([1, 1, 1])
    endAll()
  })

  test('8.1 counts neither tasks of a paused type nor those of lanes that its workers leave to others', async () => {
    const { task, endAll } = held()
    const { runtime, elapse } = await virtualRuntime({
      tasks: [task],
      workers: { min: 1, max: 3, growAt: 1, capacity: 1, lanes: ['interactive', 'normal'] },
    })
    const sizeAfter = async (lane: 'normal' | 'batch') => {
      for (let n = 0; n < 3; n++) await runtime.submit(task, n, { lane })
      await elapse(pass)
      return runtime.pool.stats().totalWorkers
    }
    expect(await sizeAfter('batch')).toBe(1)
    expect(await runtime.pauseQueue({ types: ['held'] })).toBe(1)
    expect(await sizeAfter('normal')).toBe(1)
    expect(await runtime.resumeQueue({ types: ['held'] })).toBe(1)
    await elapse(pass)
    expect(runtime.pool.stats().totalWorkers).toBe(2)
    await expect(runtime.pauseQueue({})).rejects.toThrow('pauseQueue: a task type or a lane at least')
    endAll()
  })

  test('8.1 shrinks to min once workers have been idle for idleMs, and reports each change', async () => {
    const { task, endAll } = held()
    const { runtime, elapse } = await virtualRuntime({
      tasks: [task],
      workers: { min: 1, max: 2, growAt: 1, idleMs: 60_000, capacity: 1 },
    })
    const changes: PoolChange[] = []
    runtime.pool.on((change) => changes.push(change))
    await runtime.submit(task, 1)
    await runtime.submit(task, -1)
    await elapse(pass)
    endAll()
    await elapse(50_000)
    expect(runtime.pool.stats()).toMatchObject({
      totalWorkers: 2,
      idleWorkers: 2,
      totalCompleted: 1,
      totalFailed: 1,
    })
    await elapse(30_000)
    expect(runtime.pool.stats().totalWorkers).toBe(1)
    expect((await runtime.workers()).length).toBe(1)
    expect(changes.map(({ type, size }) => [type, size])).toEqual([
      ['worker.started', 2],
      ['worker.draining', 1],
      ['worker.stopped', 1],
    ])
    await elapse(200_000)
    expect(runtime.pool.stats().totalWorkers).toBe(1)
  })

  test('8.10 a worker drained by id keeps its place, and takes tasks again once that is taken back', async () => {
    const { task, endAll } = held()
    const { runtime, elapse } = await virtualRuntime({ tasks: [task], workers: 1 })
    const changes: PoolChange[] = []
    runtime.pool.on((change) => changes.push(change))
    const [workerId = ''] = Object.keys(runtime.pool.stats().workers)
    const first = await runtime.submit(task, 1)
    await elapse(1)
    expect(await runtime.drainWorker(workerId)).toBe(1)
    const second = await runtime.submit(task, 2)
    endAll()
    expect(await runtime.result(first)).toBe(1)
    await elapse(pass)
    expect((await runtime.status(second))?.state).toBe('queued')
    expect(await runtime.explain(second)).toMatchObject({
      waitsFor: 'worker',
      summary: `no worker takes tasks of type held: ${workerId} is drained; undrain it, or start another`,
    })
    expect(runtime.pool.stats()).toMatchObject({
      totalWorkers: 1,
      workers: { [workerId]: { status: 'draining', inFlight: 0 } },
    })
    expect(await runtime.undrainWorker(workerId)).toBe(1)
    await elapse(1)
    endAll()
    expect(await runtime.result(second)).toBe(2)
    expect(await runtime.drainWorker('nobody')).toBe(0)
    expect(changes).toEqual([
      { type: 'worker.draining', workerId, size: 1, why: 'asked from outside' },
      { type: 'worker.undrained', workerId, size: 1 },
    ])
  })

  test('8.1 tasks that wait for their time, and types that the pool does not run, are no reason to grow', async () => {
    const { task } = held()
    const other = defineTask({ type: 'other', input: z.number() }, () => 0)
    const { runtime, elapse } = await virtualRuntime({
      tasks: [task, other],
      workers: { min: 1, max: 4, growAt: 1, capacity: 1, types: ['held'] },
    })
    for (let n = 0; n < 6; n++) await runtime.submit(task, n, { delayMs: 3_600_000 })
    for (let n = 0; n < 6; n++) await runtime.submit(other, n)
    await elapse(5 * pass)
    expect(runtime.pool.stats().totalWorkers).toBe(1)
  })

  test('8.2 a drained worker ends its task, takes no other, leaves, and is replaced up to min', async () => {
    const { task, endAll } = held()
    const { runtime, elapse } = await virtualRuntime({
      tasks: [task],
      workers: { min: 1, max: 2, capacity: 1 },
    })
    const first = await runtime.submit(task, 1)
    await runtime.submit(task, 2)
    await elapse(1)
    const [workerId = ''] = Object.keys(runtime.pool.stats().workers)
    const drained = runtime.pool.drain(workerId)
    await elapse(1)
    expect(runtime.pool.stats().workers[workerId]?.status).toBe('draining')
    endAll()
    await elapse(1)
    expect(await drained).toBe(true)
    expect((await runtime.status(first))?.state).toBe('completed')
    await elapse(pass)
    const { workers } = runtime.pool.stats()
    expect(Object.keys(workers)).toHaveLength(1)
    expect(workers[workerId]).toBeUndefined()
    expect(Object.values(workers)[0]?.status).toBe('processing')
    expect(await runtime.pool.drain('nobody')).toBe(false)
    endAll()
  })

  test('8.1 limits can be changed while it runs', async () => {
    const { task } = held()
    const { runtime, elapse } = await virtualRuntime({ tasks: [task], workers: 1 })
    expect(runtime.pool.limits).toMatchObject({ min: 1, max: 1 })
    runtime.pool.resize({ min: 3, max: 3 })
    await elapse(1)
    expect(runtime.pool.stats().totalWorkers).toBe(3)
    runtime.pool.resize({ min: 0, max: 1 })
    await elapse(2 * pass)
    expect(runtime.pool.stats().totalWorkers).toBe(1)
    expect(() => runtime.pool.resize({ min: 3 })).toThrow(
      'pool.resize option min: at most max, which is 1; given 3',
    )
    expect(() => runtime.pool.resize({ maximum: 3 } as object)).toThrow(
      'pool.resize option maximum: no such option',
    )
    expect(runtime.pool.limits).toMatchObject({ min: 0, max: 1 })
  })

  test('8.1 options that contradict each other are refused by name', async () => {
    const { task } = held()
    const open = (workers: object) =>
      createRuntime({ store: 'sqlite::memory:', thread: false, tasks: [task], workers })
    await expect(open({ min: 5, max: 2 })).rejects.toThrow('workers.min: at most max, which is 2; given 5')
    await expect(open({ max: 2, count: 2 })).rejects.toThrow('workers.count: not given: min and max say')
    await expect(open({ max: 0 })).rejects.toThrow('workers.max: a whole number from 1 to')
  })

  test('8.2 nothing grows once the runtime stops', async () => {
    const { task } = held()
    const { runtime, elapse } = await virtualRuntime({
      tasks: [task],
      workers: { max: 4, growAt: 1, capacity: 1 },
    })
    for (let n = 0; n < 9; n++) await runtime.submit(task, n)
    await elapse(1)
    const stopped = runtime.stop({ drain: false })
    await elapse(pass)
    await stopped
    expect(runtime.pool.stats().totalWorkers).toBe(1)
  })
})

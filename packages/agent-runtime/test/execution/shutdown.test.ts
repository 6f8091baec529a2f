import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineTask, type RuntimeOptions } from '../../src/index.ts'
import { all, gate, turns, until, virtualRuntime } from '../virtual-runtime.ts'

/** A task that runs until its gate opens, and says what its hooks and signal heard. */
function held() {
  const door = gate()
  const heard: string[] = []
  let calls = 0
  const task = defineTask({ type: 'held', input: z.null() }, async (ctx) => {
    calls += 1
    ctx.onCleanup((reason) => void heard.push(`hook: ${reason}`))
    ctx.signal.addEventListener('abort', () =>
      heard.push(`signal: ${(ctx.signal.reason as { code: string }).code}`),
    )
    await door.promise
    return 'done'
  })
  return { task, door, heard, calls: () => calls }
}

/** A second process on the same store. */
async function another(options: Pick<RuntimeOptions, 'store' | 'environment' | 'tasks'>) {
  return createRuntime({ ...options, telemetry: false, logger: false })
}

describe('execution: stop', () => {
  test('drains: no new task starts, the running one has its grace', async () => {
    const { task, door, heard, calls } = held()
    const { runtime, store, environment } = await virtualRuntime({ tasks: [task], workers: { capacity: 1 } })
    const [first, second] = await runtime.submitMany([
      { task, input: null },
      { task, input: null },
    ])
    await until(() => calls() === 1)
    const stopped = runtime.stop()
    await turns()
    expect(await runtime.workers()).toMatchObject([{ state: 'draining' }])
    door.resolve()
    expect(await stopped).toEqual({ drained: true, released: 0 })
    expect([calls(), heard]).toEqual([1, []])
    await expect(runtime.status(first.taskId)).rejects.toMatchObject({ code: 'store_closed' })
    await expect(runtime.submit(task, null)).rejects.toMatchObject({ code: 'shutdown' })
    const other = await another({ store, environment, tasks: [task] })
    expect(await other.status(first.taskId)).toMatchObject({ state: 'completed' })
    expect(await other.result(second)).toBe('done')
    expect((await other.workers()).map(({ state }) => state)).toEqual(['idle'])
    await other.stop()
  })

  test('a task that still runs when the grace is over goes back with the same attempt, and is never marked as failed', async () => {
    const { task, door, heard } = held()
    const { runtime, elapse, store, environment } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await turns()
    const stopped = runtime.stop({ graceMs: 5_000 })
    await elapse(4_999)
    expect(heard).toEqual([])
    await elapse(1)
    expect(heard).toEqual(['signal: shutdown', 'hook: shutdown'])
    door.resolve()
    expect(await stopped).toEqual({ drained: false, released: 1 })
    const other = await another({ store, environment, tasks: [] })
    expect(await other.status(receipt.taskId)).toMatchObject({ state: 'queued', attempt: 1, crashes: 0 })
    expect(await other.leases(receipt.taskId)).toMatchObject([{ status: 'canceled', endReason: 'drained' }])
    await other.stop()
  })

  test('without drain it aborts at once', async () => {
    const { task, door, heard } = held()
    const { runtime } = await virtualRuntime({ tasks: [task] })
    await runtime.submit(task, null)
    await turns()
    const stopped = runtime.stop({ drain: false })
    await turns()
    expect(heard).toEqual(['signal: shutdown', 'hook: shutdown'])
    door.resolve()
    expect(await stopped).toEqual({ drained: false, released: 1 })
  })

  test('a second call waits no longer, for the grace or for a handler that does not stop', async () => {
    const { task, heard } = held()
    const { runtime } = await virtualRuntime({ tasks: [task] })
    await runtime.submit(task, null)
    await turns()
    const first = runtime.stop()
    await turns()
    expect(heard).toEqual([])
    const second = runtime.stop()
    expect(await first).toEqual({ drained: false, released: 1 })
    expect(await second).toEqual(await first)
    expect(heard).toEqual(['signal: shutdown', 'hook: shutdown'])
  })

  test('a handler that ignores the abort holds the stop up for killGraceMs and cleanupTimeoutMs at most', async () => {
    const { task } = held()
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    await runtime.submit(task, null)
    await turns()
    let ended = false
    void runtime.stop({ drain: false }).then(() => (ended = true))
    await elapse(14_999)
    expect(ended).toBe(false)
    await elapse(1)
    expect(ended).toBe(true)
  })

  test('takes no submission from the call on; one that the store has by then is answered', async () => {
    const { task, door } = held()
    const slow = defineTask(
      { type: 'slow', input: z.null().refine(() => door.promise.then(() => true)) },
      () => 1,
    )
    const { runtime } = await virtualRuntime({ tasks: [task, slow], workers: { types: ['held'] } })
    await runtime.submit(task, null)
    const before = runtime.submit(task, null)
    const undecided = runtime.submit(slow, null)
    const stopped = runtime.stop()
    const refused = {
      code: 'shutdown',
      message: 'the runtime is stopping: it takes no more submissions; submit with another client or runtime',
    }
    await expect(runtime.submit(task, null)).rejects.toMatchObject(refused)
    await expect(runtime.submitMany([{ task, input: null }])).rejects.toMatchObject(refused)
    expect(await before).toMatchObject({ accepted: true })
    door.resolve()
    await expect(undecided).rejects.toMatchObject(refused)
    await stopped
    await expect(runtime.submit(task, null)).rejects.toMatchObject(refused)
  })

  test('a caller that waits for a result gets the reason', async () => {
    const { task } = held()
    const { runtime } = await virtualRuntime({ tasks: [task], workers: 0 })
    const receipt = await runtime.submit(task, null)
    const result = runtime.result(receipt).catch((error: unknown) => error)
    const events = all(runtime.events(receipt.taskId)).catch((error: unknown) => error)
    await turns()
    await runtime.stop()
    expect(await result).toMatchObject({ code: 'store_closed' })
    expect(await events).toMatchObject({ code: 'store_closed' })
  })

  test('disposing stops it, and waits for a stop that is under way without cutting it short', async () => {
    const { task, door, heard } = held()
    const { runtime } = await virtualRuntime({ tasks: [task] })
    await runtime.submit(task, null)
    await turns()
    const stopped = runtime.stop()
    const disposed = runtime[Symbol.asyncDispose]()
    await turns()
    expect(heard).toEqual([])
    door.resolve()
    await disposed
    expect(await stopped).toEqual({ drained: true, released: 0 })
  })

  test('a stopped runtime leaves no timer and no listener behind', async () => {
    const { task, door } = held()
    const { runtime, environment, store } = await virtualRuntime({ tasks: [task] })
    await runtime.submit(task, null, { timeoutMs: 60_000 })
    await turns()
    door.resolve()
    await runtime.stop()
    expect(environment.clock.pending).toBe(1)
    await store.close()
    expect(environment.clock.pending).toBe(0)
  })
})

describe('execution: a store that fails', () => {
  test('aborts every handler, rejects every call, and says so once', async () => {
    const { task, heard } = held()
    const failures: unknown[] = []
    const { runtime, store, log } = await virtualRuntime({
      tasks: [task],
      onFailure: (error) => failures.push(error),
    })
    const receipt = await runtime.submit(task, null)
    await turns()
    const result = runtime.result(receipt).catch((error: unknown) => error)
    await turns()
    const error = new Error('the disk is gone')
    // Only a broken disk makes a store say this by itself.
    ;(store as unknown as { fail(cause: Error): void }).fail(error)
    await turns()
    expect(heard).toEqual(['signal: lease_lost', 'hook: lost'])
    expect(await result).toBe(error)
    await expect(runtime.submit(task, null)).rejects.toBe(error)
    expect(() => runtime.on('*', () => {})).toThrow(error)
    expect(failures).toEqual([error])
    expect(log).toMatchObject([{ level: 'error', message: 'the store has failed, the runtime stops' }])
    void runtime.stop({ drain: false })
    expect(await runtime.stop()).toEqual({ drained: false, released: 0 })
  })

  test('one that is closed under its runtime: what a handler waits for fails, and the runtime stops', async () => {
    const door = gate()
    const heard: unknown[] = []
    const task = defineTask({ type: 'busy', input: z.null() }, (ctx) =>
      ctx.step('slow', () => door.promise).catch(({ code }: { code: string }) => heard.push(code)),
    )
    const { runtime, store } = await virtualRuntime({ tasks: [task] })
    await runtime.submit(task, null)
    await turns()
    await store.close()
    door.resolve()
    await turns()
    expect(heard).toEqual(['store_closed'])
    expect(await runtime.stop()).toMatchObject({ released: 0 })
  })
})

import { describe, expect, test } from 'vitest'
import { join } from 'node:path'
import { z } from 'zod'
import { createRuntime, defineTask } from '../../src/index.ts'
import { folder } from '../real-processes.ts'
import { virtualRuntime } from '../virtual-runtime.ts'

const mail = defineTask({ type: 'mail', input: z.string() }, (_, to) => `sent to ${to}`)
const submitter = { tasks: [mail], workers: 0 }

describe('a task that a program works on by hand (docs/semantics.md 4.12)', () => {
  test('4.12 one of two processes that want the lease of a task has it, until it releases it with a result', async () => {
    const options = {
      ...submitter,
      store: `sqlite:${join(folder(), 'store.db')}`,
      thread: false,
      logger: false,
    } as const
    await using one = await createRuntime(options)
    await using two = await createRuntime(options)
    const { taskId } = await one.submit(mail, 'ada')
    const both = await Promise.all([one.acquireLease(taskId), two.acquireLease(taskId)])
    expect(both.filter((isHeld) => isHeld)).toEqual([true])
    const [winner, loser] = both[0] ? [one, two] : [two, one]
    expect(await loser.heartbeatLease(taskId)).toBe(false)
    expect(await loser.releaseLease(taskId, { output: 'mine' })).toBe(false)
    expect(await winner.heartbeatLease(taskId, 0.5)).toBe(true)
    expect(await loser.status(taskId)).toMatchObject({
      state: 'running',
      attempt: 1,
      lease: { progress: 0.5 },
    })
    expect(await winner.releaseLease(taskId, { output: 'sent by hand' })).toBe(true)
    expect(await winner.releaseLease(taskId)).toBe(false)
    expect(await loser.result(taskId)).toBe('sent by hand')
  })

  test('4.12 an error fails the task, and without an outcome it goes back to the queue with the same attempt', async () => {
    const { runtime } = await virtualRuntime(submitter)
    const { taskId } = await runtime.submit(mail, 'ada')
    expect(await runtime.acquireLease(taskId)).toBe(true)
    expect(await runtime.acquireLease(taskId)).toBe(false)
    expect(await runtime.releaseLease(taskId)).toBe(true)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'queued', attempt: 1 })
    expect(await runtime.acquireLease(taskId)).toBe(true)
    await expect(runtime.releaseLease(taskId, {} as never)).rejects.toThrow('either { output } or { error }')
    expect(await runtime.heartbeatLease(taskId)).toBe(true)
    expect(await runtime.releaseLease(taskId, { error: new Error('no such box') })).toBe(true)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'failed', kind: 'error' })
    expect(await runtime.acquireLease('nobody')).toBe(false)
    await expect(runtime.acquireLease('')).rejects.toThrow('acquireLease: a receipt, or a task id')
  })

  test('4.12 a task that is paused, not due or over is not given, and a canceled one is lost', async () => {
    const { runtime, elapse } = await virtualRuntime(submitter)
    const later = await runtime.submit(mail, 'ada', { delayMs: 1_000 })
    expect(await runtime.acquireLease(later)).toBe(false)
    await elapse(1_000)
    await runtime.pauseQueue({ types: ['mail'] })
    expect(await runtime.acquireLease(later)).toBe(false)
    await runtime.resumeQueue({ types: ['mail'] })
    expect(await runtime.acquireLease(later)).toBe(true)
    await runtime.cancel(later)
    expect(await runtime.heartbeatLease(later)).toBe(false)
    expect(await runtime.releaseLease(later, { output: 1 })).toBe(false)
    expect(await runtime.acquireLease(later)).toBe(false)
  })

  test('4.12 a process that stops waits for what is held, and gives the rest back', async () => {
    const { runtime, store, elapse } = await virtualRuntime(submitter)
    const [first, second] = [await runtime.submit(mail, 'ada'), await runtime.submit(mail, 'bob')]
    await runtime.acquireLease(first)
    await runtime.acquireLease(second)
    // The process renews its leases as those of its handlers.
    await elapse(120_000)
    expect(await runtime.workers()).toMatchObject([{ inFlight: 2, types: [] }])
    const stopping = runtime.stop({ graceMs: 5_000 })
    expect(await runtime.releaseLease(first, { output: 'done' })).toBe(true)
    await elapse(5_000)
    expect(await stopping).toEqual({ drained: false, released: 1 })
    const read = ({ taskId }: { readonly taskId: string }) => store.read({ kind: 'task', taskId })
    expect(await read(first)).toMatchObject({ state: 'completed' })
    expect(await read(second)).toMatchObject({ state: 'queued', attempt: 1 })
    expect(await store.read({ kind: 'workers' })).toEqual([])
  })
})

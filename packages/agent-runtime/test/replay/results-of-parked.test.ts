import { openStore } from '@ku0/agent-runtime-persistence'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineTask, TaskDiverged } from '../../src/index.ts'
import { turns, virtualEnvironment } from '../virtual-runtime.ts'
import { begun, crash, type Version } from './versions.ts'

const before: Version = async (ctx) => {
  await ctx.step('search', () => 'facts')
  await crash()
}
const renamed: Version = async (ctx) => ctx.step('look up', () => 'facts')
const corrected: Version = async (ctx) => ctx.step('search', () => 'facts')

/** How a promise ended, without waiting for one that has not. */
async function endOf(promise: Promise<unknown>): Promise<unknown> {
  let end: unknown = 'still waits'
  promise.then(
    (value) => (end = value),
    (error: unknown) => (end = error),
  )
  await turns()
  return end
}

describe('the result of a task that is parked as diverged (docs/semantics.md 6.4)', () => {
  test('is an error at once that says which task, where it diverged and what to do', async () => {
    const task = await begun(before)
    await task.deploy(renamed)
    const error = await endOf(task.runtime.result(task.taskId))
    expect(error).toBeInstanceOf(TaskDiverged)
    expect(error).toMatchObject({
      name: 'TaskDiverged',
      code: 'task_diverged',
      taskId: task.taskId,
      divergence: { kind: 'unexpected_step', key: 'look up', position: 0, expected: 'search' },
      message:
        `task ${task.taskId} is parked, because its handler took a different path than its recorded history: call 0 is 'look up' where the history has 'search'. ` +
        'Deploy code that makes the recorded calls and call runtime.resume, or go on as a new task with runtime.retry or runtime.fork, ' +
        'or cancel it; then ask for its result again',
    })
  })

  test.each([0, 40])(
    'ends for who waits already when it is parked, beside %i other results',
    async (count) => {
      const task = await begun(before)
      await task.deploy(renamed)
      const delayed = { task: 'changing', input: null, options: { delayMs: 1_000_000 } }
      const others = await task.runtime.submitMany(Array.from({ length: count }, () => delayed))
      for (const other of others) task.runtime.result(other).catch(() => {})
      await task.runtime.resume(task.taskId)
      const result = task.runtime.result(task.taskId)
      expect(await endOf(result)).toBe('still waits')
      await task.elapse(0)
      expect(await endOf(result)).toMatchObject({ code: 'task_diverged', taskId: task.taskId })
    },
  )

  test('a call of a parent waits on for a child that is parked, and has its output when that was resumed', async () => {
    const input = z.null()
    const parent = defineTask({ type: 'parent', input }, (ctx) => ctx.call('child', 'child', null))
    const child = (version: Version) => defineTask({ type: 'child', input }, version)
    const environment = virtualEnvironment()
    const store = await openStore('sqlite::memory:', { environment, checked: false })
    onTestFinished(() => store.close())
    const base = { store, environment, telemetry: false, logger: false } as const
    const deploy = (version: Version) => createRuntime({ ...base, tasks: [parent, child(version)] })
    const elapse = async () => {
      for (let tick = 0; tick < 5; tick += 1) {
        environment.clock.advanceBy(100)
        await turns()
      }
    }
    const first = await deploy(before)
    const receipt = await first.submit(parent, null)
    await elapse()
    void first.stop({ drain: false })
    await first.stop()

    const second = await deploy(renamed)
    const result = second.result(receipt)
    await elapse()
    const childId = (await second.list({ parent: receipt.taskId })).tasks[0]?.taskId ?? ''
    expect(await endOf(second.result(childId))).toMatchObject({ code: 'task_diverged', taskId: childId })
    expect(await endOf(result)).toBe('still waits')
    void result.catch(() => {})
    await second.stop()

    await using third = await deploy(corrected)
    await third.resume(childId)
    await elapse()
    expect(await endOf(third.result(receipt))).toBe('facts')
  })

  test('waits on while a task waits for anything else, and keeps the caller’s limit of time', async () => {
    const task = await begun(async (ctx) => {
      await ctx.sleep('nap', 1_000)
      await ctx.step('search', () => 'facts')
      return ctx.waitForSignal('go')
    })
    const result = task.runtime.result(task.taskId)
    const limited = task.runtime.result(task.taskId, { timeoutMs: 5_000 })
    await task.elapse(4_000)
    expect(await Promise.all([endOf(result), endOf(limited)])).toEqual(['still waits', 'still waits'])
    await task.elapse(1_000)
    expect(await endOf(limited)).toMatchObject({ code: 'timeout' })
    await task.runtime.signal(task.taskId, 'go', 'gone')
    await task.elapse(0)
    expect(await endOf(result)).toBe('gone')
  })

  test('is the output once the code fits and the task was resumed', async () => {
    const task = await begun(before)
    await task.deploy(renamed)
    expect(await endOf(task.runtime.result(task.taskId))).toMatchObject({ code: 'task_diverged' })
    await task.deploy(corrected)
    await task.runtime.resume(task.taskId)
    const result = task.runtime.result(task.taskId)
    await task.elapse(0)
    expect(await endOf(result)).toBe('facts')
  })
})

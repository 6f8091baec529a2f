import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { all, gate, turns, virtualRuntime } from '../virtual-runtime.ts'

describe('execution: cancellation', () => {
  test('E01 a cancel that races the claim: no handler starts after it was answered', async () => {
    const answered = new Set<string>()
    const started = new Set<string>()
    const late: string[] = []
    let door = gate()
    const holder = defineTask({ type: 'holder', input: z.null() }, () => door.promise)
    // A schema that answers later: there is a moment between the claim and the handler, too.
    const input = z.null().refine(() => Promise.resolve(true))
    const task = defineTask({ type: 'racing', input }, (ctx) => {
      started.add(ctx.taskId)
      if (answered.has(ctx.taskId)) late.push(ctx.taskId)
    })
    const { runtime } = await virtualRuntime({ tasks: [holder, task], workers: { capacity: 1 } })
    for (let round = 0; round < 1_000; round += 1) {
      door = gate()
      await runtime.submit(holder, null)
      const { taskId } = await runtime.submit(task, null)
      // The slot is freed, and somewhere on the way of the task into it comes the cancel.
      door.resolve()
      for (let hop = 0; hop < round % 20; hop += 1) await Promise.resolve()
      if (await runtime.cancel(taskId)) answered.add(taskId)
      await turns()
    }
    expect(late).toEqual([])
    const never = [...answered].filter((taskId) => !started.has(taskId))
    expect(Math.min(never.length, started.size)).toBeGreaterThan(50)
    expect((await runtime.stats()).totals).toMatchObject({ submitted: 2_000, canceled: answered.size })
  })

  test('E03 cancel against complete: the first commit wins, the other is a no-op', async () => {
    const states = new Set<string>()
    for (let round = 0; round < 50; round += 1) {
      const door = gate()
      const task = defineTask({ type: 'racing', input: z.null() }, async () => {
        await door.promise
        return 'value'
      })
      const { runtime } = await virtualRuntime({ tasks: [task] })
      const { taskId } = await runtime.submit(task, null)
      await turns()
      if (round % 2 === 0) door.resolve()
      for (let hop = 0; hop < round % 7; hop += 1) await Promise.resolve()
      const canceled = runtime.cancel(taskId)
      door.resolve()
      const won = await canceled
      await turns()
      const status = await runtime.status(taskId)
      expect(status?.state).toBe(won ? 'canceled' : 'completed')
      states.add(status?.state ?? '')
      expect((await all(runtime.events(taskId))).map(({ type }) => type)).toEqual([
        'task.queued',
        'task.started',
        won ? 'task.canceled' : 'task.completed',
      ])
      const acknowledged = status?.state === 'canceled' ? status.abort?.acknowledgedAt : 'no need'
      expect(acknowledged).toBeDefined()
    }
    expect([...states].toSorted()).toEqual(['canceled', 'completed'])
  })
})

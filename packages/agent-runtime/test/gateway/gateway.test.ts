import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  gateway,
  type GatewayEvent,
  gatewayTask,
  GatewayUnreachable,
  inProcessGateway,
  runAgent,
} from '../../src/gateway/index.ts'
import { defineTask } from '../../src/index.ts'
import { virtualRuntime } from '../virtual-runtime.ts'

const run = { prompt: 'count', workspaceDir: '/agents/a' }

describe('a run that is handed to an agent in this process (docs/gateway.md)', () => {
  test('gets the prompt, reports events as output, and its output is the result', async () => {
    const asked: unknown[] = []
    const task = gatewayTask({
      type: 'agent',
      lane: 'batch',
      gateway: inProcessGateway(async ({ session, userInput, maxIterations, emit }) => {
        asked.push([session.userId, session.workspaceDir, userInput, maxIterations])
        await emit('text', 'one')
        await emit('text', 'two')
        return { success: true, output: { words: 2 }, usage: { tokens: 7 } }
      }),
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, run)
    expect(await runtime.result(receipt)).toEqual({ words: 2 })
    expect(asked).toEqual([[`worker_${receipt.taskId}`, '/agents/a', 'count', 50]])
    const { items } = await runtime.emitted(receipt)
    expect(items).toMatchObject([
      { data: { id: 1, type: 'text', data: 'one' } },
      { data: { id: 2, type: 'text', data: 'two' } },
    ])
    expect((await runtime.steps(receipt)).steps.map(({ key }) => key)).toEqual(['agent session', 'agent run'])
    expect((await runtime.submit(task, { ...run, maxIterations: 0 })).accepted).toBe(false)
  })

  test('that does not succeed fails its task with the reason, and the retry policy runs the agent again', async () => {
    let times = 0
    const task = gatewayTask({
      type: 'agent',
      retry: { attempts: 2 },
      gateway: inProcessGateway(() => {
        times += 1
        return { success: false, error: 'no idea' }
      }),
    })
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, run)
    await elapse(5_000)
    await expect(runtime.result(receipt)).rejects.toMatchObject({
      kind: 'error',
      code: 'agent_run_failed',
      message: expect.stringContaining('the agent did not succeed: no idea'),
    })
    expect(times).toBe(2)
  })

  test('is canceled with its task', async () => {
    const reasons: unknown[] = []
    const task = gatewayTask({
      type: 'agent',
      gateway: inProcessGateway(
        ({ signal }) =>
          new Promise((_, fail) => {
            signal.addEventListener('abort', () => {
              reasons.push((signal.reason as Error).name)
              fail(signal.reason as Error)
            })
          }),
      ),
    })
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, run)
    await elapse(10)
    await runtime.cancel(receipt)
    await elapse(10)
    expect(reasons).toHaveLength(1)
    expect((await runtime.status(receipt))?.state).toBe('canceled')
  })

  test('a handler works before and after it, with its own key, user and listener', async () => {
    const heard: GatewayEvent[] = []
    const agent = inProcessGateway(async ({ userInput, session, emit }) => {
      await emit('text', userInput)
      return { success: true, output: `${userInput} by ${session.userId}` }
    })
    const report = defineTask({ type: 'report', input: z.string() }, async (ctx, topic) => {
      const prompt = await ctx.step('prepare', () => topic.trim())
      const { output } = await runAgent(ctx, agent, {
        prompt,
        workspaceDir: '/w',
        key: 'write',
        userId: 'ada',
        onEvent: (event) => void heard.push(event),
      })
      return ctx.step('save', () => `saved: ${String(output)}`)
    })
    const { runtime } = await virtualRuntime({ tasks: [report] })
    const receipt = await runtime.submit(report, ' lamps ')
    expect(await runtime.result(receipt)).toBe('saved: lamps by ada')
    expect(heard).toEqual([{ id: 1, type: 'text', data: 'lamps' }])
  })

  test('a gateway that cannot be reached is tried three times; then the task fails with its own kind, and the worker goes on', async () => {
    let tries = 0
    const down = inProcessGateway(() => {
      tries += 1
      throw new GatewayUnreachable('in the cellar', 'the light is off')
    })
    const task = gatewayTask({ type: 'agent', gateway: down })
    const fine = defineTask({ type: 'fine', input: z.null() }, () => 'fine')
    const { runtime, elapse } = await virtualRuntime({ tasks: [task, fine] })
    const receipt = await runtime.submit(task, run)
    await elapse(10_000)
    await expect(runtime.result(receipt)).rejects.toMatchObject({
      kind: 'gateway_unreachable',
      code: 'gateway_unreachable',
    })
    expect(tries).toBe(3)
    expect(await runtime.result(await runtime.submit(fine, null))).toBe('fine')
    // By hand it is tried again, from the session on that is recorded.
    const again = await runtime.retry(receipt)
    await elapse(10_000)
    await expect(runtime.result(again)).rejects.toMatchObject({ kind: 'gateway_unreachable' })
  })
})

describe('the options of a gateway', () => {
  test('are refused by name, and a secret in the URL is not repeated', () => {
    for (const url of ['nowhere', 'ftp://a.example', 'http://ada:lovelace@a.example'])
      expect(() => gateway({ url })).toThrow(/gateway option url: an http: or https: URL(?![^]*lovelace)/)
    expect(() => gateway({ url: 'http://a.example', silentMs: 0, toke: 'x' } as never)).toThrow(
      /gateway option toke.*\n?.*silentMs/s,
    )
    expect(() => gateway(undefined as never)).toThrow(/url: 'https:/)
  })
})

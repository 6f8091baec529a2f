import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type TaskContext } from '../../src/index.ts'
import { all, turns, virtualRuntime } from '../virtual-runtime.ts'

/** How often each function ran. */
type Runs = Map<string, number>

/** A bit of everything that waits. */
async function example(ctx: TaskContext, runs: Runs): Promise<unknown> {
  const count = (name: string) => runs.set(name, (runs.get(name) ?? 0) + 1).get(name) ?? 0
  const first = await ctx.step('first', () => count('first') > 0)
  const decision = await ctx.race('decision', {
    approved: (c) => c.waitForSignal<string>('approve'),
    late: (c) => c.sleep('patience', 60_000),
  })
  const both = await ctx.all('both', {
    slept: async (c) => {
      await c.sleep('nap', 5_000)
      return c.step('awake', () => count('awake') > 0)
    },
    tried: (c) =>
      c.step(
        'flaky',
        { retry: { attempts: 20, backoff: { initialMs: 2_000, factor: 1, jitter: 0 } } },
        () => {
          if (count('flaky') < 3) throw new Error('not yet')
          return 'at last'
        },
      ),
  })
  const second = await ctx.waitForSignal('approve again', { signal: 'approve' })
  const last = await ctx.step('last', () => count('last') > 0)
  return { first, decision, both, second, last }
}

/**
 * Runs the example. At the commit that brings the given event the process falls silent for longer than its leases last: what
 * runs then is lost, and goes through the handler again.
 */
async function runSilentAt(event: number) {
  const runs: Runs = new Map()
  const task = defineTask({ type: 'example', input: z.null() }, (ctx) => example(ctx, runs))
  const { runtime, environment } = await virtualRuntime({ tasks: [task], workers: { capacity: 4 } })
  const { clock } = environment
  let seen = 0
  const completed: unknown[] = []
  runtime.on('task.completed', (fact) => completed.push(fact))
  runtime.on('*', ({ type }) => {
    if (type.startsWith('lease.') || type === 'step.replayed') return
    seen += 1
    if (seen === event) clock.advanceBy(31_000)
  })
  const receipt = await runtime.submit(task, null)
  await runtime.signal(receipt.taskId, 'approve', 'yes')
  await runtime.signal(receipt.taskId, 'approve', 'again')
  for (let turn = 0; completed.length === 0 && turn < 10_000; turn += 1) {
    clock.advanceBy(Math.max(0.001, (clock.nextAt ?? 0) - clock.now()))
    await turns()
  }
  const history = await all(runtime.events(receipt.taskId))
  return { result: await runtime.result(receipt), runs, history }
}

describe('execution: waits and crashes', () => {
  const expected = {
    first: true,
    decision: { winner: 'approved', value: 'yes' },
    both: { slept: true, tried: 'at last' },
    second: 'again',
    last: true,
  }

  test.each(Array.from({ length: 25 }, (_, index) => index + 1))(
    'silence from event %i on changes no result, and no recorded step runs twice',
    async (event) => {
      const { result, runs, history } = await runSilentAt(event)
      expect(result).toEqual(expected)
      expect(runs.get('flaky')).toBeLessThanOrEqual(4)
      const recorded = history.flatMap(({ type, data }) =>
        type === 'step.completed' ? [(data as { key: string }).key] : [],
      )
      expect(recorded.toSorted()).toEqual(['awake', 'both', 'decision', 'first', 'flaky', 'last'])
      const resolved = history.flatMap((fact) =>
        fact.type === 'task.resumed' || fact.type === 'wait.resolved' ? [fact.data.key] : [],
      )
      expect(resolved).toHaveLength(new Set(resolved).size)
    },
  )
})

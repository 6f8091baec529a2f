import { z } from 'zod'
import { defineGraph, defineTask, type TaskContext, type TaskDefinition } from '../../src/index.ts'
import { createTestRuntime, type RecordedHistory, type TestRuntime } from '../../src/testing/index.ts'

/** A small program, and what happens to it until its history is written down. */
export interface Program {
  readonly task: TaskDefinition
  readonly play: (test: TestRuntime, taskId: string) => Promise<string | void>
}

const programOf = (
  type: string,
  handler: (ctx: TaskContext) => unknown,
  play: Program['play'] = async (test, taskId) => void (await test.result(taskId).catch(() => undefined)),
): [string, Program] => [type, { task: defineTask({ type, input: z.null() }, handler), play }]

/** A pass that comes first, not the ones that follow and not a replay. */
const isFirst = (ctx: TaskContext) => ctx.fencingToken === 1
const retry = { attempts: 3, backoff: { initialMs: 1_000, jitter: 0 } }
const fail = (message: string) => {
  throw new Error(message)
}

const hang = () => new Promise<never>(() => {})
const half = defineTask({ type: 'half', input: z.number() }, (_, n) =>
  n < 0 ? fail('less than nothing') : n / 2,
)
const approve = async (test: TestRuntime, taskId: string) => {
  const { approvals } = await test.runtime.approvals.list({ task: taskId })
  await test.runtime.approvals.approve(approvals[0]?.approvalId ?? '', { by: 'Ada', value: 'yes' })
}

/**
 * The programs whose histories are kept. They never change: what a history was recorded from is what has to agree with it. A new
 * feature is a new program.
 */
export const programs: Readonly<Record<string, Program>> = Object.fromEntries([
  programOf('steps', async (ctx) => {
    const kinds = [null, undefined, false, 0, '', new Date(0), new Map([['k', 1n]])]
    for (const [n, value] of kinds.entries()) await ctx.step(`step ${n}`, () => value)
    return ctx.step('with input', { input: { n: 1 } }, () => 'done')
  }),
  programOf('parallel', async (ctx) => {
    const found = await Promise.all([3, 1, 2].map((n) => ctx.step(`part ${n}`, () => n)))
    return ctx.step('sum', () => found.reduce((sum, n) => sum + n, 0))
  }),
  programOf('chains', async (ctx) => {
    const chain = async (n: number) => {
      const read = await ctx.step(`read ${n}`, () => n)
      await ctx.sleep(`rest ${n}`, (4 - n) * 1_000)
      return ctx.step(`write ${n}`, () => read * 2)
    }
    return Promise.all([1, 2, 3].map(chain))
  }),
  programOf('race', async (ctx) => {
    const { winner } = await ctx.race('first', {
      slow: async (branch) => {
        await branch.step('begin', () => 1)
        await branch.sleep('long', 60_000)
      },
      fast: (branch) => branch.sleep('short', 1_000),
    })
    return ctx.step('after', () => winner)
  }),
  programOf('all', (ctx) =>
    ctx.all('both', {
      a: (branch) => branch.step('in a', () => 1),
      b: (branch) =>
        branch.race('inner', { x: (inner) => inner.sleep('x', 500), y: (inner) => inner.sleep('y', 900) }),
    }),
  ),
  programOf('retries', async (ctx) => {
    let tries = isFirst(ctx) ? 0 : 1
    await ctx.step('flaky', { retry }, () => {
      tries += 1
      if (tries < 2) fail('not yet')
    })
    return ctx.step('never', { retry }, () => fail('never')).catch(() => ctx.step('instead', () => 'made up'))
  }),
  programOf('sleeps', async (ctx) => {
    await ctx.sleep('a moment', 100)
    await ctx.sleepUntil('spring', new Date('2026-03-20'))
    await ctx.sleepUntil('past', new Date('2020-01-01'))
    return ctx.step('awake', () => 'spring')
  }),
  programOf(
    'signals',
    async (ctx) => {
      const name = await ctx.waitForSignal('name')
      const late = await ctx.waitForSignal('late', { timeoutMs: 1_000 }).catch((error: Error) => error.name)
      return [name, late, await ctx.waitForSignal('own key', { signal: 'name' })]
    },
    async (test, taskId) => {
      await test.until(taskId, 'waiting')
      for (const value of ['Ada', 'Grace']) await test.runtime.signal(taskId, 'name', value)
      await test.result(taskId)
    },
  ),
  programOf('checkpoint', async (ctx) => {
    for (let n = 0; n < 3; n += 1) {
      await ctx.step(`item ${n}`, () => n)
      await ctx.emit({ n })
      await ctx.checkpoint({ n })
    }
  }),
  programOf('caught', async (ctx) => {
    const found = await ctx.step('try', () => fail('no')).catch(({ message }: Error) => message)
    return ctx.step('on', () => found)
  }),
  programOf('failed', async (ctx) => {
    await ctx.step('a', () => 1)
    await ctx.step('b', () => fail('for good'))
  }),
  programOf(
    'crashed',
    async (ctx) => {
      await ctx.step('a', () => 1)
      if (isFirst(ctx)) await new Promise(() => {})
      return ctx.step('b', () => 2)
    },
    async (test, taskId) => {
      await test.settle()
      test.crash()
      await test.restart()
      await test.result(taskId)
    },
  ),
  programOf(
    'forked',
    async (ctx) => {
      const a = await ctx.step('a', () => 'a')
      await ctx.sleep('nap', 1_000)
      const b = await ctx.step('b', () => 'b')
      return ctx.step('c', () => a + b)
    },
    async (test, taskId) => {
      await test.result(taskId)
      const fork = await test.runtime.fork(taskId, { fromStep: 'c', edits: { b: 'other' } })
      await test.result(fork)
      return fork.taskId
    },
  ),
  programOf('patched', async (ctx) => {
    await ctx.step('a', () => 1)
    if (await ctx.patched('check')) await ctx.step('check', () => true)
    return ctx.step('b', () => 2)
  }),
  programOf(
    'waiting',
    async (ctx) => {
      await ctx.step('ask', () => 1)
      await ctx.race('answer', {
        reply: (branch) => branch.waitForSignal('reply'),
        late: (branch) => branch.sleep('a month', 30 * 86_400_000),
      })
    },
    async (test, taskId) => void (await test.until(taskId, 'waiting')),
  ),
  programOf(
    'approved',
    async (ctx) => {
      const draft = await ctx.step('write', () => 'a draft')
      const { value } = await ctx.requestApproval('publish', { draft })
      return ctx.step('publish it', () => value)
    },
    async (test, taskId) => {
      await test.until(taskId, 'waiting')
      await approve(test, taskId)
      await test.result(taskId)
    },
  ),
  programOf(
    'rejected',
    async (ctx) => {
      await ctx.step('write', () => ctx.feedback.length)
      await ctx.requestApproval('publish', 'it')
      return ctx.step('publish it', () => 'done')
    },
    async (test, taskId) => {
      await test.until(taskId, 'waiting')
      const { approvals } = await test.runtime.approvals.list({ task: taskId })
      await test.runtime.approvals.reject(approvals[0]?.approvalId ?? '', { by: 'Ada', feedback: 'longer' })
      await test.settle()
      await approve(test, taskId)
      await test.result(taskId)
    },
  ),
  programOf('children', async (ctx) => {
    const child = await ctx.spawn('spawned', half, 8)
    const called = await ctx.call('called', half, 4)
    const late = await ctx.call('broken', half, -1).catch((error: Error) => error.name)
    return ctx.step('sum', () => [called, late, child.taskId.length > 0])
  }),
  programOf('limited', async (ctx) => {
    const late = await ctx
      .race('in time', { ever: (branch) => branch.waitForSignal('ever') }, { timeoutMs: 1_000 })
      .catch((error: Error) => error.name)
    return ctx.step('instead', () => late)
  }),
  programOf(
    'doubt',
    async (ctx) => {
      const paid = await ctx.step('pay', { inDoubt: 'ask' }, () => (isFirst(ctx) ? hang() : 'paid'))
      return ctx.step('thank', () => paid)
    },
    async (test, taskId) => {
      await test.settle()
      test.crash()
      await test.restart()
      await test.until(taskId, 'waiting')
      await approve(test, taskId)
      await test.result(taskId)
    },
  ),
  [
    'graph',
    {
      task: defineGraph({
        type: 'graph',
        input: z.null(),
        nodes: {
          a: { task: half, input: () => 8 },
          b: { task: half, after: ['a'], input: ({ results }) => results.a },
          c: { task: half, input: () => 2 },
        },
      }) as TaskDefinition,
      play: async (test, taskId) => void (await test.result(taskId)),
    },
  ] satisfies [string, Program],
])

/** Plays a program and writes down what happened to it. */
export async function historyOf({ task, play }: Program): Promise<RecordedHistory> {
  await using test = await createTestRuntime({ tasks: [task, half], crashes: true, seed: task.type })
  const { taskId } = await test.runtime.submit(task, null)
  return test.record((await play(test, taskId)) ?? taskId)
}

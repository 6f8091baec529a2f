import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type RetryOptions, TaskFailed, type TaskContext, TimeoutError } from '../../src/index.ts'
import { createTestRuntime, type TestRuntime } from '../../src/testing/index.ts'

const child = defineTask({ type: 'child', input: z.number() }, async (ctx, ms) => {
  await ctx.sleep('nap', ms)
  return ms
})

/** A test runtime with a task of this body, submitted, whose step `publish` fails until the net is there. */
async function unlucky(
  body: (ctx: TaskContext, publish: () => Promise<number>) => unknown,
  options: { readonly retry?: { attempts: number } } = {},
) {
  const net = { works: false }
  const task = defineTask({ type: 'unlucky', input: z.null(), ...options }, (ctx) =>
    body(ctx, () =>
      ctx.step('publish', () => {
        if (!net.works) throw new Error('no network')
        return 1
      }),
    ),
  )
  const it = await createTestRuntime({ tasks: [task, child] })
  return { it, net, receipt: await it.runtime.submit(task, null) }
}

describe('histories of forks (docs/semantics.md 6.3)', () => {
  test('a retry goes the way that a rejection had led to, with the feedback in hand', async () => {
    const { it, net, receipt } = await unlucky(async (ctx, publish) => {
      const text = await ctx.step('write', () => `text of ${ctx.feedback.length}`)
      for (const { feedback } of ctx.feedback) await ctx.step(`heed ${feedback ?? ''}`, () => feedback)
      await ctx.requestApproval('text', text)
      await publish()
      return text
    })
    await using _ = it
    const ask = async () => {
      await it.until(receipt, 'waiting')
      return (await it.runtime.approvals.list()).approvals[0]?.approvalId ?? ''
    }
    await it.runtime.approvals.reject(await ask(), { feedback: 'shorter' })
    await it.runtime.approvals.approve(await ask())
    await expect(it.result(receipt)).rejects.toBeInstanceOf(TaskFailed)
    net.works = true
    const again = await it.runtime.retry(receipt)
    expect(await it.result(again)).toBe('text of 1')
    expect(await it.runtime.replay(again, { mode: 'verify' })).toMatchObject({ verdict: 'agreed', unused: 0 })
    // A fork of it, from the end and from what the feedback led to.
    for (const options of [{}, { fromStep: 'publish' }] satisfies object[])
      expect(await it.result(await it.runtime.fork(again, options))).toBe('text of 1')
  })

  test('a retry takes plan B again where patience with a child had ended', async () => {
    const ran: string[] = []
    const { it, net, receipt } = await unlucky(async (ctx, publish) => {
      const spawned = await ctx.spawn('slow', child, 80)
      const value = await spawned.result({ timeoutMs: 50 }).catch((error: unknown) => {
        if (error instanceof TimeoutError) return 'late'
        throw error
      })
      if (value === 'late') await ctx.step('plan b', () => ran.push('plan b'))
      await ctx.sleep('more', 100)
      await publish()
      return [value, await spawned.result()]
    })
    await using _ = it
    await expect(it.result(receipt)).rejects.toBeInstanceOf(TaskFailed)
    net.works = true
    const again = await it.runtime.retry(receipt)
    expect(await it.result(again)).toEqual(['late', 80])
    expect(ran).toEqual(['plan b'])
    expect(await it.runtime.replay(again, { mode: 'verify' })).toMatchObject({ verdict: 'agreed', unused: 0 })
  })

  const retried = { retry: { attempts: 3, backoff: { initialMs: 10 } } }

  test('a retry gives a step all of its tries', async () => {
    const tries: number[] = []
    const { it, receipt } = await unlucky(async (ctx) => {
      await ctx.step('flaky', retried, () => {
        if (tries.push(tries.length) < 6) throw new Error('no')
      })
      return tries.length
    })
    await using _ = it
    await expect(it.result(receipt)).rejects.toBeInstanceOf(TaskFailed)
    expect(tries).toHaveLength(3)
    expect(await it.result(await it.runtime.retry(receipt))).toBe(6)
  })

  test('every attempt of the task gives a step all of its tries', async () => {
    const tries: number[] = []
    const { it, receipt } = await unlucky(
      async (ctx) => {
        await ctx.step('flaky', retried, () => {
          if (tries.push(ctx.attempt) < 6) throw new Error('no')
        })
        return tries
      },
      { retry: { attempts: 2 } },
    )
    await using _ = it
    expect(await it.result(receipt)).toEqual([1, 1, 1, 2, 2, 2])
    expect(await it.runtime.replay(receipt, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
  })

  const day = 86_400_000
  /** Bodies that fail of how a wait ended, what ends it so, and what then comes of it. */
  type Act = (it: TestRuntime, task: string) => unknown
  const failures: [string, (ctx: TaskContext) => Promise<unknown>, Act | undefined, Act, unknown][] = [
    [
      'a signal that did not come',
      (ctx) => ctx.waitForSignal('go', { timeoutMs: day }),
      undefined,
      (it, task) => it.runtime.signal(task, 'go', 'come'),
      'come',
    ],
    [
      'an approval that nobody gave',
      (ctx) => ctx.requestApproval('go', 1, { timeoutMs: day }).then(({ by }) => by),
      undefined,
      async (it) => it.runtime.approvals.approve(await openApproval(it), { by: 'Ada' }),
      'Ada',
    ],
    [
      'an approval that was rejected',
      (ctx) => ctx.requestApproval('go', 1, { onReject: 'throw' }).then(({ by }) => by),
      async (it) => it.runtime.approvals.reject(await openApproval(it), { by: 'Bob' }),
      async (it) => it.runtime.approvals.approve(await openApproval(it), { by: 'Ada' }),
      'Ada',
    ],
    [
      'a cause of the error, with a step and a wait since',
      async (ctx) => {
        try {
          return await ctx.waitForSignal('go', { timeoutMs: day })
        } catch (cause) {
          await ctx.step('tidy up', () => ran.push('tidy up'))
          await ctx.sleep('breathe', 10)
          throw new Error('nobody cared', { cause })
        }
      },
      undefined,
      (it, task) => it.runtime.signal(task, 'go', 'come'),
      'come',
    ],
    [
      'an error that does not tell of it, right after it',
      (ctx) =>
        ctx.waitForSignal('go', { timeoutMs: day }).catch(() => {
          throw new Error('nobody cared')
        }),
      undefined,
      (it, task) => it.runtime.signal(task, 'go', 'come'),
      'come',
    ],
    [
      'two that ended at once',
      (ctx) =>
        Promise.all(['go', 'too'].map((key) => ctx.waitForSignal(key, { timeoutMs: day }))).then(
          ([go]) => go,
        ),
      undefined,
      async (it, task) => {
        await it.runtime.signal(task, 'go', 'come')
        await it.runtime.signal(task, 'too')
      },
      'come',
    ],
  ]
  const ran: string[] = []

  async function openApproval(it: TestRuntime): Promise<string> {
    return (await it.runtime.approvals.list()).approvals[0]?.approvalId ?? ''
  }

  test.each(failures)(
    'a retry waits again for the wait that failed the task: %s',
    async (_, wait, fail, mend, value) => {
      ran.length = 0
      const task = defineTask({ type: 'waiter', input: z.null() }, async (ctx) => {
        await ctx.step('before', () => ran.push('before'))
        const answer = await wait(ctx)
        await ctx.step('after', () => ran.push('after'))
        return answer
      })
      await using it = await createTestRuntime({ tasks: [task, child] })
      const { taskId } = await it.runtime.submit(task, null)
      await it.until(taskId, 'waiting')
      await fail?.(it, taskId)
      await expect(it.result(taskId)).rejects.toBeInstanceOf(TaskFailed)
      const before = ran.length
      const again = await it.runtime.retry(taskId)
      await it.until(again, 'waiting')
      await mend(it, again.taskId)
      expect(await it.result(again)).toBe(value)
      expect(ran.slice(before)).toEqual(['after'])
      expect(await it.runtime.replay(again, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
      // A fork is the history as it was.
      const fork = await it.runtime.fork(taskId)
      await expect(it.result(fork)).rejects.toBeInstanceOf(TaskFailed)
      expect(await it.result(await it.runtime.fork(again))).toBe(value)
    },
  )

  test.each(failures)(
    '7.7 the task is not tried again of itself where it failed of: %s',
    async (what, wait, fail) => {
      const task = defineTask({ type: 'waiter', input: z.null(), retry: { attempts: 4 } }, (ctx) => wait(ctx))
      await using it = await createTestRuntime({ tasks: [task] })
      const { taskId } = await it.runtime.submit(task, null)
      await it.until(taskId, 'waiting')
      await fail?.(it, taskId)
      await expect(it.result(taskId)).rejects.toBeInstanceOf(TaskFailed)
      // An error that does not tell of the wait is tried again like any other.
      const attempts = what.startsWith('an error that does not tell') ? 4 : 1
      expect(await it.runtime.status(taskId)).toMatchObject({ state: 'failed', attempt: attempts })
    },
  )

  test.each(['race', 'patience'])('7.7 a wait that its own limit ended is final, too: %s', async (how) => {
    const task = defineTask({ type: 'waiter', input: z.null(), retry: { attempts: 4 } }, async (ctx) => {
      if (how === 'race')
        return ctx.race('r', { go: (branch) => branch.waitForSignal('go') }, { timeoutMs: 50 })
      return (await ctx.spawn('slow', child, 80)).result({ timeoutMs: 50 })
    })
    await using it = await createTestRuntime({ tasks: [task, child] })
    const receipt = await it.runtime.submit(task, null)
    await expect(it.result(receipt)).rejects.toBeInstanceOf(TaskFailed)
    expect(await it.runtime.status(receipt)).toMatchObject({ state: 'failed', attempt: 1 })
  })

  test('a retry waits again after a failure of patience with a child', async () => {
    let ms = 80
    const { it, receipt } = await unlucky(async (ctx) => {
      const slow = await ctx.spawn('slow', child, ms)
      return slow.result({ timeoutMs: 50 })
    })
    await using _ = it
    await expect(it.result(receipt)).rejects.toThrow("child 'slow' took longer")
    ms = 10
    expect(await it.result(await it.runtime.retry(receipt))).toBe(10)
  })

  test('a retry waits again after a doubt that a human did not lift', async () => {
    ran.length = 0
    const buy = defineTask({ type: 'buy', input: z.null() }, (ctx) =>
      ctx.step('charge', { inDoubt: 'ask' }, () => {
        if (ran.push('charge') === 1) it.crash()
        return 'charged'
      }),
    )
    await using it = await createTestRuntime({ tasks: [buy], crashes: true })
    const receipt = await it.runtime.submit(buy, null)
    await it.settle().catch(() => {})
    await it.restart()
    await it.until(receipt, 'waiting')
    await it.runtime.approvals.reject(await openApproval(it))
    await expect(it.result(receipt)).rejects.toThrow('in doubt')
    const again = await it.runtime.retry(receipt)
    await it.until(again, 'waiting')
    const [question] = (await it.runtime.approvals.list({ task: again })).approvals
    expect(question?.artifact).toMatchObject({ inDoubt: 'charge', starts: 1 })
    expect(ran).toEqual(['charge'])
    await it.runtime.approvals.approve(question?.approvalId ?? '')
    expect(await it.result(again)).toBe('charged')
    expect(await it.runtime.replay(again, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
  })

  test('7.6 an answer to a doubt about the old task answers none about the new one', async () => {
    const lives = ['crash', 'throw', 'crash', 'return']
    const buy = defineTask({ type: 'buy', input: z.null() }, (ctx) =>
      ctx.step('charge', { inDoubt: 'ask' }, () => {
        const life = lives.shift()
        if (life === 'crash') it.crash()
        if (life === 'throw') throw new Error('no money')
        return 'charged'
      }),
    )
    await using it = await createTestRuntime({ tasks: [buy], crashes: true })
    const doubted = async (task: string) => {
      await it.settle().catch(() => {})
      await it.restart()
      await it.until(task, 'waiting')
      await it.runtime.approvals.approve(await openApproval(it))
    }
    const { taskId } = await it.runtime.submit(buy, null)
    await doubted(taskId)
    await expect(it.result(taskId)).rejects.toThrow('no money')
    const again = await it.runtime.retry(taskId)
    await doubted(again.taskId)
    expect(await it.result(again)).toBe('charged')
    expect(lives).toEqual([])
    expect(await it.runtime.replay(again, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
    const { events } = await it.record(again)
    expect(events.filter(({ type }) => type === 'approval.requested')).toHaveLength(1)
  })

  test('a retry keeps the end of a wait that the handler got over', async () => {
    const { it, net, receipt } = await unlucky(async (ctx, publish) => {
      const answer = await ctx.waitForSignal('go', { timeoutMs: day }).catch(() => 'plan b')
      await publish()
      return answer
    })
    await using _ = it
    await expect(it.result(receipt)).rejects.toBeInstanceOf(TaskFailed)
    net.works = true
    const now = it.now
    expect(await it.result(await it.runtime.retry(receipt))).toBe('plan b')
    expect(it.now).toBe(now)
  })

  test('an edit of what a race or an all was decided with is refused by name', async () => {
    const { it, net, receipt } = await unlucky(async (ctx, publish) => {
      const found = await ctx.all('search', {
        web: (branch) => branch.step('search web', () => 'web'),
        book: (branch) => branch.step('search book', () => 'book'),
      })
      await publish()
      return found
    })
    await using _ = it
    net.works = true
    await it.result(receipt)
    await expect(it.runtime.fork(receipt, { edits: { 'search web': 'edited' } })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(/'search web'.*'search'.*edit 'search'/) as string,
    })
    const edited = await it.runtime.fork(receipt, { edits: { search: { web: 'edited', book: 'b' } } })
    expect(await it.result(edited)).toEqual({ web: 'edited', book: 'b' })
  })

  test.each(['garbage', null, [1], { winner: 'sig' }, { winner: 1, value: 1 }, { web: 1 }, new Map()])(
    'an edit of a race or an all that is no decision of it is refused by name: %j',
    async (edit) => {
      const { it, net, receipt } = await unlucky(async (ctx) => [
        await ctx.race('r', { sig: (branch) => branch.step('s', () => 1) }),
        await ctx.all('search', {
          web: (branch) => branch.step('web', () => 1),
          book: (branch) => branch.step('book', () => 2),
        }),
      ])
      await using _ = it
      net.works = true
      await it.result(receipt)
      await expect(it.runtime.fork(receipt, { edits: { r: edit } })).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringContaining(
          "fork edit 'r': it is a race: its result is { winner, value }",
        ) as string,
      })
      await expect(it.runtime.fork(receipt, { edits: { search: edit } })).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringMatching(/fork edit 'search': it is an all.*: book, web/) as string,
      })
      const edits = { r: { winner: 'sig', value: undefined }, search: { web: 3, book: 4 } }
      expect(await it.result(await it.runtime.fork(receipt, { edits }))).toEqual([edits.r, edits.search])
    },
  )

  test.each(['race', 'all'] as const)(
    'a %s whose time was over can be forked from by its key',
    async (as) => {
      const task = defineTask({ type: 'late', input: z.null() }, async (ctx) => {
        await ctx.step('before', () => 1)
        const call = { go: (branch: TaskContext) => branch.waitForSignal('go') }
        try {
          return await (as === 'race'
            ? ctx.race('r', call, { timeoutMs: 50 })
            : ctx.all('r', call, { timeoutMs: 50 }))
        } catch {
          return ctx.step('plan b', () => 'late')
        }
      })
      await using it = await createTestRuntime({ tasks: [task] })
      const receipt = await it.runtime.submit(task, null)
      expect(await it.result(receipt)).toBe('late')
      const fork = await it.runtime.fork(receipt, { fromStep: 'r' })
      await it.until(fork, 'waiting')
      await it.runtime.signal(fork, 'go', 1)
      expect(await it.result(fork)).toEqual(as === 'race' ? { winner: 'go', value: 1 } : { go: 1 })
      expect(await it.runtime.replay(fork, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
    },
  )

  test('a retry keeps the end of a wait that was got over beside the one that failed it, later than that', async () => {
    const task = defineTask({ type: 'waiter', input: z.null() }, async (ctx) => {
      const first = ctx.waitForSignal('a', { timeoutMs: 1_000 }).catch((error: unknown) => error)
      const second = await ctx
        .waitForSignal('b', { timeoutMs: 2_000 })
        .catch(() => ctx.step('plan b', () => 'plan b'))
      const answer = await first
      if (answer instanceof Error) throw answer
      return [answer, second]
    })
    await using it = await createTestRuntime({ tasks: [task] })
    const receipt = await it.runtime.submit(task, null)
    await expect(it.result(receipt)).rejects.toBeInstanceOf(TaskFailed)
    const again = await it.runtime.retry(receipt)
    await it.until(again, 'waiting')
    await it.runtime.signal(again, 'a', 1)
    expect(await it.result(again)).toEqual([1, 'plan b'])
    expect((await it.history(again)).waits.filter(({ key }) => key === 'b')).toMatchObject([
      { outcome: 'timed_out' },
    ])
    expect(await it.runtime.replay(again, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
  })

  test('2.7 another fork under the same key is a conflict', async () => {
    const { it, net, receipt } = await unlucky(async (ctx, publish) => {
      const value = await ctx.step('a', () => 1)
      await publish()
      return value
    })
    await using _ = it
    net.works = true
    await it.result(receipt)
    const options = { idempotencyKey: 'k' } satisfies RetryOptions
    const first = await it.runtime.fork(receipt, { ...options, edits: { a: 2 } })
    const same = await it.runtime.fork(receipt, { ...options, edits: { a: 2 } })
    expect([same.taskId, await it.result(same)]).toEqual([first.taskId, 2])
    for (const other of [{ edits: { a: 3 } }, { fromStep: 'a' }, {}])
      await expect(it.runtime.fork(receipt, { ...options, ...other })).rejects.toMatchObject({
        code: 'idempotency_conflict',
      })
  })
})

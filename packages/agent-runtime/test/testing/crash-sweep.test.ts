import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { draws, everyNth } from '../../../../tools/draws.ts'
import { defineTask } from '../../src/index.ts'
import { CrashSweepFailed, sweepCrashes, type TestRuntime } from '../../src/testing/index.ts'

/** A bit of everything that a handler can do. */
const example = defineTask({ type: 'example', input: z.null() }, async (ctx) => {
  const first = await ctx.step('first', () => 1)
  await ctx.emit({ first })
  const decision = await ctx.race('decision', {
    approved: (c) => c.waitForSignal<string>('approve'),
    late: (c) => c.sleep('patience', 60_000),
  })
  const both = await ctx.all('both', {
    slept: async (c) => {
      await c.sleep('nap', 5_000)
      return c.step('awake', async () => 2)
    },
    tried: (c) =>
      c.step('hung', { timeoutMs: 1_000, retry: { attempts: 2 } }, ({ signal }): unknown =>
        c.attempt > 5 ? signal : 'at once',
      ),
  })
  await ctx.checkpoint({ decision })
  const second = await ctx.waitForSignal('approve again', { signal: 'approve' })
  return { first, decision, both, second }
})

async function approveTwice(world: TestRuntime) {
  const receipt = await world.runtime.submit(example, null)
  await world.runtime.signal(receipt, 'approve', 'yes')
  await world.until(receipt, ({ state }) => state === 'waiting')
  await world.runtime.signal(receipt, 'approve', 'again')
  return world.result(receipt)
}

describe('sweepCrashes', () => {
  test('A18 each run ends the same after a crash at every commit', async () => {
    const seen: unknown[] = []
    const every = draws(3, 1)
    const report = await sweepCrashes({
      tasks: [example],
      every,
      script: approveTwice,
      check: async (run, result) => {
        const { tasks } = await run.runtime.list()
        const { attempts, steps } = await run.history(tasks[0]?.taskId ?? '')
        seen.push(attempts)
        expect(result.second).toBe('again')
        expect(steps.map(({ key }) => key).toSorted()).toEqual(['awake', 'both', 'decision', 'first', 'hung'])
      },
    })
    expect(report.commits).toBeGreaterThan(10)
    const commits = Array.from({ length: report.commits }, (_, index) => index + 1)
    expect(report.crashedAfter).toEqual(everyNth(commits, every))
    expect(seen).toHaveLength(report.crashedAfter.length + 1)
    expect(seen).toContain(2)
  })

  test('a spot check draws the same in every run, by the seed', async () => {
    const spot = defineTask({ type: 'spot', input: z.null() }, async (ctx) => {
      const looks: boolean[] = []
      for (const key of ['a', 'b', 'c', 'd']) {
        const { asked } = await ctx.requestApproval(key, key, { mode: 'spot_check' })
        looks.push(asked)
      }
      return looks
    })
    const all: unknown[] = []
    for (const seed of ['one', 'two']) {
      await sweepCrashes({
        tasks: [spot],
        seed,
        every: draws(5, 2),
        script: async (it) => {
          const receipt = await it.runtime.submit(spot, null)
          for (;;) {
            const { state } = await it.until(receipt, (now) => ['completed', 'waiting'].includes(now.state))
            if (state === 'completed') return it.result(receipt)
            const { approvals } = await it.runtime.approvals.list()
            for (const { approvalId } of approvals) await it.runtime.approvals.approve(approvalId)
          }
        },
        check: (_, looks) => void all.push(looks),
      })
    }
    expect(new Set(all.map((looks) => JSON.stringify(looks))).size).toBe(2)
  })

  test('time is moved to where it was asked for, whatever crashes on the way', async () => {
    const sleeper = defineTask({ type: 'sleeper', input: z.null() }, (ctx) => ctx.sleep('nap', 1_000))
    await sweepCrashes({
      tasks: [sleeper],
      script: async (it) => {
        await it.runtime.submit(sleeper, null)
        const from = it.now
        await it.advance(5_500)
        return it.now - from >= 5_500
      },
      check: (_, isThere) => expect(isThere).toBe(true),
    })
  })

  test('takes a part of the commits', async () => {
    const options = { tasks: [example], script: approveTwice }
    expect((await sweepCrashes({ ...options, from: 2, to: 8, every: 3 })).crashedAfter).toEqual([2, 5, 8])
  })

  test('names the first commit whose crash changes the end, with the history', async () => {
    // What it has in a variable is gone after a crash: the step that would bring it back answers from its memo.
    const forgetful = defineTask({ type: 'forgetful', input: z.null() }, async (ctx) => {
      let sum = 0
      await ctx.step('one', () => (sum += 1))
      await ctx.step('two', () => (sum += 2))
      return sum
    })
    const failed = await sweepCrashes({
      tasks: [forgetful],
      script: (run) => run.run(forgetful, null),
    }).catch((error: unknown) => error as CrashSweepFailed)
    expect(failed).toBeInstanceOf(CrashSweepFailed)
    const { message } = failed as CrashSweepFailed
    expect(message).toMatch(/crashed after commit \d+: the script returned 2 instead of 3/)
    expect(message).toContain('owner_dead')
    expect(message).toContain("step.completed   'two' = 2")
  })

  test('a run without a crash that fails is reported as that', async () => {
    const waits = defineTask({ type: 'waits', input: z.null() }, (ctx) => ctx.waitForSignal('never'))
    const sweep = sweepCrashes({ tasks: [waits], script: (run) => run.run(waits, null) })
    await expect(sweep).rejects.toThrow(/^without a crash: the script threw TaskStuck: .*the signal 'never'/)
    const checked = sweepCrashes({
      tasks: [example],
      script: approveTwice,
      check: () => {
        throw new Error('not so')
      },
    })
    await expect(checked).rejects.toThrow(/^without a crash: the check threw Error: not so/)
  })

  test('counts what a client is refused, each time', async () => {
    const quick = defineTask({ type: 'quick', input: z.null() }, () => null)
    let refusals = 1
    const sweep = sweepCrashes({
      tasks: [quick],
      config: { maxDelayed: 1 },
      script: async (it) => {
        refusals += 1
        for (let n = 0; n <= refusals; n += 1) {
          const receipt = await it.runtime.submit(quick, null, { delayMs: 60_000 })
          expect(receipt.accepted).toBe(n === 0)
        }
      },
    })
    await expect(sweep).rejects.toThrow('crashed after commit 1: there are 4 tasks instead of 3')
  })

  test('says what is wrong with its bounds', async () => {
    await expect(sweepCrashes({ tasks: [example], script: approveTwice, every: 0 })).rejects.toThrow('every')
  })
})

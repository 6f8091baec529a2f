import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { sweepCrashes } from '../../src/testing/index.ts'
import { begun, crash, type Version } from './versions.ts'

const old =
  (end: () => unknown = crash, keys: readonly string[] = ['a', 'b']): Version =>
  async (ctx) => {
    for (const key of keys) await ctx.step(key, () => key)
    return end()
  }

/** Has a check between a and b. */
const patched =
  (answers: boolean[], end: () => unknown = () => answers): Version =>
  async (ctx) => {
    await ctx.step('a', () => 'a')
    const isNew = await ctx.patched('check')
    answers.push(isNew)
    if (isNew) await ctx.step('check', () => 'checked')
    await ctx.step('b', () => 'b')
    return end()
  }

describe('ctx.patched (docs/semantics.md 6.4)', () => {
  test('H02 is false for a task whose history goes beyond it, and takes no place', async () => {
    const task = await begun(old())
    const answers: boolean[] = []
    expect(await task.deploy(patched(answers))).toMatchObject({ state: 'completed', steps: 2 })
    expect(answers).toEqual([false])
    expect(await task.runtime.replay(task.taskId, { mode: 'verify' })).toMatchObject({
      verdict: 'agreed',
      unused: 0,
    })
  })

  test('is true for a task that has not come there, new or in flight, and stays so', async () => {
    const answers: boolean[] = []
    const inFlight = await begun(old(crash, ['a']))
    await inFlight.deploy(patched(answers, crash))
    await inFlight.deploy(patched(answers, crash))
    expect(await inFlight.deploy(patched(answers))).toMatchObject({ state: 'completed' })
    expect(answers).toEqual([true, true, true])
    const fresh = await begun(patched([]))
    expect(await fresh.status()).toMatchObject({ state: 'completed', output: [true], steps: 4 })
    expect(await fresh.runtime.replay(fresh.taskId, { mode: 'verify' })).toMatchObject({
      verdict: 'agreed',
      answered: { steps: 4 },
    })
  })

  test('is false where only a wait, or a try of the next step, has been begun', async () => {
    const answers: boolean[] = []
    const ask =
      (next: Version): Version =>
      async (ctx) => {
        answers.push(await ctx.patched('p'))
        return next(ctx)
      }
    const nap: Version = (ctx) => ctx.sleep('nap', 1_000)
    const waits = await begun(nap)
    await waits.deploy(ask(nap))
    expect(await waits.elapse(1_000)).toMatchObject({ state: 'completed' })
    let works = false
    const tries: Version = (ctx) =>
      ctx.step('a', { retry: { attempts: 3, backoff: { initialMs: 1_000, jitter: 0 } } }, () => {
        if (!works) throw new Error('no')
      })
    const retrying = await begun(tries)
    works = true
    await retrying.deploy(ask(tries))
    expect(await retrying.elapse(1_000)).toMatchObject({ state: 'completed' })
    expect(answers).toEqual([false, false])
  })

  test('a fork from an earlier step asks again, one from a later step has the answer', async () => {
    const task = await begun(old(() => 'old'))
    const answers: boolean[] = []
    await task.deploy(patched(answers))
    await task.runtime.fork(task.taskId)
    await task.elapse(0)
    await task.runtime.fork(task.taskId, { fromStep: 'b' })
    await task.elapse(0)
    expect(answers).toEqual([false, true])
  })

  test('asked again in a pass, by a loop for instance, it answers the same', async () => {
    const loop =
      (ask: (ctx: Parameters<Version>[0]) => Promise<boolean>, end: () => unknown): Version =>
      async (ctx) => {
        const found: boolean[] = []
        for (let n = 0; n < 3; n += 1) {
          found.push(await ask(ctx))
          await ctx.step(`item ${n}`, () => n)
        }
        return end() ?? found
      }
    const none = () => Promise.resolve(false)
    const task = await begun(loop(none, crash))
    expect(
      await task.deploy(
        loop(
          (ctx) => ctx.patched('p'),
          () => undefined,
        ),
      ),
    ).toMatchObject({
      output: [false, false, false],
    })
    const fresh = await begun(
      loop(
        (ctx) => ctx.patched('p'),
        () => undefined,
      ),
    )
    expect(await fresh.status()).toMatchObject({ output: [true, true, true], steps: 4 })
  })

  test('after a crash before its mark was stored it is true again', async () => {
    const answers: boolean[] = []
    const task = await begun(async (ctx) => {
      await ctx.step('a', () => 1)
      void ctx.patched('check')
      await crash()
    })
    expect(await task.deploy(patched(answers))).toMatchObject({ state: 'completed' })
    expect(answers).toEqual([true])
  })

  test('stays true when a rejection sends the task back before it', async () => {
    const task = defineTask({ type: 'patched', input: z.null() }, async (ctx) => {
      const isNew = await ctx.patched('p')
      await ctx.waitForSignal('go')
      const before = await ctx.step('a', () => isNew)
      await ctx.requestApproval('text', null)
      return [before, isNew]
    })
    await sweepCrashes({
      tasks: [task],
      script: async (crashing) => {
        const receipt = await crashing.runtime.submit(task, null)
        await crashing.runtime.signal(receipt, 'go')
        for (const verdict of ['reject', 'approve'] as const) {
          await crashing.until(receipt, 'waiting')
          const [asked] = (await crashing.runtime.approvals.list()).approvals
          await crashing.runtime.approvals[verdict](asked?.approvalId ?? '', {})
        }
        return crashing.result(receipt)
      },
      check: (_, result) => expect(result).toEqual([true, true]),
    })
  })

  test('a patch is retired by leaving the new code alone, once no task is on the old', async () => {
    const task = await begun(patched([], crash))
    expect(await task.deploy(old(() => 'done', ['a', 'check', 'b', 'c']))).toMatchObject({
      state: 'completed',
    })
  })

  test('is refused in a branch, with what to do instead, and for what is no id', async () => {
    const refusal = ({ code, message }: Error & { code: string }) => `${code}: ${message}`
    const task = await begun(async (ctx) => [
      (await ctx.all('all', { one: (branch) => branch.patched('p').catch(refusal) })).one,
      await ctx.patched('').catch(refusal),
    ])
    expect(await task.status()).toMatchObject({
      output: [
        expect.stringContaining("invalid_argument: ctx.patched('p') was called in branch 'one'"),
        expect.stringContaining(
          'invalid_argument: the id of a patch must be a string of 1 to 255 characters',
        ),
      ],
    })
  })

  test('its mark shows in no list of steps that a user reads by key, and cannot be forged', async () => {
    const task = await begun((ctx) =>
      ctx.step('$ku0/patched/p', () => 1).catch(({ code }: Error & { code: string }) => code),
    )
    expect(await task.status()).toMatchObject({ output: 'invalid_argument' })
  })
})

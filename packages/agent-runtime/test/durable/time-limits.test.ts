import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type TaskContext } from '../../src/index.ts'
import { createTestRuntime, replayHistory } from '../../src/testing/index.ts'
import { begun, crash as hang } from '../replay/versions.ts'
import { DAY, taskOf, late, verdictOf, twice } from './time-limits-scene.ts'

const LIMIT = '$ku0/limit/'

describe('the time limit of a race or an all', () => {
  test('a race that nobody has won in time is a TimeoutError, in later passes too; its branches are closed', async () => {
    const heard: unknown[] = []
    const child = defineTask({ type: 'child', input: z.null() }, (ctx) => ctx.sleep('long', 30 * DAY))
    const task = taskOf(async (ctx) => {
      const outcome = await late(
        ctx.race(
          'answer',
          {
            reply: (branch) => branch.waitForSignal('reply'),
            help: (branch) => {
              branch.signal.addEventListener('abort', () =>
                heard.push((branch.signal.reason as Error).message),
              )
              return branch.call('ask', child, null)
            },
          },
          { timeoutMs: DAY },
        ),
      )
      await ctx.sleep('after', 1_000)
      return outcome
    })
    await using world = await createTestRuntime({ tasks: [task, child] })
    const receipt = await world.runtime.submit(task, null)
    const began = world.now
    expect(await world.until(receipt, 'waiting')).toMatchObject({
      waitingFor: 'signal',
      waits: expect.arrayContaining([
        { key: `${LIMIT}answer`, kind: 'timer', position: 0, dueAt: began + DAY },
      ]) as unknown,
    })
    await world.advance(DAY - 1)
    expect(await world.runtime.status(receipt)).toMatchObject({ state: 'waiting', waitingFor: 'signal' })
    await world.advance(1)
    expect(await world.runtime.status(receipt)).toMatchObject({ waits: [{ key: 'after' }] })
    expect(await world.result(receipt)).toBe(`race 'answer' took longer than its time limit of ${DAY} ms`)
    expect(heard.slice(1)).toEqual([
      `branch 'help' of race 'answer' was stopped after ${DAY} ms; its calls are refused`,
    ])
    const { tasks } = await world.runtime.list({ types: ['child'] })
    expect(tasks).toMatchObject([{ state: 'canceled' }])
    const { events } = await world.history(receipt)
    expect(events.filter((type) => type === 'task.resumed')).toHaveLength(2)
  })

  test('a step that runs is aborted when the time is over, and what it returns is not recorded', async () => {
    const heard: unknown[] = []
    const task = taskOf(async (ctx) => {
      const work = (branch: TaskContext) =>
        branch.step(
          'work',
          ({ signal }) =>
            new Promise((resolve) =>
              signal.addEventListener('abort', () => {
                heard.push((signal.reason as Error).message)
                resolve('late')
              }),
            ),
        )
      const outcome = await late(ctx.all('both', { work, quick: () => 1 }, { timeoutMs: 1_000 }))
      return [outcome, await ctx.step('after', () => 'on')]
    })
    await using world = await createTestRuntime({ tasks: [task] })
    const receipt = await world.runtime.submit(task, null)
    expect(await world.result(receipt)).toEqual([
      "all 'both' took longer than its time limit of 1000 ms",
      'on',
    ])
    expect(heard).toEqual(["branch 'work' of all 'both' was stopped after 1000 ms; its calls are refused"])
    const { steps } = await world.history(receipt)
    expect(steps.map(({ key }) => key)).toEqual(['both', 'after'])
  })

  test('a call that settles in time beats it, and the timer is dropped with the decision', async () => {
    const task = taskOf(async (ctx) => {
      const { winner } = await ctx.race(
        'answer',
        { reply: (branch) => branch.waitForSignal('reply'), other: (branch) => branch.sleep('long', DAY) },
        { timeoutMs: 60_000 },
      )
      const both = await ctx.all(
        'both',
        { a: (branch) => branch.sleep('a', 1_000), b: (branch) => branch.step('b', () => 2) },
        { timeoutMs: 60_000 },
      )
      await ctx.sleep('after', DAY)
      return [winner, both]
    })
    await using world = await createTestRuntime({ tasks: [task] })
    const receipt = await world.runtime.submit(task, null)
    expect(await world.until(receipt, 'waiting')).toMatchObject({ waitingFor: 'signal' })
    await world.runtime.signal(receipt, 'reply')
    await world.advance(1_000)
    expect(await world.runtime.status(receipt)).toMatchObject({ waits: [{ key: 'after' }] })
    expect(await world.result(receipt)).toEqual(['reply', { a: undefined, b: 2 }])
    const { events } = await world.record(receipt)
    const dropped = events.flatMap(({ data }) => (data['dropped'] as string[] | undefined) ?? [])
    expect(dropped.toSorted()).toEqual([`${LIMIT}answer`, `${LIMIT}both`, 'long'])
  })

  test('a call that ends at the very moment in which the time is over has ended in time', async () => {
    const task = taskOf(async (ctx) => {
      const { winner } = await ctx.race(
        'even',
        {
          nap: async (branch) => {
            await ctx.heartbeat()
            await branch.sleep('nap', 1_000)
          },
        },
        { timeoutMs: 1_000 },
      )
      return winner
    })
    await using world = await createTestRuntime({ tasks: [task] })
    expect(await world.run(task, null)).toBe('nap')
  })

  test('a step that was recorded and a signal that came in time count, heard of in the commit that ends the time', async () => {
    const door = Promise.withResolvers<void>()
    const task = taskOf(async (ctx) => {
      const [, outcome] = await Promise.all([
        ctx.step('busy', () => door.promise),
        late(
          ctx.all(
            'both',
            { a: (branch) => branch.step('a', () => 'A'), b: (branch) => branch.waitForSignal('b') },
            { timeoutMs: 1_000 },
          ),
        ),
      ])
      return outcome
    })
    await using world = await createTestRuntime({ tasks: [task], patienceMs: 1 })
    const receipt = await world.runtime.submit(task, null)
    await world.advance(900)
    await world.runtime.signal(receipt, 'b', 'B')
    await world.advance(200)
    door.resolve()
    expect(await world.result(receipt)).toEqual({ a: 'A', b: 'B' })
    const { events } = await world.record(receipt)
    const ended = events.filter(({ type }) => type === 'wait.resolved').map(({ data }) => data['key'])
    expect(ended).toEqual(['b', `${LIMIT}both`])
  })

  test('the time counts from the call across crashes, and fires once when it came while nothing ran', async () => {
    const task = taskOf(async (ctx) => {
      const outcome = await late(
        ctx.race('slow', { reply: (branch) => branch.waitForSignal('reply') }, { timeoutMs: 10_000 }),
      )
      await ctx.sleep('after', 5_000)
      return outcome
    })
    for (const [downMs, restMs] of [
      [4_000, 6_000],
      [60_000, 0],
    ] as const) {
      await using world = await createTestRuntime({ tasks: [task], crashes: true })
      const receipt = await world.runtime.submit(task, null)
      await world.until(receipt, 'waiting')
      const began = world.now
      world.crash()
      await world.advance(downMs)
      await world.restart()
      await world.until(
        receipt,
        (status) => status.state === 'waiting' && status.waits.some(({ key }) => key === 'after'),
      )
      expect(world.now - began).toBeGreaterThanOrEqual(downMs + Math.max(0, restMs))
      expect(world.now - began).toBeLessThanOrEqual(downMs + restMs + 2_000)
      expect(await world.result(receipt)).toBe("race 'slow' took longer than its time limit of 10000 ms")
      const { events } = await world.record(receipt)
      expect(events.filter(({ data }) => data['key'] === `${LIMIT}slow`)).toMatchObject([
        { type: 'task.resumed' },
      ])
    }
  })

  test('every beginning of its history agrees with it', async () => {
    const task = twice([])
    await using world = await createTestRuntime({ tasks: [task] })
    const receipt = await world.runtime.submit(task, null)
    await world.result(receipt)
    const { hash: _, ...history } = await world.record(receipt)
    const verdicts = new Set<string>()
    for (const [n] of history.events.entries()) {
      const cut = { ...history, events: history.events.slice(0, n + 1) }
      verdicts.add((await replayHistory(task, cut)).verdict)
    }
    expect([...verdicts]).toEqual(['agreed'])
  })

  test('once its time was over, a pass that comes after a crash begins nothing in its branches', async () => {
    const ran: string[] = []
    const task = taskOf(async (ctx) =>
      late(
        ctx.race(
          'slow',
          {
            first: async (branch) => {
              await branch.waitForSignal('never').catch(() => undefined)
            },
            work: async (branch) => {
              ran.push('branch')
              if (ran.length > 1) await branch.step('work', () => ran.push('step'))
              if (ran.length > 1) await branch.exec('false')
              await branch.waitForSignal('never too')
            },
          },
          { timeoutMs: 1_000 },
        ),
      ),
    )
    await using world = await createTestRuntime({ tasks: [task], crashes: true })
    const receipt = await world.runtime.submit(task, null)
    await world.until(receipt, 'waiting')
    await world.advance(999)
    // The commit that brings it back, and the claim.
    world.crashAfter(2)
    await world.advance(1).catch(() => undefined)
    await world.restart()
    expect(await world.result(receipt)).toBe("race 'slow' took longer than its time limit of 1000 ms")
    expect([ran.includes('branch'), ran.includes('step')]).toEqual([true, false])
  })

  test('an answer that a branch got before the time was over counts, in a pass that comes later', async () => {
    const task = taskOf(async (ctx) => {
      if (ctx.attempt > 1)
        return ctx.race('order', { a: (it) => it.step('a', () => 'again') }, { timeoutMs: 1_000 })
      await ctx.step('a', () => 'A')
      await late(ctx.race('order', { never: (it) => it.waitForSignal('never') }, { timeoutMs: 1_000 }))
      return hang()
    })
    await using world = await createTestRuntime({ tasks: [task], crashes: true })
    const receipt = await world.runtime.submit(task, null)
    await world.advance(1_000)
    world.crash()
    await world.restart()
    // The same history, gone through by code whose branch has its answer from before.
    expect(await world.result(receipt)).toEqual({ winner: 'a', value: 'A' })
  })

  test('a limit keeps the time that it began with, whatever the code says later; taken out, it is dropped', async () => {
    const limited = (timeoutMs?: number) => async (ctx: TaskContext) => {
      const race = ctx.race(
        'answer',
        { reply: (branch) => branch.waitForSignal('reply'), nap: (branch) => branch.sleep('nap', 5_000) },
        timeoutMs === undefined ? {} : { timeoutMs },
      )
      const outcome = await late(race.then(({ winner }) => winner))
      await ctx.sleep('after', 20_000)
      return outcome
    }
    const longer = await begun(limited(1_000))
    await longer.deploy(limited(60_000))
    await longer.elapse(1_000)
    await longer.elapse(20_000)
    expect(await longer.status()).toMatchObject({ output: expect.stringContaining('took longer') as unknown })

    const without = await begun(limited(10_000))
    await without.deploy(limited())
    await without.elapse(5_000)
    expect(await without.status()).toMatchObject({ waits: [{ key: 'after' }] })
    await without.elapse(20_000)
    expect(await without.status()).toMatchObject({ output: 'nap' })
  })

  test('a race without one that has no more waits than its branches, and with one more of them', async () => {
    const race = (timeoutMs: number | undefined) => (ctx: TaskContext) =>
      ctx
        .race(
          'answer',
          { a: (branch) => branch.waitForSignal('a'), b: (branch) => branch.waitForSignal('b') },
          timeoutMs === undefined ? {} : { timeoutMs },
        )
        .catch(({ code, message }: Error & { code: string }) => `${code}: ${message}`)
    const config = { maxWaits: 2 }
    const without = await begun(race(undefined), { config })
    expect(await without.status()).toMatchObject({ state: 'waiting', waits: [{ key: 'a' }, { key: 'b' }] })
    const limited = await begun(race(1_000), { config })
    expect(await limited.status()).toMatchObject({
      state: 'completed',
      output: `limit_exceeded: wait '${LIMIT}answer': a task has at most maxWaits 2 open waits`,
    })
  })

  test('a rejection makes the race again: a limit that was over counts again, an open one goes on', async () => {
    const times: number[] = []
    let now = () => 0
    const task = taskOf(async (ctx) => {
      const quick = ctx.race('quick', { it: (branch) => branch.waitForSignal('it') }, { timeoutMs: 1_000 })
      const slow = ctx.race('slow', { ever: (branch) => branch.waitForSignal('ever') }, { timeoutMs: 10_000 })
      await Promise.all([
        late(quick).then(() => times.push(now())),
        late(slow).then(() => times.push(now())),
        ctx.requestApproval('text', 'hello'),
      ])
    })
    await using world = await createTestRuntime({ tasks: [task] })
    now = () => world.now - began
    const receipt = await world.runtime.submit(task, null)
    await world.until(receipt, 'waiting')
    const began = world.now
    const answer = async (verdict: 'approve' | 'reject') => {
      const [asked] = (await world.runtime.approvals.list()).approvals
      await world.runtime.approvals[verdict](asked?.approvalId ?? '')
    }
    await world.advance(4_000)
    await answer('reject')
    await world.advance(1_500)
    await answer('approve')
    await world.result(receipt)
    expect([...new Set(times)]).toEqual([1_000, 5_000, 5_500, 10_000])
  })

  test('an approval with a limit around it waits for the approval, and is revoked when the time is over', async () => {
    const task = taskOf((ctx) =>
      late(ctx.race('review', { asked: (it) => it.requestApproval('text', 'hello') }, { timeoutMs: DAY })),
    )
    await using world = await createTestRuntime({ tasks: [task] })
    const receipt = await world.runtime.submit(task, null)
    expect(await world.until(receipt, 'waiting')).toMatchObject({
      waitingFor: 'approval',
    })
    const said = await world.runtime.explain(receipt)
    expect(said?.summary).toContain("the time limit of 'review' until 2026-01-02")
    expect((await world.history(receipt)).toString()).toContain("the time limit of 'review'")
    expect(await world.result(receipt)).toContain('took longer')
    expect((await world.runtime.approvals.list()).approvals).toEqual([])
  })

  test.each(['race', 'all'] as const)(
    'a retry of a task that failed because of the limit of a %s waits again',
    async (kind) => {
      let answers = false
      const ran: string[] = []
      const task = taskOf(async (ctx) => {
        await ctx.step('before', () => ran.push('before'))
        return ctx[kind](
          'both',
          { a: (branch) => (answers ? branch.step('a', () => 1) : branch.waitForSignal('never')) },
          { timeoutMs: 1_000 },
        )
      })
      await using world = await createTestRuntime({ tasks: [task] })
      const receipt = await world.runtime.submit(task, null)
      await expect(world.result(receipt)).rejects.toMatchObject({ kind: 'error' })
      answers = true
      expect(await world.result(await world.runtime.retry(receipt))).toMatchObject(
        kind === 'race' ? { winner: 'a', value: 1 } : { a: 1 },
      )
      expect(ran).toEqual(['before'])
    },
  )

  test.each<[string, (branch: TaskContext) => Promise<unknown>]>([
    [
      'a race that ran out of time',
      (branch) => late(branch.race('in', { s: (it) => it.waitForSignal('s') }, { timeoutMs: 1_000 })),
    ],
    ['an all of a nap', (branch) => branch.all('in', { nap: (it) => it.sleep('nap', 1_000) })],
    [
      'an all in a race',
      (branch) =>
        branch.race('in', {
          both: (it) =>
            it.all('deep', { one: (x) => x.sleep('one', 900), two: (x) => x.sleep('two', 1_000) }),
        }),
    ],
  ])(
    'a call inside of it that was over before, %s, decides it however long nobody looked',
    async (_, inside) => {
      for (const timeoutMs of [4_000, undefined]) {
        const task = taskOf((ctx) =>
          ctx.race(
            'out',
            {
              other: async (branch) => {
                await branch.sleep('first', 500)
                await branch.sleep('second', timeoutMs === undefined ? 2_000 : 30 * DAY)
              },
              inside: async (branch) => [await inside(branch)],
            },
            timeoutMs === undefined ? {} : { timeoutMs },
          ),
        )
        await using alive = await createTestRuntime({ tasks: [task] })
        const expected = await alive.run(task, null)
        expect(expected).toMatchObject({ winner: 'inside' })
        await using down = await createTestRuntime({ tasks: [task], crashes: true })
        const receipt = await down.runtime.submit(task, null)
        await down.until(receipt, 'waiting')
        down.crash()
        await down.advance(10_000)
        await down.restart()
        expect(await down.result(receipt)).toEqual(expected)
        expect(await verdictOf(down, receipt.taskId)).toMatchObject({ verdict: 'agreed' })
        const status = await down.runtime.status(receipt)
        expect(status).toMatchObject({ state: 'completed' })
      }
    },
  )
})

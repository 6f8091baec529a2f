import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type TaskContext } from '../../src/index.ts'
import { createTestRuntime, ProcessCrashed } from '../../src/testing/index.ts'
import { begun, crash, type Version } from './versions.ts'

/** Calls these steps one after the other, then hangs or returns. */
const steps =
  (keys: readonly string[], end: () => unknown = crash): Version =>
  async (ctx) => {
    for (const key of keys) await ctx.step(key, () => key)
    return end()
  }
const done = () => 'done'
const parkedBy = (divergence: object) => ({
  state: 'waiting',
  waitingFor: 'divergence',
  attempt: 1,
  divergence,
})

describe('changed code under a task in flight (docs/semantics.md 6.4)', () => {
  test('H02 a renamed step parks the task before anything runs; old code and resume bring it to its end', async () => {
    const task = await begun(steps(['a', 'b']))
    const ran: string[] = []
    const renamed: Version = async (ctx) => {
      await ctx.step('a', () => ran.push('a'))
      await ctx.step('b2', () => ran.push('b2'))
      ran.push('went on')
    }
    expect(await task.deploy(renamed)).toMatchObject(
      parkedBy({ kind: 'unexpected_step', key: 'b2', position: 1, expected: 'b', actual: 'b2' }),
    )
    expect(ran).toEqual([])
    expect((await task.runtime.explain(task.taskId))?.summary).toBe(
      "is parked, because its handler took a different path than its recorded history: call 1 is 'b2' where the history has 'b'; resume it once the code fits",
    )
    expect((await task.runtime.leases(task.taskId)).at(-1)).toMatchObject({
      status: 'completed',
      endReason: 'waiting',
    })
    // Hundreds of ticks of the store, and tens of heartbeats.
    expect(await task.elapse(300_000)).toMatchObject({ waitingFor: 'divergence' })

    const parked: unknown[] = []
    task.runtime.on('task.parked', ({ taskId, data }) => parked.push([taskId, data.divergence?.key]))
    await task.runtime.resume(task.taskId)
    expect(await task.elapse(0)).toMatchObject({ waitingFor: 'divergence' })
    expect(parked).toEqual([[task.taskId, 'b2']])
    await task.deploy(async (ctx) => {
      for (const key of ['a', 'b', 'c']) await ctx.step(key, () => ran.push(key))
      return 'done'
    })
    await task.runtime.resume(task.taskId)
    expect(await task.elapse(0)).toMatchObject({ state: 'completed', output: 'done', attempt: 1 })
    expect(ran).toEqual(['c'])
  })

  test('H02 a step put in before recorded ones parks it', async () => {
    const task = await begun(steps(['a', 'b']))
    expect(await task.deploy(steps(['a', 'new', 'b'], done))).toMatchObject(
      parkedBy({ kind: 'unexpected_step', key: 'new', position: 1, expected: 'b', actual: 'new' }),
    )
  })

  test('H02 a step taken out parks it, at the next call that is new or at the end', async () => {
    const task = await begun(steps(['a', 'b', 'c']))
    expect(await task.deploy(steps(['a', 'c', 'd']))).toMatchObject(
      parkedBy({ kind: 'missing_step', key: 'b', position: 1, expected: 'b', actual: 'd' }),
    )
    const ended = await begun(steps(['a', 'b']))
    const status = await ended.deploy(steps(['a'], done))
    expect(status).toMatchObject(parkedBy({ kind: 'missing_step', key: 'b', position: 1, expected: 'b' }))
    expect(status).not.toHaveProperty('divergence.actual')
  })

  test('H02 steps that changed places are answered by their keys; a strict type parks them', async () => {
    const loose = await begun(steps(['a', 'b']))
    expect(await loose.deploy(steps(['b', 'a', 'c'], done))).toMatchObject({ state: 'completed' })
    const strict = await begun(steps(['a', 'b']), { replay: 'strict' })
    expect(await strict.deploy(steps(['b', 'a', 'c'], done))).toMatchObject(
      parkedBy({ kind: 'order_changed', key: 'b', position: 0, expected: '1', actual: '0' }),
    )
  })

  test('H02 a race that was renamed, or put in before a recorded step, parks it', async () => {
    const race =
      (key: string, end: () => unknown): Version =>
      async (ctx) => {
        await ctx.race(key, {
          nap: (branch) => branch.sleep('nap', 10),
          reply: (branch) => branch.waitForSignal('go'),
        })
        return end()
      }
    const renamed = await begun(race('race', crash))
    await renamed.elapse(10)
    expect(await renamed.deploy(race('contest', done))).toMatchObject(
      parkedBy({ kind: 'unexpected_step', key: 'contest', position: 0, expected: 'race', actual: 'contest' }),
    )
    const plain = await begun(steps(['a']))
    await plain.deploy(async (ctx) => {
      await ctx.all('all', { one: () => 1 })
      await ctx.step('a', () => 1)
    })
    expect(await plain.elapse(0)).toMatchObject(
      parkedBy({ kind: 'unexpected_step', key: 'all', position: 0, expected: 'a', actual: 'all' }),
    )
  })

  test('H02 nothing new runs in the branches of a race that stands where another was decided', async () => {
    const ran: string[] = []
    const paid =
      (race: string, step: string): Version =>
      async (ctx) => {
        await ctx.race(race, {
          card: async (branch) => {
            await branch.all(`${race} parts`, { one: (c) => c.step(step, () => ran.push(step)) })
            await branch.sleep(`${step} booked`, 10)
          },
        })
        return crash()
      }
    const task = await begun(paid('pay', 'charge'))
    await task.elapse(10)
    expect(await task.deploy(paid('payment', 'charge card'))).toMatchObject(
      parkedBy({ kind: 'unexpected_step', key: 'payment', position: 0, expected: 'pay', actual: 'payment' }),
    )
    expect(ran).toEqual(['charge'])
  })

  test('H02 a new call in the branches of a race that is not decided runs, also beside one inside that is', async () => {
    const ran: string[] = []
    const paid =
      (step: string): Version =>
      async (ctx) => {
        await ctx.race('pay', {
          card: async (branch) => {
            await branch.all('parts', { one: (c) => c.step('charge', () => ran.push('charge')) })
            await new Promise((resolve) => setImmediate(resolve))
            await branch.step(step, () => ran.push(step))
            await crash()
          },
        })
      }
    const task = await begun(paid('book'))
    expect(await task.deploy(paid('book it'))).toMatchObject({ state: 'running' })
    expect(ran).toEqual(['charge', 'book', 'book it'])
  })

  test('H02 a wait that was renamed or taken out parks it, an open one too', async () => {
    const nap: Version = (ctx) => ctx.sleep('nap', 1_000)
    const renamed = await begun(nap)
    expect(await renamed.status()).toMatchObject({ waitingFor: 'timer' })
    await renamed.deploy((ctx) => ctx.sleep('rest', 1_000))
    expect(await renamed.elapse(1_000)).toMatchObject(
      parkedBy({ kind: 'unexpected_step', key: 'rest', position: 0, expected: 'nap', actual: 'rest' }),
    )
    const open = await begun(async (ctx) => {
      const reply = ctx.waitForSignal('reply')
      await ctx.step('a', () => 1)
      await Promise.all([reply, ctx.sleep('nap', 1_000)])
    })
    await open.deploy(async (ctx) => {
      await ctx.step('a', () => 1)
      await ctx.sleep('nap', 1_000)
      await ctx.step('b', () => 1)
    })
    expect(await open.elapse(1_000)).toMatchObject(
      parkedBy({ kind: 'missing_step', key: 'reply', position: 0, expected: 'reply', actual: 'b' }),
    )
  })

  test('H02 a crash beside an open wait: the step renamed parks it, and the wait stays open', async () => {
    const beside =
      (key: string, end: () => unknown): Version =>
      async (ctx) => {
        const nap = ctx.sleep('nap', 60_000)
        await ctx.step(key, () => key)
        await ctx.step('hangs', end)
        await nap
      }
    const task = await begun(beside('a', crash))
    await task.elapse(10)
    expect(await task.deploy(beside('b', crash))).toMatchObject({
      ...parkedBy({ kind: 'unexpected_step', key: 'b', position: 1 }),
      waits: [{ key: 'nap' }],
    })
  })

  test('H02 a key that is another kind of call now parks it, open or over', async () => {
    const task = await begun((ctx) => ctx.waitForSignal('k'))
    await task.runtime.signal(task.taskId, 'other')
    await task.deploy((ctx) => ctx.sleep('k', 1))
    await task.runtime.signal(task.taskId, 'k')
    expect(await task.elapse(10)).toMatchObject(
      parkedBy({ kind: 'unexpected_step', key: 'k', position: 0, expected: 'signal', actual: 'timer' }),
    )
  })

  test('H01 a handler that takes its way by chance is parked, its memos kept', async () => {
    const ways = ['left', 'right']
    const task = await begun(async (ctx) => {
      await ctx.step(ways.shift() ?? 'none', () => 1)
      await crash()
    })
    const chance: Version = async (ctx) => ctx.step(ways.shift() ?? 'none', () => 1)
    expect(await task.deploy(chance)).toMatchObject({
      ...parkedBy({ kind: 'unexpected_step', expected: 'left', actual: 'right' }),
      steps: 1,
    })
  })

  test('H13 another input found while a step runs parks the task when that is over, its result kept', async () => {
    const both = (input: number, slow: () => unknown): Version => {
      return async (ctx) => {
        await Promise.all([ctx.step('slow', slow), ctx.step('a', { input }, () => 1)])
        await crash()
      }
    }
    const task = await begun(both(1, crash))
    const slow = Promise.withResolvers<string>()
    expect(await task.deploy(both(2, () => slow.promise))).toMatchObject({ state: 'running' })
    slow.resolve('kept')
    expect(await task.elapse(0)).toMatchObject({ ...parkedBy({ kind: 'input_changed', key: 'a' }), steps: 2 })
  })
})

describe('calls that are no divergence (docs/semantics.md 6.4)', () => {
  test('a step that failed, was made up for, and succeeds in a later pass', async () => {
    let works = false
    const flow =
      (end: (ctx: TaskContext) => unknown): Version =>
      async (ctx) => {
        await ctx
          .step('a', () => {
            if (!works) throw new Error('no')
          })
          .catch(() => ctx.step('fallback', () => 1))
        return end(ctx)
      }
    const task = await begun(flow(crash))
    works = true
    await task.deploy(flow((ctx) => ctx.step('z', () => 1).then(crash)))
    expect(
      await task.deploy(flow((ctx) => ctx.step('z', () => 1).then(() => ctx.step('y', () => 2)))),
    ).toMatchObject({
      state: 'completed',
      output: 2,
    })
  })

  test('a call that was slept on instead, the sleep still open, is none either', async () => {
    let works = false
    const flow: Version = async (ctx) => {
      const stay = ctx.waitForSignal('stop', { timeoutMs: 500 }).catch(() => 'never')
      await ctx
        .step('a', () => {
          if (!works) throw new Error('no')
        })
        .catch(() => ctx.sleep('cool down', 10_000))
      await stay
      return ctx.step('z', () => 1)
    }
    const task = await begun(flow)
    works = true
    expect(await task.elapse(500)).toMatchObject({ state: 'waiting', waitingFor: 'timer' })
    expect(await task.elapse(10_000)).toMatchObject({ state: 'completed' })
  })

  test.each([0, 1, 4, 9])(
    'H03 ten steps side by side that end in any order, a crash after %i',
    async (recorded) => {
      const order = [7, 2, 9, 0, 4, 1, 8, 3, 6, 5]
      const ran: number[] = []
      const flow =
        (open: readonly number[]): Version =>
        async (ctx) => {
          const all = order.map((n) =>
            ctx.step(`s${n}`, async () => {
              if (!open.includes(n)) await crash()
              ran.push(n)
              return n
            }),
          )
          return (await Promise.all(all)).length
        }
      const first = order.toSorted((a, b) => a - b).slice(0, recorded)
      const task = await begun(flow(first))
      expect(await task.deploy(flow(order))).toMatchObject({ state: 'completed', output: 10 })
      expect(ran.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    },
  )

  test.each(['at once', 'after work of their own'])(
    'H03 chains side by side that got on differently, whose next steps come %s',
    async (pace) => {
      const own = (n: number) => (pace === 'at once' ? undefined : gateOf(n))
      const gates = new Map<number, PromiseWithResolvers<void>>()
      const gateOf = (n: number) => {
        const gate = Promise.withResolvers<void>()
        gates.set(n, gate)
        return gate.promise
      }
      const flow =
        (open: readonly number[]): Version =>
        async (ctx) => {
          const chain = async (n: number) => {
            await ctx.step(`read ${n}`, () => n)
            await own(n)
            await ctx.step(`write ${n}`, () => (open.includes(n) ? n : crash()))
          }
          await Promise.all([0, 1, 2].map(chain))
          return 'done'
        }
      const task = await begun(flow([2]))
      for (const n of [2, 1, 0]) gates.get(n)?.resolve()
      await task.elapse(0)
      const deployed = await task.deploy(flow([0, 1, 2]))
      for (const n of [0, 1, 2]) {
        gates.get(n)?.resolve()
        await task.elapse(0)
      }
      expect(pace === 'at once' ? deployed : await task.status()).toMatchObject({ state: 'completed' })
    },
  )

  test('H03 a chain that begins a moment later than the one beside it', async () => {
    const flow =
      (b: () => unknown): Version =>
      async (ctx) => {
        const one = async () => {
          await ctx.step('a', () => 1)
          await ctx.step('b', b)
        }
        const two = async () => {
          await Promise.resolve()
          await ctx.step('c', () => 1)
        }
        await Promise.all([one(), two()])
        return 'done'
      }
    const task = await begun(flow(crash))
    expect(await task.deploy(flow(done))).toMatchObject({ state: 'completed' })
  })

  test('H04 the records of the loser of a race, decided or not', async () => {
    const race =
      (loser: () => unknown, end: (ctx: TaskContext) => unknown): Version =>
      async (ctx) => {
        await ctx.step('before', () => 1)
        await ctx.race('race', {
          slow: async (branch) => {
            await branch.step('slow 1', () => 1)
            await branch.step('slow 2', crash)
          },
          fast: async (branch) => {
            await branch.step('fast 1', () => 1)
            await branch.step('fast 2', loser)
          },
        })
        return end(ctx)
      }
    const end = async (ctx: TaskContext) => {
      await ctx.step('after', () => 1)
      return ctx.step('more', () => 2)
    }
    const undecided = await begun(race(crash, end))
    expect(await undecided.deploy(race(done, end))).toMatchObject({ state: 'completed', output: 2 })
    const decided = await begun(race(done, crash))
    expect(await decided.deploy(race(done, end))).toMatchObject({ state: 'completed', output: 2 })
  })

  test('the back-offs of a step', async () => {
    let tries = 0
    const flow: Version = async (ctx) => {
      await ctx.step('a', { retry: { attempts: 4, backoff: { initialMs: 1_000, jitter: 0 } } }, () => {
        tries += 1
        if (tries < 4) throw new Error('no')
      })
      await ctx.step('b', () => 1)
    }
    const task = await begun(flow)
    expect(await task.elapse(7_000)).toMatchObject({ state: 'completed' })
    expect(tries).toBe(4)
  })

  test('a retry of the task, whose failed step comes again', async () => {
    let tries = 0
    const task = await begun(
      async (ctx) => {
        await ctx.step('a', () => 1)
        await ctx.step('b', () => {
          tries += 1
          if (tries < 3) throw new Error('no')
        })
        await ctx.step('c', () => 1)
      },
      { retry: 3 },
    )
    expect(await task.elapse(3_000)).toMatchObject({ state: 'completed', attempt: 3 })
  })

  test('calls that a handler makes in a later try only', async () => {
    let fails = true
    const task = await begun(
      async (ctx) => {
        if (ctx.attempt > 1) await ctx.step('clean up', () => 1)
        await ctx.step('a', () => 1)
        if (fails) {
          fails = false
          throw new Error('no')
        }
      },
      { retry: 2 },
    )
    expect(await task.elapse(1_000)).toMatchObject({ state: 'completed', attempt: 2 })
    expect(await task.runtime.replay(task.taskId, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
  })

  test('a handler that begins where its checkpoint was', async () => {
    const flow =
      (upTo: number): Version =>
      async (ctx) => {
        const from = (ctx.restored as number | undefined) ?? 0
        for (let n = from; n < upTo; n += 1) {
          await ctx.step(`item ${n}`, () => n)
          await ctx.checkpoint(n + 1)
        }
        return upTo < 5 ? crash() : 'done'
      }
    const task = await begun(flow(3))
    expect(await task.deploy(flow(5))).toMatchObject({ state: 'completed' })
  })

  test('a fork that keeps results, edited ones too', async () => {
    const task = await begun(steps(['a', 'b', 'c'], done))
    const fork = await task.runtime.fork(task.taskId, { fromStep: 'c', edits: { a: 'other' } })
    await task.elapse(0)
    expect(await task.runtime.status(fork)).toMatchObject({ state: 'completed' })
  })
})

describe('a parked task (docs/semantics.md 6.4)', () => {
  const parked = async () => {
    const task = await begun(async (ctx) => {
      await ctx.step('a', () => 1)
      return ctx.waitForSignal('go', { timeoutMs: 1_000 })
    })
    await task.deploy(async (ctx) => {
      await ctx.step('b', () => 1)
    })
    await task.elapse(1_000)
    expect(await task.status()).toMatchObject({ waitingFor: 'divergence' })
    return task
  }

  test('a parked task gets no signal until it is resumed, and loses none', async () => {
    const task = await begun(async (ctx) => {
      await ctx.step('a', () => 1)
      await ctx.sleep('nap', 1_000)
      return ctx.waitForSignal('go')
    })
    await task.deploy((ctx) => ctx.step('b', () => 1))
    expect(await task.elapse(1_000)).toMatchObject({ waitingFor: 'divergence' })
    expect(await task.runtime.signal(task.taskId, 'go', 'now')).toEqual({
      delivered: true,
      state: 'waiting',
      awaited: false,
    })
    expect(await task.elapse(5_000)).toMatchObject({ waitingFor: 'divergence' })
    await task.deploy(async (ctx) => {
      await ctx.step('a', () => 1)
      await ctx.sleep('nap', 1_000)
      return ctx.waitForSignal('go')
    })
    await task.runtime.resume(task.taskId)
    expect(await task.elapse(0)).toMatchObject({ state: 'completed', output: 'now' })
  })

  test('can be canceled, forked and tried again', async () => {
    const task = await parked()
    await task.deploy((ctx) => ctx.step('a', () => 2))
    const [fork, retry] = [await task.runtime.fork(task.taskId), await task.runtime.retry(task.taskId)]
    await task.elapse(0)
    expect(await task.runtime.status(fork)).toMatchObject({ waitingFor: 'divergence' })
    expect(await task.runtime.status(retry)).toMatchObject({ waitingFor: 'divergence' })
    const fresh = await task.runtime.fork(task.taskId, { fromStep: 'a' })
    await task.elapse(0)
    expect(await task.runtime.status(fresh)).toMatchObject({ state: 'completed', output: 2 })
    expect(await task.runtime.cancel(task.taskId)).toBe(true)
  })

  test.each([1, 2, 3, 4, 5, 6])(
    'is parked once, whichever commit its process dies after: %i',
    async (commit) => {
      let version = 'a'
      const task = defineTask({ type: 'changing', input: z.null() }, async (ctx) => {
        await ctx.step(version, () => 1)
        await ctx.waitForSignal('go')
        return 'done'
      })
      await using process = await createTestRuntime({ tasks: [task], crashes: true })
      const { taskId } = await process.runtime.submit(task, null)
      await process.until(taskId, 'waiting')
      version = 'b'
      process.crashAfter(commit)
      const throughDivergence = async () => {
        await process.runtime.signal(taskId, 'go')
        await process.until(taskId, (status) => status.state === 'waiting' && status.divergence !== undefined)
        version = 'a'
        await process.runtime.resume(taskId)
        return process.result(taskId)
      }
      const result = await throughDivergence().catch(async (error: unknown) => {
        if (!(error instanceof ProcessCrashed)) throw error
        await process.restart()
        if ((await process.runtime.status(taskId))?.state === 'completed') return process.result(taskId)
        await process.until(taskId, (status) => status.state !== 'running' && status.state !== 'queued')
        version = 'a'
        await process.runtime.resume(taskId).catch(() => undefined)
        return process.result(taskId)
      })
      expect(result).toBe('done')
      const { events } = await process.history(taskId)
      expect(events.filter((type) => type === 'task.waiting').length).toBeLessThanOrEqual(2)
    },
  )

  test('a parked task is set apart from others: resume refuses them and names their state', async () => {
    const task = await begun((ctx) => ctx.sleep('nap', 1_000))
    const resume = () => task.runtime.resume(task.taskId)
    await expect(resume()).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('is waiting for something that has not happened yet') as string,
    })
    await task.elapse(1_000)
    await expect(resume()).rejects.toMatchObject({
      message: expect.stringContaining('is completed') as string,
    })
    await expect(task.runtime.resume('nobody')).rejects.toMatchObject({ code: 'not_found' })
  })

  test('its handler gets waiting, and nothing it awaits settles', async () => {
    const heard: string[] = []
    const task = await begun(steps(['a']))
    await task.deploy(async (ctx) => {
      ctx.onCleanup((reason) => void heard.push(reason))
      ctx.signal.addEventListener('abort', () => heard.push('aborted'))
      const told = () => void heard.push('settled')
      await ctx.step('b', () => 1).then(told, told)
    })
    expect(heard).toEqual(['aborted', 'waiting'])
    expect((await task.eventTypes()).slice(-2)).toEqual(['task.started', 'task.waiting'])
  })
})

import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { defineSupervisor, defineTask } from '../../src/index.ts'
import { draws } from '../../../../tools/draws.ts'
import { createTestRuntime, sweepCrashes } from '../../src/testing/index.ts'
import { gate, virtualRuntime } from '../virtual-runtime.ts'

/** Commits from one crash of a sweep to the next. */
const every = draws(24, 1)

/** Tasks that fail as often as they are told, each with a step that counts its runs. */
function counted() {
  const runs = { steps: 0, fails: 0 }
  const task = defineTask({ type: 'part', input: z.number() }, async (ctx, fails) => {
    await ctx.step('once', () => ++runs.steps)
    if (ctx.attempt > fails) return ctx.attempt
    runs.fails += 1
    throw new Error('broken')
  })
  return { runs, task }
}

describe('supervisors', () => {
  test('14.2 start a child again with what it had recorded, and are done when no child is left', async () => {
    const { runs, task } = counted()
    const pair = defineSupervisor({
      type: 'pair',
      input: z.object({ fails: z.number() }),
      strategy: 'one_for_one',
      children: { first: { task, input: ({ fails }) => fails }, second: { task, input: () => 0 } },
    })
    await using it = await createTestRuntime({ tasks: [pair, task] })
    const { runtime } = it
    const receipt = await runtime.submit(pair, { fails: 2 })
    expect(await it.result(receipt)).toBeNull()
    expect(runs).toEqual({ steps: 2, fails: 2 })
    const { children, terms } = await runtime.supervisors.which(receipt)
    expect(terms).toBeUndefined()
    expect(children).toMatchObject([
      { id: 'first', restart: 'transient', state: 'completed', attempt: 3 },
      { id: 'second', state: 'completed', attempt: 1 },
    ])
    expect(await it.result(children[0]?.taskId ?? '')).toBe(3)
    expect(await runtime.supervisors.count(receipt)).toEqual({ total: 2, open: 0, running: 0 })
  })

  test('14.2 fail when a child fails too often, and say which', async () => {
    const { task } = counted()
    const strict = defineSupervisor({
      type: 'strict',
      input: z.number(),
      maxRestarts: 1,
      children: { only: { task, input: (fails) => fails } },
    })
    await using it = await createTestRuntime({ tasks: [strict, task] })
    const { runtime } = it
    const receipt = await runtime.submit(strict, 9)
    await expect(it.result(receipt)).rejects.toMatchObject({
      kind: 'escalated',
      message: expect.stringContaining("child 'only' ended after 1 restart ") as string,
    })
  })

  test('14.1 14.3 a person who says no to another try of a child ends it, and its supervisor', async () => {
    const paid: string[] = []
    const pay = defineTask(
      { type: 'pay', input: z.undefined(), recovery: { crash: 'human_escalation' } },
      (ctx) => {
        if (ctx.failure === undefined) throw new Error('the bank refused')
        paid.push(ctx.failure.strategy)
      },
    )
    const desk = defineSupervisor({ type: 'desk', input: z.undefined(), children: { pay: { task: pay } } })
    await using it = await createTestRuntime({ tasks: [desk, pay] })
    const { runtime } = it
    const receipt = await runtime.submit(desk, undefined)
    await it.until(receipt, 'waiting')
    const [child] = (await runtime.supervisors.which(receipt)).children
    await it.until(child?.taskId ?? '', 'waiting')
    const [question] = (await runtime.approvals.list()).approvals
    await runtime.approvals.reject(question?.approvalId ?? '', { by: 'Bo', feedback: 'do not pay' })
    const error: unknown = await it.result(receipt).catch((reason: unknown) => reason)
    // It starts the child no more, not even in vain.
    expect(error).toMatchObject({ kind: 'escalated', details: { child: 'pay', restarts: 0 } })
    expect(await runtime.status(child?.taskId ?? '')).toMatchObject({ state: 'failed', kind: 'error' })
    expect(paid).toEqual([])
  })

  test('14.2 14.3 tell the next try of a child that they started it again, whatever its table says', async () => {
    const told: unknown[] = []
    const task = defineTask({ type: 'told', input: z.undefined(), recovery: { crash: 'fail' } }, (ctx) => {
      told.push(ctx.failure)
      if (ctx.failure === undefined) throw new Error('broken')
    })
    const boss = defineSupervisor({ type: 'boss', input: z.undefined(), children: { only: { task } } })
    await using it = await createTestRuntime({ tasks: [boss, task] })
    const receipt = await it.runtime.submit(boss, undefined)
    await it.result(receipt)
    const failure = { category: 'crash', kind: 'error', attempt: 1, error: { message: 'broken' } }
    expect(told).toMatchObject([undefined, { ...failure, strategy: 'restart', restartedBy: receipt.taskId }])
  })

  test('14.1 a child gets the failure of a task that it has called again, unless it calls it under another key', async () => {
    let calls = 0
    const asked = defineTask({ type: 'asked', input: z.undefined() }, () => {
      calls += 1
      throw new Error('broken')
    })
    const same = defineTask({ type: 'same', input: z.undefined() }, (ctx) =>
      ctx.call('ask', asked, undefined),
    )
    const other = defineTask({ type: 'other', input: z.undefined() }, (ctx) =>
      ctx.call(`ask ${ctx.attempt}`, asked, undefined),
    )
    const over = (task: typeof same | typeof other) =>
      defineSupervisor({
        type: `over ${task.type}`,
        input: z.undefined(),
        maxRestarts: 2,
        children: { it: { task } },
      })
    const supervisors = [over(same), over(other)] as const
    await using it = await createTestRuntime({ tasks: [...supervisors, same, other, asked] })
    await expect(it.run(supervisors[0], undefined)).rejects.toThrow("child 'it' ended after 2 restarts")
    expect(calls).toBe(1)
    await expect(it.run(supervisors[1], undefined)).rejects.toThrow("child 'it' ended after 2 restarts")
    expect(calls).toBe(4)
  })

  test('14.2 nest: a supervisor that fails is a child that failed', async () => {
    const { runs, task } = counted()
    const low = defineSupervisor({
      type: 'low',
      input: z.number(),
      maxRestarts: 1,
      children: { only: { task, input: (fails) => fails } },
    })
    const high = defineSupervisor({
      type: 'high',
      input: z.number(),
      children: { low: { task: low, input: (n) => n } },
    })
    await using it = await createTestRuntime({ tasks: [high, low, task] })
    const { runtime } = it
    const receipt = await runtime.submit(high, 3)
    expect(await it.result(receipt)).toBeNull()
    expect(runs).toEqual({ steps: 1, fails: 3 })
  })

  test('14.2 a retry keeps the children that had completed, and starts the others as new tasks that keep their steps', async () => {
    const runs = { kept: 0, done: 0 }
    let fails = true
    const failing = defineTask({ type: 'failing', input: z.undefined() }, async (ctx) => {
      await ctx.step('once', () => ++runs.kept)
      if (fails) throw new Error('not today')
      return 'failed before'
    })
    const passing = defineTask({ type: 'passing', input: z.undefined() }, () => `run ${++runs.done}`)
    const inner = defineSupervisor({
      type: 'inner',
      input: z.undefined(),
      maxRestarts: 0,
      children: { deep: { task: passing }, failing: { task: failing } },
    })
    const pair = defineSupervisor({
      type: 'pair',
      input: z.undefined(),
      maxRestarts: 0,
      results: true,
      children: { passing: { task: passing }, inner: { task: inner } },
    })
    await using it = await createTestRuntime({
      tasks: [pair, inner, failing, passing],
      workers: { capacity: 1 },
    })
    const { runtime } = it
    const receipt = await runtime.submit(pair, undefined)
    await expect(it.result(receipt)).rejects.toMatchObject({ kind: 'escalated' })
    fails = false
    const again = await runtime.retry(receipt)
    expect(await it.result(again)).toEqual({ passing: 'run 1', inner: null })
    expect(runs).toEqual({ kept: 1, done: 2 })
    const [before, after] = await Promise.all(
      [receipt, again].map(async (each) => (await runtime.supervisors.which(each)).children),
    )
    expect(after?.map(({ id, state }) => `${id} ${state}`)).toEqual(['passing completed', 'inner completed'])
    expect(after?.map(({ taskId }, at) => taskId === before?.[at]?.taskId)).toEqual([true, false])
    expect((await it.history(again)).events).toContain('child.inherited')
    expect(await runtime.replay(again, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
  })

  test('14.1 take the others back; their handlers stop', async () => {
    const started = gate()
    const breaks = gate()
    let runs = 0
    const aborted: unknown[] = []
    const steady = defineTask({ type: 'steady', input: z.undefined() }, async (ctx) => {
      runs += 1
      if (runs > 1) return runs
      started.resolve()
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      aborted.push((ctx.signal.reason as Error).name)
      throw ctx.signal.reason
    })
    const flaky = defineTask({ type: 'flaky', input: z.undefined() }, async (ctx) => {
      if (ctx.attempt > 1) return 'done'
      await breaks.promise
      throw new Error('broken')
    })
    const team = defineSupervisor({
      type: 'team',
      input: z.undefined(),
      strategy: 'one_for_all',
      children: { steady: { task: steady }, flaky: { task: flaky } },
    })
    await using it = await createTestRuntime({ tasks: [team, steady, flaky] })
    const { runtime } = it
    const receipt = await runtime.submit(team, undefined)
    await started.promise
    breaks.resolve()
    expect(await it.result(receipt)).toBeNull()
    expect([runs, aborted]).toEqual([2, ['LeaseLost']])
  })

  describe('14.2 with children that come after others', () => {
    const log: string[] = []
    const work = (type: string, fails = 0) =>
      defineTask({ type, input: z.undefined() }, async (ctx) => {
        log.push(`${type} ${ctx.attempt}`)
        if (ctx.attempt <= fails) throw new Error(`${type} is broken`)
        return ctx.step('work', () => `by ${type}`)
      })
    const read = work('read')
    const score = work('score', 1)
    const advise = work('advise')
    const chain = defineSupervisor({
      type: 'chain',
      input: z.undefined(),
      strategy: 'rest_for_one',
      results: true,
      children: {
        read: { task: read },
        score: { task: score, after: ['read'] },
        advise: { task: advise, after: ['read', 'score'] },
      },
    })

    test('start each once those before it have completed', async () => {
      log.splice(0)
      await using it = await createTestRuntime({ tasks: [chain, read, score, advise] })
      const receipt = await it.runtime.submit(chain, undefined)
      expect(await it.result(receipt)).toEqual({ read: 'by read', score: 'by score', advise: 'by advise' })
      expect(log).toEqual(['read 1', 'score 1', 'score 2', 'advise 1'])
      const { children } = await it.runtime.supervisors.which(receipt)
      expect(children.map(({ id }) => id)).toEqual(['read', 'score', 'advise'])
      expect(await it.runtime.replay(receipt, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
    })

    test('start each once, wherever the process dies', async () => {
      await sweepCrashes({
        every,
        tasks: [chain, read, score, advise],
        script: async (life) => {
          log.splice(0)
          const result = await life.run(chain, undefined)
          return { result, order: [...new Set(log.map((line) => line.split(' ')[0]))] }
        },
        check: (life, { result, order }) => {
          expect(result).toEqual({ read: 'by read', score: 'by score', advise: 'by advise' })
          expect(['read', 'score', 'advise'].join().endsWith(order.join())).toBe(true)
          void life
        },
      })
    })

    describe('with inputs made of results', () => {
      const runs = { extract: 0 }
      const extract = defineTask({ type: 'extract', input: z.string() }, (ctx, text) =>
        ctx.step('extract', () => {
          runs.extract += 1
          return text.split(' ')
        }),
      )
      const rate = defineTask({ type: 'rate', input: z.array(z.string()) }, async (ctx, words) => {
        if (ctx.attempt === 1) throw new Error('rate is broken')
        return words.map((word) => word.length)
      })
      const keep = defineTask({ type: 'keep', input: z.undefined() }, (ctx) => ctx.ready())
      const tell = defineTask(
        { type: 'tell', input: z.object({ words: z.number(), longest: z.number(), names: z.string() }) },
        (_ctx, told) => told,
      )
      const report = defineSupervisor({
        type: 'report',
        input: z.string(),
        strategy: 'rest_for_one',
        results: true,
        children: {
          extract: { task: extract, input: (text) => text },
          keep: { task: keep },
          rate: { task: rate, after: ['extract'], input: (_, { extract: words = [] }) => words },
          tell: {
            task: tell,
            after: { extract: 'completed', keep: 'ready', rate: 'completed' },
            input: (text, before) => ({
              words: before.extract?.length ?? 0,
              longest: Math.max(text.length, ...(before.rate ?? [])),
              names: Object.keys(before).toSorted().join(' '),
            }),
          },
        },
      })
      const tasks = [report, extract, rate, keep, tell]
      const told = { words: 3, longest: 10, names: 'extract rate' }

      test('14.2 give a child the results of those that had to complete, also of one that has started again', async () => {
        runs.extract = 0
        await using it = await createTestRuntime({ tasks })
        const receipt = await it.runtime.submit(report, 'a bb ccccc')
        expect(await it.result(receipt)).toEqual({
          extract: ['a', 'bb', 'ccccc'],
          keep: undefined,
          rate: [1, 2, 5],
          tell: told,
        })
        expect(runs.extract).toBe(1)
        expect(await it.runtime.replay(receipt, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
      })

      test('14.2 give it the same results wherever the process dies', async () => {
        await sweepCrashes({
          every,
          tasks,
          script: (life) => life.run(report, 'a bb ccccc'),
          check: (_, result) => expect(result).toMatchObject({ tell: told }),
        })
      })

      test('14.2 give it the result of the task that was started again from outside, not of the one before', async () => {
        const count = { source: 0 }
        const source = defineTask({ type: 'source', input: z.undefined() }, async (ctx) => {
          const run = (count.source += 1)
          await ctx.waitForSignal('go')
          return run
        })
        const sink = defineTask({ type: 'sink', input: z.number() }, (_ctx, run) => run)
        const flow = defineSupervisor({
          type: 'flow',
          input: z.undefined(),
          endsWith: 'cancel',
          children: {
            source: { task: source },
            sink: { task: sink, after: ['source'], input: (_, before) => before.source ?? 0 },
          },
        })
        await using it = await createTestRuntime({ tasks: [flow, source, sink] })
        const { runtime } = it
        const receipt = await runtime.submit(flow, undefined)
        await it.until(receipt, 'waiting')
        await runtime.supervisors.stop(receipt, 'source')
        const { taskId } = await runtime.supervisors.restart(receipt, 'source')
        await it.settle()
        await runtime.signal(taskId, 'go', null)
        await it.settle()
        const { children } = await runtime.supervisors.which(receipt)
        const last = children.find(({ id }) => id === 'sink')
        expect(await it.result(last?.taskId ?? '')).toBe(count.source)
        await runtime.cancel(receipt)
      })

      test('14.2 give it the results of temporary ones that completed, wherever the process dies', async () => {
        const found = { scan: ['a', 'bb'], rate: [1, 2] }
        const scan = defineTask({ type: 'scan', input: z.undefined() }, () => found.scan)
        const once = defineSupervisor({
          type: 'once',
          input: z.undefined(),
          results: true,
          children: {
            scan: { task: scan, restart: 'temporary' },
            rate: { task: rate, after: ['scan'], input: (_, { scan: words = [] }) => words },
          },
        })
        await using it = await createTestRuntime({ tasks: [once, scan, rate] })
        const receipt = await it.runtime.submit(once, undefined)
        expect(await it.result(receipt)).toEqual(found)
        expect(await it.runtime.replay(receipt, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
        await sweepCrashes({
          every,
          tasks: [once, scan, rate],
          script: (life) => life.run(once, undefined),
          check: (_, result) => expect(result).toEqual(found),
        })
      })

      test.each<[what: string, input: (text?: string, before?: object) => unknown, given: object]>([
        ['its results', (_, before) => before, { extract: ['a'] }],
        ['none with a default value', (_, before = { extract: [] }) => before, {}],
        ['none with a default value before it', (_ = '', before) => before, {}],
        ['none with a rest parameter', (...[, before]) => before, {}],
      ])('give the second parameter of an input %s', async (_what, input, given) => {
        const echo = defineTask({ type: 'echo', input: z.unknown() }, (_ctx, it) => it)
        const pair = defineSupervisor({
          type: 'pair',
          input: z.string(),
          results: true,
          children: {
            extract: { task: extract, input: (text) => text },
            echo: { task: echo, after: ['extract'], input },
          },
        })
        await using it = await createTestRuntime({ tasks: [pair, extract, echo] })
        expect(await it.run(pair, 'a')).toEqual({ extract: ['a'], echo: given })
      })

      test('fail with the error of an input that throws', async () => {
        const wrong = defineSupervisor({
          type: 'wrong',
          input: z.string(),
          children: {
            extract: { task: extract, input: (text) => text },
            rate: {
              task: rate,
              after: ['extract'],
              input: () => {
                throw new Error('nothing to rate')
              },
            },
          },
        })
        await using it = await createTestRuntime({ tasks: [wrong, extract, rate] })
        await expect(it.run(wrong, 'a')).rejects.toThrow('nothing to rate')
      })
    })

    test('start the next when the one before is ready, which it stays when it starts again', async () => {
      const events: string[] = []
      const serve = defineTask({ type: 'serve', input: z.undefined() }, async (ctx) => {
        events.push(`serve ${ctx.attempt}`)
        await ctx.step('bind', () => 8080)
        await ctx.ready()
        await ctx.ready()
        if (ctx.attempt === 1) {
          await ctx.waitForSignal('break')
          throw new Error('the connection is gone')
        }
        await ctx.waitForSignal('stop')
      })
      const call = defineTask({ type: 'call', input: z.undefined() }, async (ctx) => {
        events.push(`call ${ctx.attempt}`)
        await ctx.waitForSignal('stop')
      })
      const tree = defineSupervisor({
        type: 'tree',
        input: z.undefined(),
        strategy: 'rest_for_one',
        children: { serve: { task: serve }, call: { task: call, after: { serve: 'ready' } } },
      })
      await using it = await createTestRuntime({ tasks: [tree, serve, call] })
      const { runtime } = it
      const receipt = await runtime.submit(tree, undefined)
      await it.settle()
      const children = async () => (await runtime.supervisors.which(receipt)).children
      expect((await children()).map(({ id, state }) => `${id} ${state}`)).toEqual([
        'serve waiting',
        'call waiting',
      ])
      const [first, second] = await children()
      expect((await it.history(first?.taskId ?? '')).toString()).toContain('ready')
      await runtime.signal(first?.taskId ?? '', 'break', null)
      await it.settle()
      expect(events.slice(0, 2)).toEqual(['serve 1', 'call 1'])
      await runtime.signal(first?.taskId ?? '', 'stop', null)
      await runtime.signal(second?.taskId ?? '', 'stop', null)
      expect(await it.result(receipt)).toBeNull()
      expect(events).toContain('serve 2')
    })

    test('are done without a child whose others were stopped, and start it when they complete after all', async () => {
      const waits = defineTask({ type: 'waits', input: z.undefined() }, (ctx) => ctx.waitForSignal('go'))
      const last = defineTask({ type: 'last', input: z.undefined() }, () => 'came')
      const define = <const T extends string>(type: T, endsWith: 'children' | 'cancel') =>
        defineSupervisor({
          type,
          input: z.undefined(),
          endsWith,
          children: { first: { task: waits }, last: { task: last, after: ['first'] } },
        })
      const short = define('short', 'children')
      const long = define('long', 'cancel')
      await using it = await createTestRuntime({ tasks: [short, long, waits, last] })
      const { runtime } = it
      const { supervisors } = runtime
      const done = await runtime.submit(short, undefined)
      await it.until(done, 'waiting')
      expect((await runtime.explain(done))?.summary).toBe(
        "waits for its supervised children (one_for_one, at most 5 restarts in 60 s) or the moment for child 'last' to start, once 'first' has completed",
      )
      await supervisors.stop(done, 'first')
      expect(await it.result(done)).toBeNull()
      expect((await supervisors.which(done)).children).toHaveLength(1)
      expect(await runtime.replay(done, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })

      const open = await runtime.submit(long, undefined)
      await it.until(open, 'waiting')
      await supervisors.stop(open, 'first')
      const { taskId } = await supervisors.restart(open, 'first')
      await runtime.signal(taskId, 'go', null)
      await it.settle()
      expect((await supervisors.which(open)).children.map(({ id, state }) => `${id} ${state}`)).toEqual([
        'first completed',
        'last completed',
      ])
      await runtime.cancel(open)
    })

    describe.each([
      { strict: true, results: true },
      { strict: true, results: false },
      { strict: false, results: false },
    ])(
      '14.2 are done without a child whose others never complete (strict mode $strict, results $results)',
      (of) => {
        const { strict, results } = of
        const done = { output: results ? { beside: 'beside' } : null, startedLast: false }
        /** What one child does until it is stopped or fails, and one that comes after it. */
        const scene = async (fails: 'at once' | 'later' | 'never') => {
          const first = defineTask({ type: 'first', input: z.undefined() }, async (ctx) => {
            if (fails !== 'at once') await ctx.waitForSignal('go')
            if (fails !== 'never') throw new Error('broken')
          })
          const beside = defineTask({ type: 'beside', input: z.undefined() }, () => 'beside')
          const last = defineTask({ type: 'last', input: z.undefined() }, () => 'came')
          const top = defineSupervisor({
            type: 'top',
            input: z.undefined(),
            results,
            children: {
              first: { task: first, restart: fails === 'never' ? 'transient' : 'temporary' },
              last: { task: last, after: ['first'] },
              beside: { task: beside },
            },
          })
          const it = await createTestRuntime({ tasks: [top, first, beside, last], strict })
          const receipt = await it.runtime.submit(top, undefined)
          const end = async () => {
            const output = await it.result(receipt)
            const { children } = await it.runtime.supervisors.which(receipt)
            return { output, startedLast: children.some(({ id }) => id === 'last') }
          }
          return { it, receipt, end }
        }

        test('one that is stopped while the supervisor waits', async () => {
          const { it, receipt, end } = await scene('never')
          await using _ = it
          await it.until(receipt, 'waiting')
          await it.settle()
          await it.runtime.supervisors.stop(receipt, 'first')
          expect(await end()).toEqual(done)
        })

        test('one that is stopped as soon as it is there', async () => {
          const { it, receipt, end } = await scene('never')
          await using _ = it
          for (;;) {
            const { children } = await it.runtime.supervisors.which(receipt).catch(() => ({ children: [] }))
            if (children.length > 0) break
            await it.advance(1)
          }
          await it.runtime.supervisors.stop(receipt, 'first')
          expect(await end()).toEqual(done)
        })

        test('a temporary one that fails before the supervisor waits', async () => {
          const { it, end } = await scene('at once')
          await using _ = it
          expect(await end()).toEqual(done)
        })

        test('a temporary one that fails later', async () => {
          const { it, receipt, end } = await scene('later')
          await using _ = it
          await it.settle()
          const { children } = await it.runtime.supervisors.which(receipt)
          await it.runtime.signal(children[0]?.taskId ?? '', 'go', null)
          expect(await end()).toEqual(done)
        })
      },
    )

    test.each([
      [{ b: { task: read, after: ['c'] }, c: { task: read } }, "child 'b' after"],
      [{ b: { task: read, after: ['b'] } }, 'and there are none'],
      [{ one: { task: read }, b: { task: read, after: ['on'] } }, 'did you mean one?'],
      [{ a: { task: read }, b: { task: read, after: { a: 'done' } } }, "child 'b' after"],
      [{ a: { task: read }, b: { task: read, after: ['a', 'a'] } }, "child 'b' after"],
      [{ a: { task: read, restart: 'permanent' }, b: { task: read, after: ['a'] } }, "{ a: 'ready' }"],
    ])('refuse an order that cannot be: %o', (children, named) => {
      const wrong: unknown = { type: 'x', input: z.undefined(), children }
      const define = () => defineSupervisor(wrong as never)
      expect(define).toThrow(named)
      expect(define).toThrow("supervisor 'x': child '")
    })
  })

  test('14.2 are not done while a child finds no room', async () => {
    const part = defineTask({ type: 'part', input: z.undefined() }, () => 'done')
    const pair = defineSupervisor({
      type: 'pair',
      input: z.undefined(),
      results: true,
      children: { a: { task: part }, b: { task: part } },
    })
    const config = { queueDepthLimit: 1, batchBackpressureThreshold: 1 }
    await using it = await createTestRuntime({ tasks: [pair, part], config })
    await it.runtime.submit(part, undefined, { delayMs: 5_000 })
    expect(await it.run(pair, undefined)).toEqual({ a: 'done', b: 'done' })
  })

  test('14.2 a child that stops has the time of its own, of its supervisor, or of its task type', async () => {
    const stuck = (type: string, abortGraceMs?: number) =>
      defineTask({ type, input: z.undefined(), abortGraceMs }, () => gate().promise)
    const [own, theirs, late] = [stuck('own', 9_000), stuck('theirs', 9_000), stuck('late')]
    const desk = defineSupervisor({
      type: 'desk',
      input: z.undefined(),
      endsWith: 'cancel',
      shutdownMs: 2_000,
      children: { own: { task: own, shutdownMs: 1_000 }, theirs: { task: theirs } },
    })
    const { runtime, elapse } = await virtualRuntime({
      tasks: [desk, own, theirs, late],
      workers: { capacity: 9 },
    })
    const receipt = await runtime.submit(desk, undefined)
    await elapse(0)
    const { supervisors } = runtime
    expect((await supervisors.which(receipt)).terms).toMatchObject({ shutdownMs: 2_000 })
    await supervisors.start(receipt, 'late', late, undefined)
    const labels = { 'supervisor.shutdownMs': '1' }
    await supervisors.start(receipt, 'later', late, undefined, { shutdownMs: 3_000, labels })
    const times = (await supervisors.which(receipt)).children.map(({ id, shutdownMs }) => [id, shutdownMs])
    expect(times).toEqual([
      ['own', 1_000],
      ['theirs', 2_000],
      ['late', 2_000],
      ['later', 3_000],
    ])
    // A task that no supervisor has is not told when to stop by a label.
    const alone = await runtime.submit(late, undefined, { labels })
    await elapse(0)
    await runtime.cancel(receipt)
    await runtime.cancel(alone)
    const leaked = async (ms: number) => {
      await elapse(ms)
      return runtime.leaked().length
    }
    expect([await leaked(999), await leaked(1)]).toEqual([0, 1])
    expect([await leaked(999), await leaked(1)]).toEqual([1, 3])
    expect([await leaked(999), await leaked(1)]).toEqual([3, 4])
    expect([await leaked(26_999), await leaked(1)]).toEqual([4, 5])
    for (const shutdownMs of [0, 86_400_001])
      expect(() => defineSupervisor({ type: 'd', input: z.undefined(), shutdownMs })).toThrow('shutdownMs')
  })

  test('14.2 have children that come and go', async () => {
    const echo = defineTask({ type: 'echo', input: z.string() }, async (ctx, text) => {
      await ctx.waitForSignal('go')
      return text
    })
    const pool = defineSupervisor({ type: 'pool', input: z.undefined(), endsWith: 'cancel' })
    await using it = await createTestRuntime({ tasks: [pool, echo] })
    const { runtime } = it
    const receipt = await runtime.submit(pool, undefined)
    await it.until(receipt, 'waiting')
    const { supervisors } = runtime
    const { taskId } = await supervisors.start(receipt, 'a', echo, 'hello')
    await expect(supervisors.start(receipt, 'a', echo, 'twice')).rejects.toMatchObject({
      code: 'already_exists',
      details: { as: 'already_started', taskId },
    })
    await expect(supervisors.restart(receipt, 'a')).rejects.toMatchObject({ code: 'already_exists' })
    expect(await supervisors.stop(receipt, 'a')).toEqual({ stopped: true, taskId, state: 'canceled' })
    expect(await supervisors.stop(receipt, 'a')).toEqual({ stopped: false, taskId, state: 'canceled' })
    await expect(supervisors.start(receipt, 'a', echo, 'twice')).rejects.toMatchObject({
      details: { as: 'already_present' },
    })
    const again = await supervisors.restart(receipt, 'a')
    await runtime.signal(again.taskId, 'go', null)
    expect(await it.result(again.taskId)).toBe('hello')
    expect(await supervisors.count(receipt)).toEqual({ total: 1, open: 0, running: 0 })
    await it.until(receipt, 'waiting')
    await expect(supervisors.stop(receipt, 'b')).rejects.toMatchObject({ code: 'not_found' })
    await runtime.cancel(receipt)
    await expect(supervisors.start(receipt, 'b', echo, 'late')).rejects.toMatchObject({
      code: 'invalid_argument',
    })
  })

  test('14.2 give their client to children that are started from outside', async () => {
    const echo = defineTask({ type: 'echo', input: z.string() }, (ctx) => ctx.waitForSignal('go'))
    const pool = defineSupervisor({ type: 'pool', input: z.undefined(), endsWith: 'cancel' })
    await using it = await createTestRuntime({ tasks: [pool, echo] })
    const { supervisors } = it.runtime
    const receipt = await it.runtime.submit(pool, undefined, { client: 'acme' })
    await it.until(receipt, 'waiting')
    const clientOf = async (taskId: string) => (await it.runtime.status(taskId))?.client
    const first = await supervisors.start(receipt, 'a', echo, 'hello')
    expect(await clientOf(first.taskId)).toBe('acme')
    await supervisors.stop(receipt, 'a')
    const again = await supervisors.restart(receipt, 'a')
    expect(await clientOf(again.taskId)).toBe('acme')
  })

  test('say in words what they wait for', async () => {
    const nap = defineTask({ type: 'nap', input: z.undefined() }, (ctx) => ctx.sleep('long', 1e6))
    const pool = defineSupervisor({ type: 'pool', input: z.undefined(), children: { nap: { task: nap } } })
    await using it = await createTestRuntime({ tasks: [pool, nap] })
    const { runtime } = it
    const receipt = await runtime.submit(pool, undefined)
    await it.until(receipt, 'waiting')
    const summary = (await runtime.explain(receipt))?.summary
    expect(summary).toBe('waits for its supervised children (one_for_one, at most 5 restarts in 60 s)')
  })

  test('14.2 a crash after any commit leaves each child one supervisor, and starts none twice', async () => {
    const flaky = defineTask({ type: 'flaky', input: z.number() }, async (ctx, fails) => {
      await ctx.step('once', () => null)
      if (ctx.failure?.kind === 'error' || fails === 0) return null
      throw new Error('broken')
    })
    const low = defineSupervisor({
      type: 'low',
      input: z.null(),
      children: { a: { task: flaky, input: () => 1 } },
    })
    const high = defineSupervisor({
      type: 'high',
      input: z.null(),
      strategy: 'rest_for_one',
      children: {
        b: { task: flaky, input: () => 1 },
        low: { task: low, input: () => null },
        c: { task: flaky, input: () => 0 },
      },
    })
    const tasks = [flaky, low, high]
    let commits = Number.POSITIVE_INFINITY
    for (let nth = 1; nth <= commits; nth += every) {
      await using it = await createTestRuntime({ tasks, crashes: true })
      const { taskId } = await it.runtime.submit(high, null)
      it.crashAfter(nth)
      const before = it.commits
      const result = () => it.result(taskId)
      const first = await result().catch(async () => {
        await it.restart()
        return result()
      })
      expect(first, `crash after commit ${nth}`).toBeNull()
      commits = Math.min(commits, Math.max(it.commits - before, 1))
      const all = (await it.runtime.list({ limit: 100 })).tasks.map(({ type, state }) => `${type} ${state}`)
      expect(all.toSorted()).toEqual([
        'flaky completed',
        'flaky completed',
        'flaky completed',
        'high completed',
        'low completed',
      ])
      const told = (await it.history(taskId)).events
      expect(told.filter((type) => type === 'supervisor.restarted')).toHaveLength(1)
    }
  })

  test('14.2 give the results of the children that completed, if they are asked to', async () => {
    const { task } = counted()
    const stuck = defineTask({ type: 'stuck', input: z.undefined() }, (ctx) => ctx.waitForSignal('never'))
    const team = defineSupervisor({
      type: 'team',
      input: z.number(),
      results: true,
      children: {
        second: { task, input: (fails) => fails },
        first: { task, input: () => 0 },
        broken: { task, input: () => 9, restart: 'temporary' },
        stopped: { task: stuck },
      },
    })
    const caller = defineTask({ type: 'caller', input: z.number() }, async (ctx, fails) => {
      const { first = 0, second = 0, ...others } = await ctx.call('team', team, fails)
      return { sum: first + second, others }
    })
    await using it = await createTestRuntime({ tasks: [caller, team, task, stuck] })
    const receipt = await it.runtime.submit(caller, 2)
    await it.settle()
    const [{ taskId: teamId } = { taskId: '' }] = (await it.runtime.list({ parent: receipt.taskId })).tasks
    await it.runtime.supervisors.stop(teamId, 'stopped')
    // Three attempts of one, one of the other.
    expect(await it.result(receipt)).toEqual({ sum: 4, others: {} })
  })

  test('14.2 give the results of their own children when they are forked', async () => {
    const who = defineTask({ type: 'who', input: z.undefined() }, (ctx) => ctx.taskId)
    const team = defineSupervisor({
      type: 'team',
      input: z.null(),
      results: true,
      children: { a: { task: who } },
    })
    await using it = await createTestRuntime({ tasks: [team, who] })
    const { runtime } = it
    const receipt = await runtime.submit(team, null)
    const first = await it.result(receipt)
    const fork = await runtime.fork(receipt)
    const second = await it.result(fork)
    expect(second).toEqual({ a: (await runtime.supervisors.which(fork)).children[0]?.taskId })
    expect(second).not.toEqual(first)
  })

  test('14.2 give the same results after a crash at any commit', async () => {
    const flaky = defineTask({ type: 'flaky', input: z.number() }, async (ctx, fails) => {
      const given = await ctx.step('once', () => fails * 10)
      if (ctx.failure?.kind === 'error' || fails === 0) return given
      throw new Error('broken')
    })
    const team = defineSupervisor({
      type: 'team',
      input: z.null(),
      results: true,
      strategy: 'rest_for_one',
      children: { a: { task: flaky, input: () => 1 }, b: { task: flaky, input: () => 0 } },
    })
    await sweepCrashes({
      every,
      tasks: [flaky, team],
      script: (life) => life.run(team, null),
      check: (_, result) => expect(result).toEqual({ a: 10, b: 0 }),
    })
  })

  test.each([
    [{ strategy: 'all' }, 'strategy'],
    [{ results: 'all' }, 'results'],
    [{ maxRestarts: -1 }, 'maxRestarts'],
    [{ periodMs: 0 }, 'periodMs'],
    [{ children: { 1: {} } }, "child '1'"],
    [{ children: { a: { restart: 'often' } } }, "child 'a' task"],
    [{ children: [] }, 'children'],
  ])('name what is wrong with a definition: %o', (wrong, named) => {
    const define = () => defineSupervisor({ type: 'x', input: z.undefined(), ...wrong } as never)
    expect(define).toThrow(named)
  })
})

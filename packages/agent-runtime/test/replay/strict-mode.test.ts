import { once } from 'node:events'
import { createServer, get } from 'node:http'
import { connect, createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo, Server } from 'node:net'
import type { StoredEvent } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type TaskContext } from '../../src/index.ts'
import { untilItWaited } from '../../src/replay/past.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { virtualRuntime } from '../virtual-runtime.ts'

const input = z.null()
type Handler = (ctx: TaskContext) => unknown

/** How a task of this handler ends in strict mode. */
async function endOf(handler: Handler, more: { readonly retry?: { readonly attempts: number } } = {}) {
  const task = defineTask({ type: 'it', input, ...more }, handler)
  await using it = await createTestRuntime({ tasks: [task], strict: true })
  const receipt = await it.runtime.submit(task, null)
  const end = await it.result(receipt).catch((error: unknown) => error as Error & { code: string })
  return { end, status: await it.runtime.status(receipt) }
}
async function listening(server: Server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = () => new Promise<void>((done) => void server.close(() => done()))
  return { url, [Symbol.asyncDispose]: close }
}

const failure = (message: string) => ({
  code: 'not_deterministic',
  message: expect.stringContaining(message) as string,
})

describe('strict mode (docs/strict-mode.md) fails a handler that takes another path when it is replayed', () => {
  test('a key that chance made', async () => {
    const { end } = await endOf((ctx) => ctx.step(`pay ${Math.random()}`, () => 1))
    expect(end).toMatchObject(failure("('it') takes another path when it is replayed: call 0 is 'pay 0."))
  })

  test('state outside of the handler that decides what it calls', async () => {
    let runs = 0
    const { end, status } = await endOf(
      async (ctx) => {
        runs += 1
        await ctx.step('a', () => 1)
        if (runs === 1) await ctx.step('first run', () => 1)
        else await ctx.step('later run', () => 1)
      },
      { retry: { attempts: 3 } },
    )
    expect(end).toMatchObject(failure("call 1 is 'later run' where the history has 'first run'"))
    expect(status).toMatchObject({ state: 'failed', attempt: 1 })
  })

  test('an input of a step that the time made', async () => {
    let now = 0
    const { end } = await endOf((ctx) => ctx.step('a', { input: (now += 1) }, () => 1))
    expect(end).toMatchObject(failure("step 'a' was recorded with another input"))
  })

  test('a step that does not come again', async () => {
    const seen = new Set<string>()
    const { end } = await endOf(async (ctx) => {
      await ctx.step('a', () => 1)
      if (!seen.has('b')) await ctx.step('b', () => seen.add('b').size)
    })
    expect(end).toMatchObject(failure("'b' was recorded as call 1 and is missing: "))
  })

  test('a handler that throws the second time', async () => {
    const { end } = await endOf(async (ctx) => {
      const values: unknown[] = []
      await ctx.step('a', () => values.push(1))
      return (values[0] as number).toFixed()
    })
    expect(end).toMatchObject(failure('it threw TypeError: '))
  })

  test('a waiting task learns it at once, and fails when it goes on', async () => {
    let runs = 0
    const task = defineTask({ type: 'it', input }, async (ctx) => {
      await ctx.step(`run ${(runs += 1)}`, () => 1)
      return ctx.waitForSignal('go')
    })
    const { runtime, log, elapse } = await virtualRuntime({ tasks: [task], strict: true })
    const receipt = await runtime.submit(task, null)
    await elapse(0)
    await expect
      .poll(() => log.map(({ level, message }) => `${level} ${message}`))
      .toContain('error strict mode: the task waits, and fails when it goes on')
    await runtime.signal(receipt, 'go')
    await expect(runtime.result(receipt)).rejects.toMatchObject(failure("call 0 is 'run 2'"))
  })
})

describe('strict mode fails a handler for time and chance outside of steps', () => {
  test('a result that holds the time: it says where', async () => {
    let now = 0
    const { end, status } = await endOf(async (ctx) => {
      const order = await ctx.step('a', () => 5)
      return { order, lines: [{ finishedAt: (now += 1) }] }
    })
    expect(end).toMatchObject(
      failure(
        "('it') returns another result when it is replayed: its result differs at 'lines.0.finishedAt'. ",
      ),
    )
    expect(status).toMatchObject({ state: 'failed', attempt: 1 })
  })

  test('a result that is the time, however soon the replay comes', async () => {
    const { end } = await endOf(async (ctx) => (await ctx.step('a', () => 5)) + Date.now())
    expect(end).toMatchObject(failure("('it') returns another result when it is replayed. "))
  })

  test('a result that has a field in one pass only, in a sealed store too', async () => {
    let runs = 0
    const task = defineTask({ type: 'it', input }, async (ctx) => {
      await ctx.step('a', () => 1)
      return (runs += 1) === 1 ? { first: true, a: 1 } : { a: 1 }
    })
    // It need not keep a secret here, only hide what differs.
    const turn = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 255)
    const payloadCodec = { encrypt: turn, decrypt: turn }
    await using it = await createTestRuntime({ tasks: [task], strict: true, payloadCodec })
    await expect(it.result(await it.runtime.submit(task, null))).rejects.toMatchObject(
      failure("its result differs at 'first'"),
    )
  })

  test('a list in the order in which steps side by side ended', async () => {
    const firstEnded = Promise.withResolvers<void>()
    const { end } = await endOf(async (ctx) => {
      const ended: string[] = []
      const a = ctx.step('a', () => firstEnded.promise).then(() => ended.push('a'))
      const b = ctx.step('b', () => 1).then(() => ended.push('b'))
      await b
      firstEnded.resolve()
      await a
      return ended
    })
    expect(end).toMatchObject(failure("its result differs at '0'"))
  })

  const outside = 'makes a request outside of a step: '
  test.each([
    ['fetch', (url: string) => fetch(`${url}/a?key=secret`).then((it) => it.text())],
    [
      'node:http',
      (url: string) => new Promise((done) => get(`${url}/a?key=secret`, (it) => it.resume().on('end', done))),
    ],
  ])('a request with %s', async (_, request) => {
    await using server = await listening(createServer((_request, answer) => answer.end('a')))
    const { end } = await endOf(async (ctx) => {
      await ctx.step('a', () => request(server.url))
      await request(server.url)
    })
    expect(end).toMatchObject(failure(`('it') ${outside}GET ${server.url}/a. `))
  })

  test('a request with node:http2', async () => {
    await using server = await listening(createHttp2Server((_request, answer) => answer.end('a')))
    const request = async () => {
      const session = connect(server.url)
      const stream = session.request({ ':path': '/a' }).resume()
      await once(stream, 'end')
      session.close()
    }
    const { end } = await endOf(async (ctx) => {
      await ctx.step('a', request)
      await request()
    })
    expect(end).toMatchObject(failure(`('it') ${outside}GET ${server.url}/a. `))
  })

  test('a request before a wait', async () => {
    await using server = await listening(createServer((_request, answer) => answer.end('a')))
    const { end } = await endOf(async (ctx) => {
      await fetch(server.url)
      await ctx.sleep('long', 60_000)
    })
    expect(end).toMatchObject(failure(`('it') ${outside}GET ${server.url}/. `))
  })
})

describe('strict mode leaves alone', () => {
  test('requests in steps, at the abort of the signal, of other code at the same time, and of a handler that records nothing', async () => {
    await using server = await listening(createServer((_request, answer) => answer.end('a')))
    const request = () => fetch(server.url).then((it) => it.text())
    const { end } = await endOf(async (ctx) => {
      ctx.signal.addEventListener('abort', () => void request())
      const both = ['a', 'b'].map((key) => ctx.step(key, request))
      return (await Promise.all(both)).join('')
    })
    expect(end).toBe('aa')
    expect((await endOf(request)).end).toBe('a')
    const elsewhere = await Promise.all([
      request(),
      endOf(async (ctx) => {
        await ctx.sleep('short', 1)
        return ctx.step('a', () => 1)
      }),
    ])
    expect(elsewhere).toMatchObject(['a', { end: 1 }])
  })

  test('a result that is the same with its fields in another order, or that a snapshot gave', async () => {
    let runs = 0
    const { end } = await endOf(async (ctx) => {
      const a = await ctx.step('a', () => 1)
      return (runs += 1) === 1 ? { a, b: 2 } : { b: 2, a }
    })
    expect([end, runs]).toEqual([{ a: 1, b: 2 }, 2])
    const { end: restored } = await endOf(async (ctx) => {
      const done = (ctx.restored as number | undefined) ?? 0
      if (done === 0) await ctx.checkpoint(1)
      await ctx.sleep('long', 60_000)
      return done
    })
    expect(restored).toBe(1)
  })

  test('a handler that does the same again, whatever it is made of: nothing of it runs twice but the handler', async () => {
    const ran: string[] = []
    const child = defineTask({ type: 'child', input }, (ctx) => ctx.step('c', () => ran.push('c')))
    const task = defineTask({ type: 'it', input }, async (ctx) => {
      ran.push('handler')
      await Promise.all([ctx.step('a', () => ran.push('a')), ctx.step('b', () => ran.push('b'))])
      await ctx
        .step('fails', () => {
          ran.push('fails')
          throw new Error('no')
        })
        .catch(() => 'caught')
      await ctx.emit('chunk')
      await ctx.race('race', {
        nap: (branch) => branch.sleep('nap', 5),
        never: (branch) => branch.waitForSignal('x'),
      })
      await ctx.sleep('long', 60_000)
      await ctx.call('child', child, null)
      await ctx.step('last', { retry: { attempts: 2 } }, () => {
        ran.push('last')
        if (ran.filter((it) => it === 'last').length === 1) throw new Error('once')
      })
      return 'done'
    })
    await using it = await createTestRuntime({ tasks: [task, child], strict: true })
    const receipt = await it.runtime.submit(task, null)
    expect(await it.result(receipt)).toBe('done')
    const steps = ran.filter((what) => what !== 'handler')
    expect(steps.toSorted()).toEqual(['a', 'b', 'c', 'fails', 'last', 'last'])
    const output: unknown[] = []
    for await (const item of it.runtime.output(receipt)) output.push(item)
    expect(output).toHaveLength(1)
  })

  test('14.3 a handler before which a person is asked: it does not run before the answer', async () => {
    const tries: string[] = []
    const recovery = { timeout: 'human_escalation' } as const
    const task = defineTask({ type: 'it', input, recovery }, async (ctx) => {
      tries.push(ctx.failure?.strategy ?? 'first')
      await ctx.step('read', () => 1)
      if (ctx.failure === undefined) throw Object.assign(new Error('slow'), { code: 'timeout' })
      return 'done'
    })
    await using it = await createTestRuntime({ tasks: [task], strict: true })
    const receipt = await it.runtime.submit(task, null)
    await it.until(receipt, 'waiting')
    const [question] = (await it.runtime.approvals.list()).approvals
    await it.runtime.approvals.approve(question?.approvalId ?? '')
    expect(await it.result(receipt)).toBe('done')
    // The second try, and its replay.
    expect(tries).toEqual(['first', 'human_escalation', 'human_escalation'])
  })

  test('a parent whose child ends before the replay begins, whatever the parent then throws', async () => {
    const child = defineTask({ type: 'child', input: z.boolean() }, (_, hasFailed) => {
      if (hasFailed) throw new Error('the child broke')
    })
    const parent = defineTask({ type: 'it', input: z.boolean() }, async (ctx, hasFailed) => {
      await ctx.call('child', child, hasFailed)
      throw new Error('the parent broke')
    })
    for (const [hasFailed, message] of [
      [true, 'the child broke'],
      [false, 'the parent broke'],
    ] as const) {
      const { runtime, log, elapse } = await virtualRuntime({ tasks: [parent, child], strict: true })
      const receipt = await runtime.submit(parent, hasFailed)
      await elapse(0)
      await expect(runtime.result(receipt)).rejects.toThrow(message)
      expect(log.filter(({ message: text }) => text.startsWith('strict mode: '))).toEqual([])
    }
  })

  test('events after the wait of the pass, which are not replayed', () => {
    const event = (seq: number, type: StoredEvent['type'], data: object) => ({
      seq,
      type,
      at: 0,
      data: JSON.stringify(data),
    })
    const events = [
      event(1, 'task.queued', {}),
      event(2, 'task.waiting', { leaseId: 'first' }),
      event(3, 'task.resumed', {}),
      event(4, 'task.waiting', { leaseId: 'second' }),
      event(5, 'task.resumed', {}),
    ]
    const seqs = (leaseId: string) => untilItWaited(events, leaseId).map(({ seq }) => seq)
    expect(seqs('first')).toEqual([1, 2])
    expect(seqs('second')).toEqual([1, 2, 3, 4])
    expect(seqs('of none')).toHaveLength(5)
  })

  test('a handler that returns while its wait is open: the wait does not hold its end back', async () => {
    const { end, status } = await endOf(async (ctx) => {
      await Promise.race([ctx.sleep('soon', 10), ctx.waitForSignal('never')])
      return ctx.step('after', () => 'done')
    })
    expect(end).toBe('done')
    expect(status).toMatchObject({ state: 'completed' })
  })

  test('a handler that calls nothing', async () => {
    let runs = 0
    expect((await endOf(() => (runs += 1))).end).toBe(1)
    expect(runs).toBe(1)
  })

  test('is said once by the log, and is off where nobody asks for it', async () => {
    const task = defineTask({ type: 'it', input }, (ctx) => ctx.step('a', () => 1))
    const said = async (strict?: boolean) => {
      const { runtime, log } = await virtualRuntime({ tasks: [task], strict })
      for (let n = 0; n < 2; n += 1) await runtime.result(await runtime.submit(task, null))
      return log.map(({ level, message }) => `${level} ${message}`)
    }
    expect(await said(true)).toEqual([
      expect.stringContaining('info strict mode checks that handlers replay'),
    ])
    expect(await said()).toEqual([])
  })
})

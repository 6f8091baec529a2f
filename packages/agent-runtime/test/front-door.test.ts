import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type Runtime } from '../src/index.ts'
import { all, virtualRuntime } from './virtual-runtime.ts'

const quick = defineTask({ type: 'quick', input: z.number() }, async (ctx, n) => {
  await ctx.emit(n)
  return n
})

/** What a call throws, at once or later. */
async function thrownBy(call: () => unknown): Promise<{ code?: string; message?: string; name?: string }> {
  try {
    const answer = call()
    if (answer instanceof Object && Symbol.asyncIterator in answer)
      await all(answer as AsyncIterable<unknown>)
    else await answer
  } catch (error) {
    return error as Error
  }
  return { message: 'nothing was thrown' }
}

/** A runtime without its types, as a program in JavaScript has it. */
type Untyped = Record<Exclude<keyof Runtime, symbol>, (...given: unknown[]) => unknown>
async function untyped(): Promise<Untyped> {
  const { runtime } = await virtualRuntime({ tasks: [quick], workers: 0 })
  return runtime as unknown as Untyped
}

describe('execution: calls about a task', () => {
  test('take its receipt or its id', async () => {
    const { runtime } = await virtualRuntime({ tasks: [quick] })
    const receipt = await runtime.submit(quick, 1)
    const { taskId } = receipt
    expect(await runtime.result(receipt)).toBe(1)
    const answers = async (task: typeof receipt | string) => [
      await runtime.result(task),
      await runtime.status(task),
      await runtime.explain(task),
      await runtime.leases(task),
      await all(runtime.events(task)),
      await all(runtime.output(task)),
      await runtime.cancel(task),
      await runtime.signal(task, 'go').catch(({ message }: Error) => message),
    ]
    const byReceipt = await answers(receipt)
    expect(JSON.stringify(byReceipt)).toBe(JSON.stringify(await answers(taskId)))
    expect(byReceipt[3]).toHaveLength(1)
    const waiting = await runtime.submit(quick, 2, { delayMs: 1_000 })
    expect(await runtime.cancel(waiting)).toBe(true)
  })

  const methods = ['status', 'result', 'cancel', 'signal', 'events', 'output', 'explain', 'leases'] as const
  test.each(methods.map((method) => [method]))(
    '%s refuses everything else, and the store lives on',
    async (method) => {
      const runtime = await untyped()
      const wrong = [
        undefined,
        null,
        5,
        '',
        'x'.repeat(256),
        'a\ud800',
        {},
        [],
        Symbol('a'),
        () => {},
        { taskId: 'x' },
        { taskId: 5, accepted: true },
        { taskId: 'x', accepted: false },
      ]
      for (const task of wrong) {
        const error = await thrownBy(() => runtime[method](task, 'go'))
        expect(error).toMatchObject({ code: 'invalid_argument', name: 'RuntimeError' })
        expect(error.message).toContain(`${method}: a receipt, or a task id of 1 to 255 characters; given `)
      }
      expect(await thrownBy(() => runtime[method](Promise.resolve('x'), 'go'))).toHaveProperty(
        'message',
        expect.stringContaining('given a promise: await it first'),
      )
      expect(await runtime.stats()).toMatchObject({ running: 0 })
    },
  )
})

describe('execution: calls with something outside what they document', () => {
  test.each<[keyof Untyped, unknown[], string]>([
    [
      'list',
      [null],
      'list options: an object with states, types, lanes, parent, client, labels, values, limit, cursor; given null',
    ],
    ['list', ['queued'], 'list options: '],
    [
      'list',
      [{ state: 'queued' }],
      'list option state: no such option, did you mean states?; given "queued"',
    ],
    ['list', [{ lane: 'batch' }], 'list option lane: no such option, did you mean lanes?'],
    ['list', [{ lanes: 'x' }], 'list option lanes: a list of interactive, normal, batch; given "x"'],
    ['list', [{ lanes: ['x'] }], 'list option lanes: '],
    ['list', [{ states: ['foo'] }], 'list option states: a list of queued, running,'],
    ['list', [{ types: [5] }], 'list option types: a list of names'],
    ['list', [{ limit: 0 }], 'list option limit: a whole number from 1 to 1000; given 0'],
    ['list', [{ limit: 1_001 }], 'list option limit: '],
    ['list', [{ limit: 'x' }], 'list option limit: '],
    ['list', [{ cursor: 'x' }], 'list option cursor: a whole number from 0 '],
    ['list', [{ cursor: -1 }], 'list option cursor: '],
    ['events', ['id', { after: Number.NaN }], 'events option after: a whole number from 0 '],
    ['events', ['id', { after: -1 }], 'events option after: '],
    ['events', ['id', { after: 'x' }], 'events option after: '],
    ['events', ['id', { signal: 5 }], 'events option signal: an AbortSignal; given 5'],
    ['events', ['id', null], 'events options: '],
    ['output', ['id', { after: 1.5 }], 'output option after: '],
    ['output', ['id', { from: 1 }], 'output option from: no such option'],
    [
      'result',
      ['id', { timeout: 50 }],
      'result option timeout: no such option, did you mean timeoutMs?; given 50',
    ],
    [
      'result',
      ['id', { timeoutMs: -1 }],
      'result option timeoutMs: a finite number of ms, 0 or more; given -1',
    ],
    ['result', ['id', new AbortController().signal], 'result options: an object with signal, timeoutMs'],
    ['cancel', ['id', 'because'], 'cancel options: an object with reason; given "because"'],
    ['cancel', ['id', { reason: 5 }], 'cancel option reason: a string; given 5'],
    ['signal', ['id', ''], "a signal's name has 1 to 255 characters, no lone surrogates"],
    ['signal', ['id', 'a\ud800'], "a signal's name has "],
    ['stop', [5], 'stop options: an object with drain, graceMs; given 5'],
    ['stop', [null], 'stop options: '],
    ['stop', [{ drian: true }], 'stop option drian: no such option, did you mean drain?'],
    ['stop', [{ drain: 'x' }], 'stop option drain: true or false; given "x"'],
    ['stop', [{ graceMs: -1 }], 'stop option graceMs: a finite number of ms, 0 or more'],
    ['submit', [], 'submit: what defineTask or defineContract returns, or a task type'],
    ['submit', [quick, 1, 5], 'submit options: an object with lane,'],
    ['submit', [quick, 1, null], 'submit options: an object with lane,'],
    ['submitMany', [], 'submitMany: a list of { task, input, options }; given undefined'],
    ['submitMany', [{}], 'submitMany: a list of { task, input, options }; given {}'],
    ['submitMany', [[null]], 'item 0: an object with task, input, options; given null'],
    [
      'submitMany',
      [Array.from({ length: 1 })],
      'item 0: an object with task, input, options; given undefined',
    ],
    [
      'on',
      ['nope', () => {}],
      "on: the name of an event, a pattern such as 'task.*', or '*'; given \"nope\"",
    ],
    ['on', ['task.complete', () => {}], 'did you mean task.completed?'],
    ['on', ['tusk.*', () => {}], 'on: the name of an event'],
    ['on', [5, () => {}], 'on: the name of an event'],
    ['on', ['*'], 'on: a listener, a function; given undefined'],
    ['on', ['task.*', 5], 'on: a listener, a function; given 5'],
  ])('%s %j', async (method, given, message) => {
    const runtime = await untyped()
    const error = await thrownBy(() => runtime[method](...given))
    expect(error).toMatchObject({ code: 'invalid_argument', name: 'RuntimeError' })
    expect(error.message).toContain(message)
    expect(await runtime.submit(quick, 1)).toMatchObject({ accepted: true })
  })

  test('everything that is wrong with one call is in one error', async () => {
    const runtime = await untyped()
    const { message } = await thrownBy(() => runtime.list({ state: 1, limit: 0 }))
    expect(message).toMatch(/^list option state: .*\nlist option limit: /)
  })
})

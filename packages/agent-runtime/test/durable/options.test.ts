import { defaultBackoff } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type TaskContext } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'

const double = defineTask({ type: 'double', input: z.number() }, (_, n) => n * 2)

/** What a handler's call was refused with, if it was. */
async function refusal(call: (ctx: TaskContext) => Promise<unknown>): Promise<unknown> {
  const caller = defineTask({ type: 'caller', input: z.null() }, async (ctx) => {
    try {
      return await call(ctx)
    } catch (error) {
      const { code, message } = error as { readonly code?: string; readonly message: string }
      return `${code}: ${message}`
    }
  })
  await using it = await createTestRuntime({ tasks: [caller, double] })
  return await it.run(caller, null)
}

type Refused = readonly [call: (ctx: TaskContext, options: never) => Promise<unknown>, ...Case[]]
type Case = readonly [options: unknown, message: string]

const calls: Readonly<Record<string, Refused>> = {
  step: [
    (ctx, options) => ctx.step('a', options, () => 1),
    [{ timeout: 5 }, "step 'a' option timeout: no such option, did you mean timeoutMs?; given 5"],
    [
      { repeated: 3 },
      "step 'a' option repeated: no such option; there are input, timeoutMs, retry, inDoubt, verify, rateLimited, toStorable; given 3",
    ],
    [{ timeoutMs: -1 }, "step 'a' option timeoutMs: a number of ms above 0; given -1"],
    [{ retry: 5 }, "step 'a' option retry: an object with attempts, backoff; given 5"],
    [{ retry: {} }, "step 'a' option retry.attempts: a whole number, 1 or more; not given"],
    [
      { retry: { attempts: 2, atempts: 3 } },
      "step 'a' option retry.atempts: no such option, did you mean attempts?; given 3",
    ],
    [
      { retry: { attempts: 2, backoff: { initialMS: 3 } } },
      "step 'a' option retry.backoff.initialMS: no such option, did you mean initialMs?; given 3",
    ],
    [
      { retry: { attempts: 2, backoff: { maxMs: 1e16 } } },
      "step 'a' option retry.backoff.maxMs: a number of ms from 0 to 1e15",
    ],
    [
      { timeoutMs: 0, retry: { attempts: 0 } },
      "step 'a' option timeoutMs: a number of ms above 0; given 0\nstep 'a' option retry.attempts: a whole number, 1 or more; given 0",
    ],
    [
      3,
      "step 'a' options: an object with input, timeoutMs, retry, inDoubt, verify, rateLimited, toStorable; given 3",
    ],
  ],
  waitForSignal: [
    (ctx, options) => ctx.waitForSignal('a', options),
    [{ timeout: 50 }, "waitForSignal 'a' option timeout: no such option, did you mean timeoutMs?; given 50"],
    [{ name: 'go' }, "waitForSignal 'a' option name: no such option; there are signal, timeoutMs; given"],
    [{ timeoutMs: '5s' }, "waitForSignal 'a' option timeoutMs: a number of ms from 0 to 1e15; given"],
    [null, "waitForSignal 'a' options: an object with signal, timeoutMs; given null"],
  ],
  race: [
    (ctx, options) => ctx.race('a', { b: () => 1 }, options),
    [{ timeout: 50 }, "race 'a' option timeout: no such option, did you mean timeoutMs?; given 50"],
    [{ timeoutMs: -1 }, "race 'a' option timeoutMs: a number of ms from 0 to 1e15; given -1"],
    [5, "race 'a' options: an object with timeoutMs; given 5"],
  ],
  all: [
    (ctx, options) => ctx.all('a', { b: () => 1 }, options),
    [{ timeoutMS: 50 }, "all 'a' option timeoutMS: no such option, did you mean timeoutMs?; given 50"],
    [null, "all 'a' options: an object with timeoutMs; given null"],
  ],
  'a result of a child': [
    async (ctx, options) => (await ctx.spawn('a', double, 1)).result(options),
    [{ timeout: 5 }, "result of child 'a' option timeout: no such option, did you mean timeoutMs?; given 5"],
    [{ timeoutMs: -1 }, "result of child 'a' option timeoutMs: a number of ms from 0 to 1e15; given -1"],
    [5, "result of child 'a' options: an object with timeoutMs; given 5"],
  ],
  spawn: [
    (ctx, options) => ctx.spawn('a', double, 1, options),
    [{ onParentEnds: 'abandon' }, "spawn 'a' option onParentEnds: no such option, did you mean onParentEnd?"],
    [{ onParentEnd: 'keep' }, "spawn 'a' option onParentEnd: cancel | abandon; given"],
    [{ furthermore: 5 }, 'tokens, cost, budget, onParentEnd, whenFull; given 5'],
    [{ whenFull: 'drop' }, "spawn 'a' option whenFull: wait | throw; given"],
    [
      { client: 'me' },
      "spawn 'a' option client: not for a child, which has its parent's client and agreement and is identified by its key",
    ],
  ],
  call: [
    (ctx, options) => ctx.call('a', double, 1, options),
    [{ timeout: 5 }, "call 'a' option timeout: no such option, did you mean timeoutMs?"],
    [
      { idempotencyKey: 'k' },
      "call 'a' option idempotencyKey: not for a child, which has its parent's client",
    ],
  ],
  requestApproval: [
    (ctx, options) => ctx.requestApproval('a', 1, options),
    [
      { onTimeout: 'approve' },
      "requestApproval 'a' option onTimeout: only together with timeoutMs; without timeoutMs the wait never times out; given",
    ],
  ],
  exec: [
    (ctx, options) => ctx.exec('true', [], options),
    [{ timeout: 5 }, "exec 'true' option timeout: no such option, did you mean timeoutMs?; given 5"],
    [{ shell: true }, "exec 'true' option shell: no such option; there are cwd, env, input, timeoutMs"],
    [{ timeoutMs: -1 }, "exec 'true' option timeoutMs: a finite number of ms, 0 or more; given -1"],
    [{ stdio: 'all' }, "exec 'true' option stdio: pipe | inherit | ignore; given"],
    [{ input: 5 }, "exec 'true' option input: a string or bytes; given 5"],
    [{ signal: 5 }, "exec 'true' option signal: an AbortSignal; given 5"],
    [{ cwd: 5 }, "exec 'true' option cwd: a path; given 5"],
    [{ env: 5 }, "exec 'true' option env: an object of strings; given 5"],
    [5, "exec 'true' options: an object with cwd, env"],
  ],
  'the arguments of exec': [
    (ctx, args) => ctx.exec('true', args),
    [
      { cwd: '/' },
      "exec 'true': the arguments must be a list of strings, and options come after them; given {",
    ],
    ['-l', "exec 'true': the arguments must be a list of strings, and options come after them; given"],
    [[5], "exec 'true': the arguments must be a list of strings, and options come after them; given"],
  ],
  'the command of exec': [
    (ctx, command) => ctx.exec(command),
    ['', 'exec: the command must be a string of 1 or more characters; given ""'],
    [7, 'exec: the command must be a string of 1 or more characters; given 7'],
  ],
  heartbeat: [
    (ctx, options) => ctx.heartbeat(options),
    [
      'x',
      'heartbeat options: an object with progress, computeUs, memoryBytes, errorRate, saturation; given "x"',
    ],
    [{ progres: 1 }, 'heartbeat option progres: no such option, did you mean progress?; given 1'],
    [
      null,
      'heartbeat options: an object with progress, computeUs, memoryBytes, errorRate, saturation; given null',
    ],
  ],
}

const table = Object.entries(calls).flatMap(([name, [call, ...cases]]) =>
  cases.map(([options, message]) => ({ name, options, message, call })),
)

describe("the options of a handler's calls", () => {
  test.each(table)('$name refuses $options', async ({ call, options, message }) => {
    const told = await refusal((ctx) => call(ctx, options as never))
    expect(told).toMatch(/^invalid_argument: /)
    expect(told).toContain(message)
  })

  test('an option that is undefined is one that was not given', async () => {
    const none = { input: undefined, timeoutMs: undefined, inDoubt: undefined, verify: undefined }
    const retry = { attempts: 1, backoff: { initialMs: undefined } }
    expect(await refusal((ctx) => ctx.step('a', { ...none, retry }, () => 'ran'))).toBe('ran')
    const task = defineTask({ type: 'a', input: z.null(), retry }, () => 1)
    expect(task.retry?.backoff).toEqual(defaultBackoff)
  })
})

test('arguments of exec that throw when they are only looked at are refused as any others', async () => {
  const { proxy, revoke } = Proxy.revocable([], {})
  revoke()
  expect(await refusal((ctx) => ctx.exec('true', proxy))).toMatch(
    /^invalid_argument: exec 'true': the arguments/,
  )
})

test.each([
  ['idempotencyKey', 5, 'a step key must be a string of 1 to 255 characters, not 5'],
  [
    'idempotencyKey',
    '$ku0/x',
    "a step key must not begin with '$ku0/', which is reserved for the runtime; given",
  ],
  [
    'patched',
    '$ku0/x',
    "the id of a patch must not begin with '$ku0/', which is reserved for the runtime; given",
  ],
  ['now', 5, 'a step key must be a string of 1 to 255 characters, not 5'],
  ['random', undefined, 'a step key must be a string of 1 to 255 characters, not undefined'],
  ['uuid', '', 'a step key must be a string of 1 to 255 characters, not ""'],
] as const)('%s(%j) is refused', async (method, given, message) => {
  expect(await refusal(async (ctx) => await ctx[method](given as never))).toContain(
    `invalid_argument: ${message}`,
  )
})

test.each(['race', 'all'] as const)('%s takes branches by name, and no list of them', async (kind) => {
  const branches = [() => 1, () => 2]
  expect(await refusal((ctx) => ctx[kind]('a', branches as never))).toContain(
    `invalid_argument: ${kind} 'a' needs an object with at least one branch by name, not `,
  )
})

test('a task type with a reserved name is refused where it is defined', () => {
  expect(() => defineTask({ type: '$ku0/x', input: z.null() }, () => 1)).toThrow(
    "task: type: a type that does not begin with '$ku0/', which is reserved for the runtime",
  )
})

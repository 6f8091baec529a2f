import {
  createRuntime,
  defineAgreement,
  definePipeline,
  defineSupervisor,
  defineTask,
  type Runtime,
  type RuntimeOptions,
} from '@ku0/agent-runtime'
import { afterAll } from 'vitest'
import { z } from 'zod'
import {
  createServer,
  hashToken,
  type Scope,
  type Server,
  type ServerOptions,
  type TokenOptions,
} from '../src/index.ts'

const waits = defineTask({ type: 'wait', input: z.unknown() }, async (ctx) => ctx.waitForSignal('go'))

const find = defineTask({ type: 'find', input: z.number() }, async (ctx, count) => {
  for (let page = 1; page <= count; page += 1) await ctx.publish('foundAt', { page, secret: 'abc' })
})
const look = defineTask({ type: 'look', input: z.undefined() }, async (ctx) => {
  await ctx.waitForSignal('go')
  while ((await ctx.receive(['foundAt'])).length > 0) await ctx.publish('looked', 1)
})

/** Tasks of every kind that the routes need: one that ends, one that fails, one that waits, one that emits, one that asks a human. */
const tasks = [
  defineTask({ type: 'add', input: z.object({ a: z.number(), b: z.number() }) }, (ctx, { a, b }) =>
    ctx.step('sum', () => a + b),
  ),
  defineTask({ type: 'fail', input: z.unknown() }, (ctx) =>
    ctx.step('break', () => {
      throw new Error('broken')
    }),
  ),
  waits,
  defineTask({ type: 'speak', input: z.number() }, async (ctx, count) => {
    for (let word = 1; word <= count; word += 1) await ctx.emit({ word, at: new Date(0) })
  }),
  defineTask({ type: 'shout', input: z.number() }, async (ctx, count) => {
    for (let word = 1; word <= count; word += 1) await ctx.emit('x'.repeat(20_000))
  }),
  defineTask({ type: 'ask', input: z.unknown() }, async (ctx) => {
    await ctx.requestApproval('plan', { plan: 'go there', secret: 'abc' })
    return 'went'
  }),
  defineSupervisor({
    type: 'watch-over',
    input: z.unknown(),
    endsWith: 'cancel',
    children: { first: { task: waits, input: () => null } },
  }),
  find,
  look,
  definePipeline({
    name: 'search',
    input: z.number(),
    maxUnread: 2,
    stages: [
      { name: 'find', task: find, input: (count) => count, publishes: { foundAt: z.unknown() } },
      { name: 'look', task: look, subscribes: ['foundAt'], publishes: { looked: z.number() } },
    ],
  }),
  defineTask({ type: 'spend', input: z.unknown() }, async (ctx) => {
    for (const key of ['a', 'b', 'c']) await ctx.step(key, () => key)
  }),
  defineTask(
    { type: 'insist', input: z.unknown(), retry: { attempts: 3, backoff: { initialMs: 1 } } },
    (ctx) => {
      if (ctx.attempt < 3) throw new Error('not yet')
    },
  ),
]

/** A runtime in memory, for all tests of a file. */
export async function servedRuntime(more: Partial<RuntimeOptions> = {}): Promise<Runtime> {
  const runtime = await createRuntime({
    store: 'sqlite::memory:',
    tasks,
    agreements: [
      defineAgreement({ name: 'gold', client: 'acme', tier: 'contracted' }),
      defineAgreement({ name: 'theirs', client: 'other' }),
    ],
    logger: false,
    thread: false,
    ...more,
  })
  afterAll(() => runtime.close())
  return runtime
}

/** A token of a test, and the options that accept it. */
export function token(
  text: string,
  scopes: readonly Scope[],
  more: Partial<TokenOptions> = {},
): TokenOptions {
  return { name: text, hash: hashToken(text), scopes, ...more }
}

/** Calls a server as a program on this machine does. */
export function callerOf(server: Server, headers: Record<string, string> = {}): Call {
  return async (method: string, path: string, body?: unknown, more: Record<string, string> = {}) => {
    const answer = await server.fetch(
      new Request(`http://localhost:7000${path}`, {
        method,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
          ...more,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    )
    const text = await answer.text()
    const isJson = /^application\/(problem\+)?json/.test(answer.headers.get('content-type') ?? '')
    const json: unknown = isJson ? JSON.parse(text) : undefined
    return { status: answer.status, headers: answer.headers, text, json }
  }
}

export type Call = (
  method: string,
  path: string,
  body?: unknown,
  more?: Record<string, string>,
) => Promise<Called>

interface Called {
  readonly status: number
  readonly headers: Response['headers']
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- What a route answers is what its test looks at.
  readonly json: any
}

/** A server that ends with the file's tests, and says what went wrong inside. */
export function serverOn(
  runtime: Runtime,
  options: ServerOptions = {},
): Server & { readonly errors: unknown[] } {
  const errors: unknown[] = []
  const server = createServer(runtime, { onError: (error) => errors.push(error), ...options })
  afterAll(() => server.close())
  return { ...server, errors }
}

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRuntime, defineTask, type TaskContext } from '../../packages/agent-runtime/src/index.ts'
import { z } from '../../packages/agent-runtime/node_modules/zod/index.js'
import type { TriedMistake } from './mistake.ts'

/** The context as a program in JavaScript uses it. */
type LooseContext = Record<string, (...given: unknown[]) => Promise<unknown>>
type Body = (
  ctx: LooseContext,
  tools: { readonly runtime: () => { result(id: string): Promise<unknown> } },
) => unknown

/** What the task says at its end, or what the log says if it ends well. */
async function ran(body: Body): Promise<string> {
  const warned: string[] = []
  const silent = () => {}
  const heard = (fields: object, message: string) =>
    void warned.push(`log: ${message} ${JSON.stringify(fields)}`)
  const handler = (ctx: TaskContext) => body(ctx as unknown as LooseContext, { runtime: () => runtime })
  const task = defineTask({ type: 'work', input: z.null() }, handler as () => unknown)
  await using runtime = await createRuntime({
    store: 'sqlite::memory:',
    tasks: [task],
    strict: true,
    logger: { debug: silent, info: silent, warn: heard, error: heard },
  })
  const receipt = await runtime.submit('work', null)
  try {
    await runtime.result(receipt, { timeoutMs: 5_000 })
  } catch (error) {
    return (error as Error).message
  }
  return warned.at(-1) ?? 'nothing'
}

const inHandler = (what: string, code: string, body: Body): TriedMistake => ({
  what,
  code,
  tried: () => ran(body),
})
let count = 0

export const handlerMistakes: readonly TriedMistake[] = [
  inHandler('a step without a key', 'ctx.step(() => 1)', (ctx) => ctx['step']?.(() => 1)),
  inHandler('a key used twice', "ctx.step('a', f); ctx.step('a', g)", async (ctx) => {
    await ctx['step']?.('a', () => 1)
    await ctx['step']?.('a', () => 2)
  }),
  inHandler('a step inside a step', "ctx.step('a', () => ctx.step('b', f))", (ctx) =>
    ctx['step']?.('a', () => ctx['step']?.('b', () => 1)),
  ),
  inHandler('a forgotten await', "ctx.step('a', fails); return 1", (ctx) => {
    void ctx['step']?.('a', () => {
      throw new Error('no money')
    })
    return 1
  }),
  inHandler('a forgotten await of what still runs', "ctx.step('a', slow); return 1", (ctx) => {
    void ctx['step']?.('a', () => new Promise(() => {}))
    return 1
  }),
  inHandler('a step that returns a response', "ctx.step('a', () => fetch(url))", (ctx) =>
    ctx['step']?.('a', () => new Response('a')),
  ),
  inHandler('a step that returns a function', "ctx.step('a', () => ({ run: () => 1 }))", (ctx) =>
    ctx['step']?.('a', () => ({ run: () => 1 })),
  ),
  inHandler('a result that is too large', "ctx.step('a', () => 'x'.repeat(20_000_000))", (ctx) =>
    ctx['step']?.('a', () => 'x'.repeat(20_000_000)),
  ),
  inHandler('runtime.result in a handler', 'runtime.result(ctx.taskId)', (ctx, { runtime }) =>
    runtime().result(String(ctx['taskId'])),
  ),
  inHandler('a child of an unknown type', "ctx.call('a', 'nothing', 1)", (ctx) =>
    ctx['call']?.('a', 'nothing', 1),
  ),
  inHandler('a choice by chance outside of a step', 'ctx.step(`roll ${Math.random()}`, f)', async (ctx) => {
    await ctx['step']?.(`roll ${Math.random()}`, () => 1)
  }),
  inHandler(
    'a choice by the time outside of a step',
    'ctx.step(`at ${performance.now()}`, f)',
    async (ctx) => {
      await ctx['step']?.(`at ${performance.now()}`, () => 1)
    },
  ),
  inHandler('a variable outside of the handler', 'ctx.step(`run ${(count += 1)}`, f)', async (ctx) => {
    count += 1
    await ctx['step']?.(`run ${count}`, () => 1)
  }),
  inHandler('the time in a result, outside of a step', 'return Date.now()', async (ctx) => {
    await ctx['step']?.('a', () => 1)
    return Date.now()
  }),
  inHandler('a request outside of a step', 'await fetch(url)', async (ctx) => {
    await ctx['step']?.('a', () => 1)
    await using server = createServer((_, answer) => answer.end('a')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/rates`)
  }),
  inHandler('branches in a list', "ctx.race('first', [a, b])", (ctx) => ctx['race']?.('first', [() => 1])),
  inHandler('the outer context in a branch', "ctx.all('both', { a: () => ctx.step('a', f) })", (ctx) =>
    ctx['all']?.('both', { a: () => ctx['step']?.('a', () => 1) }),
  ),
]

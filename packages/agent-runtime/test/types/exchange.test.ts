import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  type Approval,
  type Client,
  type ContextOf,
  defineAgent,
  defineContract,
  defineTask,
  type Feedback,
  type OutputItem,
  type TaskContext,
  typedTaskId,
} from '../../src/index.ts'

const input = z.null()
const declared = {
  type: 'review',
  input,
  signals: { reply: z.object({ text: z.string() }), 'note *': z.number(), stop: z.undefined() },
  approvals: { publish: z.object({ title: z.string().transform((title) => title.length) }) },
  emits: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('token'), text: z.string() }),
    z.object({ kind: z.literal('done') }),
  ]),
} as const
const contract = defineContract(declared)

async function anyContext(ctx: TaskContext): Promise<string> {
  return ctx.waitForSignal<string>('anything')
}
async function itsContext(ctx: ContextOf<typeof contract>): Promise<string> {
  return (await ctx.waitForSignal('reply')).text
}

describe('a handler whose task type declares signals, approvals and emits', () => {
  test('gets their types by their names', () => {
    defineTask(contract, async (ctx) => {
      expectTypeOf(ctx.waitForSignal('reply')).resolves.toEqualTypeOf<{ text: string }>()
      expectTypeOf(ctx.waitForSignal(`note ${ctx.attempt}`)).resolves.toEqualTypeOf<number>()
      expectTypeOf(
        ctx.waitForSignal('second reply', { signal: 'reply', timeoutMs: 5 }),
      ).resolves.toEqualTypeOf<{ text: string }>()
      expectTypeOf(ctx.requestApproval('publish', 'it')).resolves.toEqualTypeOf<Approval<{ title: number }>>()
      expectTypeOf(ctx.feedback).toEqualTypeOf<readonly Feedback[]>()
      await ctx.emit({ kind: 'token', text: 'a' })
      const won = await ctx.race('first', {
        reply: (branch) => branch.waitForSignal('reply'),
        publish: (branch) => branch.requestApproval('publish', 'it'),
      })
      if (won.winner === 'reply') expectTypeOf(won.value).toEqualTypeOf<{ text: string }>()
      return null
    })
  })

  test('is refused other names and values by the compiler', () => {
    const task = defineTask(contract, async (ctx) => {
      // @ts-expect-error "replay" is not assignable to "reply" | `note ${string}` | "stop"
      await ctx.waitForSignal('replay')
      // @ts-expect-error "replay" is not assignable to "reply" | `note ${string}` | "stop"
      await ctx.waitForSignal('second reply', { signal: 'replay' })
      // @ts-expect-error "publsh" is not assignable to "publish"
      await ctx.requestApproval('publsh', 'it')
      // @ts-expect-error text is missing
      await ctx.emit({ kind: 'token' })
      // @ts-expect-error "tokn" is not assignable to "token" | "done"
      await ctx.emit({ kind: 'tokn', text: 'a' })
      return null
    })
    expectTypeOf(task.type).toEqualTypeOf<'review'>()
  })

  test('may hand its context to functions that take any, or that of its type', () => {
    defineTask(contract, async (ctx) => (await anyContext(ctx)) + (await itsContext(ctx)))
    defineTask({ type: 'plain', input }, async (ctx) => anyContext(ctx))
    const task = defineTask(contract, async () => null)
    expectTypeOf(task.handler).parameter(0).toEqualTypeOf<TaskContext>()
  })

  test('is typed for agents as for tasks', () => {
    const { type: name, ...rest } = declared
    const output = z.string()
    const agent = defineAgent(
      { ...rest, name, output, capabilities: ['review'], domain: ['text'] },
      async (ctx) => (await ctx.waitForSignal('reply')).text,
    )
    expectTypeOf<ContextOf<typeof agent.task>>().toExtend<TaskContext>()
  })
})

describe('a handler whose task type declares none', () => {
  test('waits for any signal and emits anything that can be stored', () => {
    defineTask({ type: 'plain', input }, async (ctx) => {
      expectTypeOf(ctx.waitForSignal('any')).resolves.toEqualTypeOf<unknown>()
      expectTypeOf(ctx.waitForSignal<string>('any', { timeoutMs: 1 })).resolves.toEqualTypeOf<string>()
      expectTypeOf(ctx.waitForSignal<string>('any', { signal: 'b' })).resolves.toEqualTypeOf<string>()
      expectTypeOf(ctx.requestApproval<string>('any', 1)).resolves.toEqualTypeOf<Approval<string>>()
      await ctx.emit([1, { a: 'b' }])
      // @ts-expect-error it is a function
      await ctx.emit(() => 1)
    })
  })
})

describe('a sender who has the receipt of a task whose type declares signals, approvals and emits', () => {
  test('gets their types by their names', async () => {
    const senderOf = async (client: Client) => {
      const task = await client.submit(contract, null)
      await client.signal(task, 'reply', { text: 'a' })
      await client.signal(task.taskId, 'note 5', 5)
      await client.signal(task, 'stop')
      // @ts-expect-error text is missing
      await client.signal(task, 'reply', {})
      // @ts-expect-error a value is missing
      await client.signal(task, 'reply')
      // @ts-expect-error "replay" is not assignable to "reply" | `note ${string}` | "stop"
      await client.signal(task, 'replay', { text: 'a' })
      for await (const item of client.output(task))
        if (item.type === 'chunk' && item.data.kind === 'token')
          expectTypeOf(item.data.text).toEqualTypeOf<string>()
      for (const approval of (await client.approvals.list({ task })).approvals) {
        expectTypeOf(approval.key).toEqualTypeOf<'publish'>()
        await client.approvals.approve(approval.approvalId, { value: { title: 'It' } })
        // @ts-expect-error title is a text
        await client.approvals.approve(approval.approvalId, { value: { title: 1 } })
      }
      const [first] = await client.submitMany([{ task: contract, input: null }])
      await client.signal(first, 'reply', { text: 'a' })
      await client.signal(await client.retry(task), 'reply', { text: 'a' })
      const id = typedTaskId(contract, 'an id from elsewhere')
      await client.signal(id, 'reply', { text: 'a' })
      // @ts-expect-error text is missing
      await client.signal(id, 'reply', {})
    }
    expectTypeOf(senderOf).toBeFunction()
  })

  test('any names and values go to a type that declares none, and to an id', async () => {
    const senderOf = async (client: Client) => {
      await client.signal('an id', 'any', { a: 1 })
      await client.signal('an id', 'any')
      const task = await client.submit(defineContract({ type: 'plain', input }), null)
      await client.signal(task, 'any', 5)
      expectTypeOf(client.output(task)).toEqualTypeOf<AsyncIterable<OutputItem>>()
      const [approval] = (await client.approvals.list()).approvals
      if (approval !== undefined) await client.approvals.approve(approval.approvalId, { value: 5 })
      await client.approvals.approve('task:3', { value: 5 })
    }
    expectTypeOf(senderOf).toBeFunction()
  })
})

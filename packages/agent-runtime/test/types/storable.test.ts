import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  defineTask,
  type NotStorable,
  type RuntimeEvent,
  type Runtime,
  type Storable,
  type StepOptions,
  type TaskContext,
} from '../../src/index.ts'

type Because<T> = Storable<T> extends NotStorable<infer Why> ? Why : 'storable'

interface Plain {
  readonly name: string
  readonly tags?: readonly string[] | undefined
  readonly inner: { readonly at: Date; readonly more: Plain | null }
}
type Branded = string & { readonly [brand]: true }
declare const brand: unique symbol
class Area {
  readonly width = 1
  size(): number {
    return this.width
  }
}
// oxlint-disable-next-line typescript/no-explicit-any -- What `any` does is what is tested.
type Unchecked = any
type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

describe('Storable', () => {
  test('takes whatever the codec stores', () => {
    expectTypeOf<
      Because<
        | string
        | number
        | bigint
        | boolean
        | null
        | undefined
        | void
        | Date
        | Uint8Array
        | Error
        | TypeError
        | Plain
        | Branded
        | readonly Plain[]
        | [number, Plain]
        | Map<string, Plain>
        | ReadonlySet<Date>
        | Record<string, number>
        | { [key: string]: unknown }
      >
    >().toEqualTypeOf<'storable'>()
    expectTypeOf<Because<Json>>().toEqualTypeOf<'storable'>()
    expectTypeOf<Storable<Unchecked>>().toBeUnknown()
    expectTypeOf<Storable<unknown>>().toBeUnknown()
    expectTypeOf<Storable<never>>().toBeUnknown()
    expectTypeOf<Storable<{ readonly a: Unchecked; readonly b: unknown; readonly c: never }>>().toBeUnknown()
    expectTypeOf<Storable<z.infer<z.ZodObject<{ a: z.ZodString }>>>>().toBeUnknown()
  })

  test('says in words what cannot be stored, and where', () => {
    expectTypeOf<Because<() => number>>().toEqualTypeOf<'it is a function: return data'>()
    expectTypeOf<Because<typeof Area>>().toEqualTypeOf<'it is a function: return data'>()
    expectTypeOf<Because<symbol>>().toEqualTypeOf<'it is a symbol: return data'>()
    expectTypeOf<Because<URL>>().toEqualTypeOf<'it is a URL: return its href'>()
    expectTypeOf<Because<Promise<number>>>().toEqualTypeOf<'it is a promise: await it first'>()
    expectTypeOf<Because<Buffer>>().toEqualTypeOf<'it is a Buffer: return new Uint8Array(it)'>()
    expectTypeOf<Because<RegExp>>().toEqualTypeOf<'it is a regular expression: return its source'>()
    expectTypeOf<
      Because<Response>
    >().toEqualTypeOf<'it is a response, a request or a blob: read it, and return what it holds'>()
    expectTypeOf<
      Because<ReadableStream<string>>
    >().toEqualTypeOf<'it is a stream: read it, and return what it holds'>()
    expectTypeOf<
      Because<URLSearchParams>
    >().toEqualTypeOf<'it is a form or search parameters: return its entries'>()
    expectTypeOf<
      Because<Area>
    >().toEqualTypeOf<'it has methods: return plain data, or give the step a toStorable'>()
    expectTypeOf<
      Because<{ readonly pages: readonly { readonly home?: URL }[] }>
    >().toEqualTypeOf<'it.pages[number].home is a URL: return its href'>()
    expectTypeOf<
      Because<Map<string, () => void>>
    >().toEqualTypeOf<'a value of it is a function: return data'>()
    expectTypeOf<Because<number | URL>>().toEqualTypeOf<'it is a URL: return its href'>()
  })

  test('stands where values are stored', () => {
    const handler = async (ctx: TaskContext) => {
      expectTypeOf(ctx.step('a', () => 1)).toEqualTypeOf<Promise<number>>()
      expectTypeOf(ctx.step('b', async ({ signal }) => ({ at: signal.aborted }))).toEqualTypeOf<
        Promise<{ at: boolean }>
      >()
      // @ts-expect-error it is a URL: return its href
      void ctx.step('url', () => new URL('http://localhost'))
      // @ts-expect-error it is a URL: return its href
      void ctx.step('url later', async () => new URL('http://localhost'))
      // @ts-expect-error it.open is a function
      void ctx.step('function', { timeoutMs: 1 }, () => ({ open: () => 1 }))
      // @ts-expect-error it is a function: return data
      await ctx.emit(() => 1)
      // @ts-expect-error it.at is a URL
      await ctx.checkpoint({ at: new URL('http://localhost') })
      await ctx.emit({ token: 'a' })
      await ctx.checkpoint(new Map([['a', 1]]))
    }
    expectTypeOf(handler).toBeFunction()
  })

  test('a step with toStorable gives what that makes, and is checked for that', () => {
    const handler = (ctx: TaskContext, options: StepOptions) => {
      const toStorable = (url: URL) => url.href
      expectTypeOf(ctx.step('a', { toStorable }, () => new URL('http://localhost'))).toEqualTypeOf<
        Promise<string>
      >()
      expectTypeOf(
        ctx.step(
          'b',
          { toStorable: async (url: URL) => ({ host: url.host }) },
          async () => new URL('http://localhost'),
        ),
      ).toEqualTypeOf<Promise<{ host: string }>>()
      // @ts-expect-error it is a URL: return its href
      void ctx.step('c', { toStorable: (text: string) => new URL(text) }, () => 'http://localhost')
      expectTypeOf(ctx.step('d', options, () => 1)).toEqualTypeOf<Promise<number>>()
      expectTypeOf(ctx.step('e', { retry: { attempts: 2 } }, () => 'a')).toEqualTypeOf<Promise<string>>()
    }
    expectTypeOf(handler).toBeFunction()
  })

  test('leaves generic code alone', () => {
    const cached = <T>(ctx: TaskContext, key: string, fn: () => Promise<T>): Promise<T> => ctx.step(key, fn)
    const tried = <T extends object>(ctx: TaskContext, key: string, fn: () => T): Promise<T> =>
      ctx.step(key, { retry: { attempts: 2 } }, () => fn())
    const many = <T extends { id: string }>(ctx: TaskContext, items: readonly T[]): Promise<T[]> =>
      ctx.step('many', () => [...items])
    const told = <T>(ctx: TaskContext, chunks: readonly T[], last: T) =>
      [...chunks, last].map((chunk) => ctx.emit<unknown>(chunk))
    const listed = <Input, Output>(ctx: TaskContext, input: Input, run: (input: Input) => Promise<Output>) =>
      ctx.step('pair', async () => ({ input, output: await run(input) }))
    expectTypeOf(cached).returns.toEqualTypeOf<Promise<unknown>>()
    expectTypeOf([tried, many, told, listed]).toBeArray()
    const task = defineTask({ type: 'a', input: z.number() }, (ctx, n) => cached(ctx, 'a', async () => n))
    expectTypeOf(task.type).toEqualTypeOf<'a'>()
  })
})

describe('on', () => {
  test('takes patterns that select an event, and narrows the event to those', () => {
    const listen = (runtime: Runtime) => {
      runtime.on('task.completed', (event) => {
        expectTypeOf(event.type).toEqualTypeOf<'task.completed'>()
      })
      runtime.on('step.*', (event) => {
        expectTypeOf(event).toEqualTypeOf<Extract<RuntimeEvent, { readonly type: `step.${string}` }>>()
        // @ts-expect-error no event of a step has this type
        return event.type === 'task.completed'
      })
      runtime.on('lease:*', (event) => {
        expectTypeOf(event.type).toExtend<`lease.${string}`>()
      })
      runtime.on('*', (event) => {
        expectTypeOf(event).toEqualTypeOf<RuntimeEvent>()
      })
      // @ts-expect-error there is no such event
      runtime.on('task.finished', () => {})
      // @ts-expect-error no event begins so
      runtime.on('tasks.*', () => {})
    }
    expectTypeOf(listen).toBeFunction()
  })
})

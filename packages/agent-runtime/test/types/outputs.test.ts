import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineTask } from '../../src/index.ts'

const input = z.number()

describe('a handler returns what can be stored', () => {
  test('its result keeps its type', () => {
    const plain = defineTask({ type: 'a', input }, async (_ctx, n) => ({ n, at: new Date(0) }))
    expectTypeOf(plain).toExtend<{ readonly type: 'a' }>()
    const nothing = defineTask({ type: 'b', input }, async () => {})
    expectTypeOf(nothing.type).toEqualTypeOf<'b'>()
    const unknown = defineTask(
      { type: 'c', input },
      async (): Promise<unknown> => new URL('http://localhost'),
    )
    expectTypeOf(unknown.type).toEqualTypeOf<'c'>()
    const parsed = defineTask({ type: 'd', input, output: z.object({ n: z.number() }) }, (_ctx, n) => ({ n }))
    expectTypeOf(parsed.type).toEqualTypeOf<'d'>()
  })

  test('a value that cannot be stored does not compile', () => {
    // @ts-expect-error it is a URL: return its href
    defineTask({ type: 'a', input }, () => new URL('http://localhost'))
    // @ts-expect-error it.run is a function
    defineTask({ type: 'b', input }, async (_ctx, n) => ({ run: () => n }))
    // @ts-expect-error it[number] is a symbol
    const symbols = defineTask({ type: 'c', input }, () => [Symbol('s')])
    expectTypeOf(symbols.type).toEqualTypeOf<'c'>()
  })

  test('with an output schema, what the schema returns is what counts', () => {
    const href = z.instanceof(URL).transform((url) => url.href)
    const task = defineTask({ type: 'a', input, output: href }, () => new URL('http://localhost'))
    expectTypeOf(task.type).toEqualTypeOf<'a'>()
    // @ts-expect-error the schema returns a URL
    defineTask({ type: 'b', input, output: z.instanceof(URL) }, () => new URL('http://localhost'))
    const agent = { name: 'c', capabilities: ['read'], domain: ['web'], input } as const
    expectTypeOf(defineAgent({ ...agent, output: href }, () => new URL('http://localhost'))).toBeObject()
    // @ts-expect-error the schema returns a URL
    defineAgent({ ...agent, output: z.instanceof(URL) }, () => new URL('http://localhost'))
  })
})

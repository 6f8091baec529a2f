import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  createClient,
  createRuntime,
  createWorker,
  defineTask,
  type KnownStore,
  type NotAStoreUrl,
  type RuntimeOptions,
  type StoreUrl,
} from '../../src/index.ts'

const schema = z.number()

type RemedyOf<Url> = KnownStore<Url> extends NotAStoreUrl<infer Remedy> ? Remedy : 'passes'

describe('the URL of a store', () => {
  test('passes where it names a store, an open store, a path, or is known only at run time', () => {
    expectTypeOf<
      RemedyOf<
        'sqlite:a.db' | 'sqlite::memory:' | 'postgres://a@b/c' | './a' | '../a' | '/a' | ':memory:' | 'a.db'
      >
    >().toEqualTypeOf<'passes'>()
    expectTypeOf<RemedyOf<string>>().toEqualTypeOf<'passes'>()
    expectTypeOf<RemedyOf<`${string}.data` | `${string}:a`>>().toEqualTypeOf<'passes'>()
    expectTypeOf<'sqlite:a.db'>().toExtend<StoreUrl>()
  })

  test('says what to write instead', () => {
    expectTypeOf<RemedyOf<'runtime'>>().toEqualTypeOf<'write sqlite:runtime for a file'>()
    expectTypeOf<RemedyOf<'pg://a@b/c'>>().toEqualTypeOf<'write postgres://USER@HOST/DATABASE'>()
    expectTypeOf<
      RemedyOf<'mysql://a/b'>
    >().toEqualTypeOf<'write sqlite:PATH, such as sqlite:runtime.db, or sqlite::memory:'>()
  })

  test('is looked at where programs give it', () => {
    const programs = (options: RuntimeOptions, path: string) => [
      createRuntime(options),
      createRuntime({ ...options, store: `sqlite:${path}` }),
      createRuntime({ store: process.env['STORE'] ?? 'sqlite:a.db', tasks: [] }),
      createWorker({ store: 'sqlite:a.db', tasks: [] }),
      createClient({ store: 'sqlite::memory:' }),
      // @ts-expect-error write sqlite:runtime for a file
      createWorker({ store: 'runtime', tasks: [] }),
      // @ts-expect-error write sqlite:PATH
      createWorker({ store: 'mysql://a/b', tasks: [] }),
      // @ts-expect-error write sqlite:PATH
      createClient({ store: 'redis:a' }),
    ]
    expectTypeOf(programs).toBeFunction()
  })

  test('lets a handler use the runtime that it runs in, which has a type of its own', () => {
    const program = async () => {
      const asking = defineTask({ type: 'asking', input: schema }, async () => {
        const { queued } = await runtime.stats().then(({ depth }) => ({ queued: depth.normal }))
        return queued
      })
      const runtime = await createRuntime({ store: 'sqlite::memory:', tasks: [asking] })
      return runtime.result(await runtime.submit(asking, 1))
    }
    expectTypeOf(program).returns.resolves.toBeNumber()
  })
})

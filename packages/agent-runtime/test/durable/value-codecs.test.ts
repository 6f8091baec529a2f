import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import { openStore } from '@ku0/agent-runtime-persistence'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import {
  type Codec,
  createRuntime,
  defineCodec,
  definePipeline,
  defineTask,
  type PayloadCodec,
  type Runtime,
  type RuntimeOptions,
  type TaskContext,
} from '../../src/index.ts'
import { all, elapse as elapsed, virtualEnvironment, virtualRuntime } from '../virtual-runtime.ts'

class Money {
  readonly cents: number
  readonly currency: string

  constructor(cents: number, currency: string) {
    this.cents = cents
    this.currency = currency
  }

  plus(other: Money): Money {
    return new Money(this.cents + other.cents, this.currency)
  }
}
class Euro extends Money {}

declare module '../../src/index.ts' {
  interface StoredClasses {
    money: Money
  }
}

const money = defineCodec({
  class: Money,
  name: 'money',
  encode: ({ cents, currency }) => [cents, currency] as const,
  decode: ([cents, currency]) => new Money(cents, currency),
})

const input = z.unknown()
const prices = defineTask({ type: 'prices', input }, async (ctx, given) => {
  const price = await ctx.step('price', () => new Money(150, 'EUR'))
  const extra = await ctx.waitForSignal<Money>('extra')
  const { value } = await ctx.race('fastest', { one: async () => new Money(1, 'EUR') })
  await ctx.emit(price)
  return price
    .plus(extra)
    .plus(value)
    .plus(given instanceof Money ? given : new Money(0, 'EUR'))
})

describe('classes with a codec', () => {
  test('are whole in steps, signals, races, chunks, inputs and outputs', async () => {
    const { runtime, elapse } = await virtualRuntime({ tasks: [prices], codecs: [money] })
    const receipt = await runtime.submit(prices, new Money(20, 'EUR'))
    await elapse(10)
    await runtime.signal(receipt, 'extra', new Money(300, 'EUR'))
    await elapse(10)
    const result = await runtime.result(receipt)
    expect(result).toBeInstanceOf(Money)
    expect(result).toEqual(new Money(471, 'EUR'))
    expectTypeOf(result).toEqualTypeOf<Money>()
    expect((await runtime.status(receipt))?.input).toEqual(new Money(20, 'EUR'))
    for await (const item of runtime.output(receipt))
      expect(item).toMatchObject({ data: new Money(150, 'EUR') })
  })

  test('are refused without one, and so is a subclass', async () => {
    const euro = defineTask({ type: 'euro', input }, (ctx) => ctx.step('it', () => new Euro(1, 'EUR')))
    const { runtime } = await virtualRuntime({ tasks: [euro], codecs: [money] })
    await expect(runtime.result(await runtime.submit(euro, null))).rejects.toThrow(
      'is an instance of Euro: give plain data',
    )
  })

  test('a codec that throws names itself and the place', async () => {
    const broken: Codec = { ...money, encode: () => JSON.parse('{') as never }
    const task = defineTask({ type: 'it', input }, (ctx) =>
      ctx.step('it', () => ({ a: new Money(1, 'EUR') })),
    )
    const { runtime } = await virtualRuntime({ tasks: [task], codecs: [broken] })
    await expect(runtime.result(await runtime.submit(task, null))).rejects.toThrow(
      "an instance of Money, whose codec 'money' threw",
    )
  })

  test('the compiler takes what is declared, and nothing else', () => {
    const handler = (ctx: TaskContext) => {
      expectTypeOf(ctx.step('a', () => new Money(1, 'EUR'))).toEqualTypeOf<Promise<Money>>()
      // @ts-expect-error it is a URL: return its href
      void ctx.step('b', () => new URL('http://localhost'))
    }
    expectTypeOf(handler).toBeFunction()
  })

  test('wrong options are named', async () => {
    const wrong = { class: Money, name: 'money', version: 0, encode: () => 1, decode: 1 }
    await expect(
      createRuntime({ store: 'sqlite::memory:', tasks: [], codecs: [money, wrong as never] }),
    ).rejects.toThrow(
      /codecs\[1\]\.version[^]*codecs\[1\]\.decode[^]*codecs\[1\]\.name: a name that no other/,
    )
  })
})

describe('a value that this program cannot read', () => {
  test('parks its task, which goes on with the codec', async () => {
    const missing = await parked([money], [])
    expect(missing.why).toContain("it needs codec 'money' in version 1, which this program does not register")
  })

  test('an older codec does not read newer data, a newer one reads older data', async () => {
    const versions: number[] = []
    const second = defineCodec({
      class: Money,
      name: 'money',
      version: 2,
      encode: ({ cents, currency }) => [cents, currency] as const,
      decode: ([cents, currency], version) => {
        versions.push(version)
        return new Money(cents, currency)
      },
    })
    const { why } = await parked([second], [money])
    expect(why).toContain("it needs codec 'money' in version 2, and this program registers version 1")
    versions.length = 0
    await through([money], [second])
    expect(versions).toContain(1)
  })

  /** A task that stored a value with `before`, waits, and goes on in a program with `now`. */
  async function through(before: readonly Codec[], now: readonly Codec[]) {
    const it = await between(before)
    const { runtime, elapse } = await it.next({ codecs: now })
    await elapse(2000)
    return { runtime, elapse, it }
  }

  async function parked(before: readonly Codec[], now: readonly Codec[]) {
    const { runtime, elapse, it } = await through(before, now)
    const why = await reasonOf(runtime, it.taskId)
    await elapse(10)
    const last = await it.next({ codecs: before })
    await last.runtime.resume(it.taskId)
    await last.elapse(10)
    expect(await last.runtime.result(it.taskId)).toEqual(new Money(150, 'EUR'))
    expect(it.runs()).toBe(1)
    return { why }
  }
})

describe('a payloadCodec', () => {
  test('keeps values out of the file, and the program reads them', async () => {
    const it = await between([money], sealedWith('key one'))
    expect(it.text()).not.toContain('secret')
    expect(it.text()).toContain('Sealed')
    const { runtime, elapse } = await it.next({ codecs: [money], payloadCodec: sealedWith('key one') })
    await elapse(2000)
    expect(await runtime.result(it.taskId)).toEqual(new Money(150, 'EUR'))
    expect((await runtime.status(it.taskId))?.input).toEqual({ secret: 'secret' })
    expect(it.runs()).toBe(1)
  })

  test.each([
    ['another key', sealedWith('key two'), 'payloadCodec.decrypt threw, as it does with another key'],
    ['no key', undefined, 'it is encrypted, and this program has no payloadCodec'],
  ])('%s parks the task, and nothing is lost', async (_, payloadCodec, reason) => {
    const it = await between([money], sealedWith('key one'))
    const wrong = await it.next({ codecs: [money], payloadCodec })
    await wrong.elapse(2000)
    expect(await reasonOf(wrong.runtime, it.taskId)).toContain(reason)
    const right = await it.next({ codecs: [money], payloadCodec: sealedWith('key one') })
    await right.runtime.resume(it.taskId)
    await right.elapse(10)
    expect(await right.runtime.result(it.taskId)).toEqual(new Money(150, 'EUR'))
    expect(it.runs()).toBe(1)
  })

  test('the same submission has the same stored text, so that idempotency keys hold', async () => {
    const task = defineTask({ type: 'it', input }, () => 1)
    const { runtime } = await virtualRuntime({ tasks: [task], payloadCodec: sealedWith('key') })
    const [first, again] = [
      await runtime.submit(task, { a: 1 }, { idempotencyKey: 'k' }),
      await runtime.submit(task, { a: 1 }, { idempotencyKey: 'k' }),
    ]
    expect(again.taskId).toBe(first.taskId)
    await expect(runtime.submit(task, { a: 2 }, { idempotencyKey: 'k' })).rejects.toMatchObject({
      code: 'idempotency_conflict',
    })
  })

  test('13.2 events of pipelines are sealed in the log, and open for stages and readers', async () => {
    const says = defineTask({ type: 'says', input: z.any() }, (ctx) => ctx.publish('word', 'plain secret'))
    const hears = defineTask({ type: 'hears', input: z.any() }, async (ctx) =>
      (await ctx.receive<string>(['word'])).map(({ data }) => data),
    )
    const pipeline = definePipeline({
      name: 'line',
      stages: [
        { name: 'says', task: says, publishes: { word: z.string() } },
        { name: 'hears', task: hears, subscribes: ['word'] },
      ],
    })
    const store = await openStore('sqlite::memory:')
    onTestFinished(() => store.close())
    const tasks = [pipeline, says, hears]
    await using runtime = await createRuntime({
      store,
      tasks,
      payloadCodec: sealedWith('key'),
      logger: false,
    })
    const receipt = await runtime.submit(pipeline, null)
    expect(await runtime.result(receipt)).toMatchObject({ hears: ['plain secret'] })
    const { taskId } = receipt
    const stored = await store.read({ kind: 'output', taskId, after: 0, limit: 9 })
    expect(stored?.map(({ data }) => data.includes('secret'))).toEqual([false])
    expect(await all(runtime.pipeline(receipt).events())).toMatchObject([{ data: 'plain secret' }])
  })

  test('schedules show the input that they were given', async () => {
    const task = defineTask({ type: 'it', input }, () => 1)
    const { runtime } = await virtualRuntime({ tasks: [task], payloadCodec: sealedWith('key') })
    const put = await runtime.schedules.put('s', { everyMs: 60_000 }, task, { secret: 1 })
    expect([put.input, (await runtime.schedules.list())[0]?.input]).toEqual([{ secret: 1 }, { secret: 1 }])
  })

  test('approvals, children, races and forks work on sealed values', async () => {
    const child = defineTask({ type: 'child', input: z.string() }, (_ctx, text) => ({ said: text }))
    const parent = defineTask({ type: 'parent', input }, async (ctx) => {
      const { said } = await ctx.call('child', child, 'secret')
      const { winner, value } = await ctx.race('race', { a: () => said })
      const { feedback, value: answer } = await ctx.requestApproval<{ ok: string }>('ask', { said })
      return { winner, value, feedback, answer }
    })
    const { runtime, elapse } = await virtualRuntime({
      tasks: [child, parent],
      payloadCodec: sealedWith('key'),
    })
    const receipt = await runtime.submit(parent, null)
    await elapse(10)
    const [pending] = (await runtime.approvals.list()).approvals
    expect(pending?.artifact).toEqual({ said: 'secret' })
    await runtime.approvals.approve(pending?.approvalId ?? '', { feedback: 'fine', value: { ok: 'secret' } })
    await elapse(10)
    const expected = { winner: 'a', value: 'secret', feedback: 'fine', answer: { ok: 'secret' } }
    expect(await runtime.result(receipt)).toEqual(expected)
    const fork = await runtime.fork(receipt, {
      fromStep: 'ask',
      edits: { race: { winner: 'a', value: 'edited' } },
    })
    await elapse(10)
    const [again] = (await runtime.approvals.list()).approvals
    await runtime.approvals.approve(again?.approvalId ?? '')
    await elapse(10)
    expect(await runtime.result(fork)).toMatchObject({ winner: 'a', value: 'edited' })
  })

  test.each<[string, PayloadCodec, string]>([
    [
      'is not the same twice',
      { encrypt: (b) => new Uint8Array([...b, count++]), decrypt: (b) => b.slice(0, -1) },
      'must return the same bytes for the same value',
    ],
    [
      'does not come back',
      { encrypt: (b) => b, decrypt: () => new Uint8Array() },
      'decrypt must return what was encrypted',
    ],
    ['is a promise', { encrypt: (async (b: Uint8Array) => b) as never, decrypt: (b) => b }, 'not a promise'],
  ])('that %s is refused at the start', async (_, payloadCodec, message) => {
    await expect(createRuntime({ store: 'sqlite::memory:', tasks: [], payloadCodec })).rejects.toThrow(
      message,
    )
  })
})

let count = 0

/** A task on one store that has recorded a step and sleeps, and the programs that come after the one that ran it so far. */
async function between(codecs: readonly Codec[], payloadCodec?: PayloadCodec) {
  let runs = 0
  const task = defineTask({ type: 'waits', input }, async (ctx) => {
    const price = await ctx.step('price', () => {
      runs += 1
      return new Money(150, 'EUR')
    })
    await ctx.sleep('go', 1000)
    return price
  })
  const environment = virtualEnvironment()
  const store = await openStore('sqlite::memory:', { environment, checked: false })
  let last: Runtime | undefined
  const next = async (options: Pick<RuntimeOptions, 'codecs' | 'payloadCodec'>) => {
    await last?.stop()
    const runtime = await createRuntime({ ...options, store, environment, tasks: [task], logger: false })
    last = runtime
    return { runtime, elapse: (ms: number) => elapsed(environment, ms) }
  }
  onTestFinished(async () => {
    await last?.stop({ drain: false })
    await store.close()
  })
  const { runtime, elapse } = await next({ codecs, payloadCodec })
  const { taskId } = await runtime.submit(task, { secret: 'secret' })
  await elapse(10)
  const events = (await store.read({ kind: 'events', taskId, after: 0, limit: 100 })) ?? []
  return { taskId, next, runs: () => runs, text: () => events.map(({ data }) => data).join('\n') }
}

/** AES-256-GCM with a nonce that is derived from the value. */
function sealedWith(secret: string): PayloadCodec {
  const key = createHmac('sha256', secret).update('encrypt').digest()
  const nonceKey = createHmac('sha256', secret).update('nonce').digest()
  return {
    encrypt: (bytes) => {
      const nonce = createHmac('sha256', nonceKey).update(bytes).digest().subarray(0, 12)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
    },
    decrypt: (bytes) => {
      const cipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
      cipher.setAuthTag(bytes.subarray(-16))
      return Buffer.concat([cipher.update(bytes.subarray(12, -16)), cipher.final()])
    },
  }
}

async function reasonOf(runtime: Runtime, taskId: string): Promise<string> {
  return runtime.result(taskId).then(
    () => 'it ended',
    (error: unknown) => {
      expect(error).toMatchObject({ code: 'task_diverged', divergence: { kind: 'value_unreadable' } })
      return (error as Error).message
    },
  )
}

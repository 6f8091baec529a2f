import type { ConfigError } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createRuntime, definePipeline, defineTask, RuntimeError } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { all, virtualRuntime } from '../virtual-runtime.ts'

const nothing = z.undefined()
const Word = z.object({ word: z.string() })

/** Publishes words one by one. */
const words = defineTask({ type: 'words', input: z.array(z.string()) }, async (ctx, given) => {
  for (const word of given) await ctx.publish('word', { word })
  return given.length
})
/** Publishes the length of each word. */
const measure = defineTask({ type: 'measure', input: nothing }, async (ctx) => {
  for (;;) {
    const events = await ctx.receive({ word: Word }, { max: 2 })
    if (events.length === 0) return 'measured'
    await ctx.publishAll(
      'length',
      events.map(({ data }) => data.word.length),
    )
  }
})
const sum = defineTask({ type: 'sum', input: nothing }, async (ctx) => {
  let total = 0
  for (;;) {
    const events = await ctx.receive<number>(['length'])
    if (events.length === 0) return total
    for (const { data } of events) total += data
  }
})
const tasks = [words, measure, sum]

function wordCount(maxUnread = 1_000) {
  return definePipeline({
    name: 'word count',
    input: z.array(z.string()),
    maxUnread,
    stages: [
      { name: 'words', task: words, input: (given) => given, publishes: { word: Word } },
      { name: 'measure', task: measure, subscribes: ['word'], publishes: { length: z.number() } },
      { name: 'sum', task: sum, subscribes: ['length'] },
    ],
  })
}

describe('13.1 a pipeline', () => {
  test('is refused with every stage that receives what none before it publishes', () => {
    const define = () =>
      definePipeline({
        name: 'wrong',
        stages: [
          { name: 'sum', task: sum, subscribes: ['length'] },
          { name: 'measure', task: measure, subscribes: ['word'], publishes: { length: z.number() } },
          { name: 'words', task: words, publishes: { word: Word } },
        ],
      })
    const violations = [
      { rule: 'invalid_subscription', stage: 'sum', missing: ['length'] },
      { rule: 'invalid_subscription', stage: 'measure', missing: ['word'] },
    ]
    expect(define).toThrow(RuntimeError)
    expect(define).toThrow(
      expect.objectContaining({ code: 'pipeline_constraint_violation', details: { violations } }) as Error,
    )
  })

  test('names every option that is wrong', () => {
    const stages = [{ name: 'a/b', task: {}, publishes: { x: 1 }, subscribes: ['y', 'y'] }]
    expect(() => definePipeline({ name: '', maxUnread: 0, stages } as never)).toThrow(
      /name: .*maxUnread: .*stage 1 name: .*stage 1 task: .*stage 1 subscribes: .*stage 1 publishes.x: /s,
    )
  })
})

describe('13.1 a definition', () => {
  const wrongs = (definition: unknown): readonly string[] => {
    try {
      definePipeline(definition as never)
    } catch (error) {
      return (error as ConfigError).problems.map(({ path, allowed }) => `${path}: ${allowed}`)
    }
    return []
  }

  test('is refused with all that is wrong with it at once, the order of its stages too', () => {
    const stages = [
      { name: 'sum', task: sum, subscribes: ['length'], workers: 4 },
      { name: 'words', task: words, publishes: { word: Word }, options: { lane: 'slow' } },
    ]
    expect(wrongs({ name: 'wrong', maxunread: 5, timeoutMs: -1, stages })).toEqual([
      "pipeline 'wrong': maxunread: no such option, did you mean maxUnread?",
      expect.stringContaining("pipeline 'wrong': timeoutMs: "),
      "pipeline 'wrong': stage 1 workers: no such option, write partitions: 4",
      expect.stringContaining("pipeline 'wrong': stage 2 options.lane: "),
      "pipeline 'wrong': stages: stage 'sum' subscribes to 'length', which no stage before it publishes",
    ])
  })

  test('is refused with the type that has no schema, and the one that was meant', () => {
    const publishes = { word: undefined, length: 'number', count: z.number() }
    const stages = [{ name: 'words', task: words, publishes }]
    expect(wrongs({ name: 'wrong', stages })).toEqual([
      "pipeline 'wrong': stage 1 publishes.word: a schema, such as z.object({ … })",
      "pipeline 'wrong': stage 1 publishes.length: a schema, such as z.object({ … })",
    ])
    expect(wrongs({ type: 'wrong', stages: [{ name: 'words', task: words }] })).toEqual([
      'pipeline: type: no such option, write name',
    ])
    const misspelt = [
      { name: 'words', task: words, publishes: { word: Word } },
      { name: 'sum', task: sum, subscribes: ['wrod'] },
    ]
    expect(() => definePipeline({ name: 'wrong', stages: misspelt })).toThrow(', did you mean word?')
  })

  test('is refused where two stages give a type different schemas', () => {
    const stages = [
      { name: 'a', task: words, publishes: { word: Word } },
      { name: 'b', task: words, publishes: { word: z.string() } },
    ]
    expect(wrongs({ name: 'two', stages })).toEqual([
      expect.stringMatching(
        /^pipeline 'two': stage 2 publishes: the schema that stage 'a' gives the type 'word'/,
      ),
    ])
    expect(wrongs({ name: 'two', stages: [stages[0], { ...stages[0], name: 'b' }] })).toEqual([])
  })
})

describe('13.2 stages', () => {
  test('that cannot begin fail the pipeline with an error that names them', async () => {
    const needs = defineTask({ type: 'needs', input: z.number() }, () => null)
    const misfit = definePipeline({ name: 'misfit', stages: [{ name: 'first', task: needs }] })
    const waiting = definePipeline({
      name: 'waiting',
      stages: [{ name: 'first', task: needs, input: () => Promise.resolve(1) }],
    })
    await using it = await createTestRuntime({ tasks: [misfit, waiting, needs] })
    await expect(it.result(await it.runtime.submit(misfit, undefined))).rejects.toThrow(
      /stage 'first' could not begin: .*expected number, received undefined/s,
    )
    await expect(it.result(await it.runtime.submit(waiting, undefined))).rejects.toThrow(
      "stage 'first': its input returned a promise",
    )
  })

  test('that fail are named in the error of the pipeline, with their partitions', async () => {
    const breaks = defineTask({ type: 'breaks', input: z.number() }, (_, partition) => {
      if (partition === 2) throw new Error('broken')
    })
    const stages = [{ name: 'second', task: breaks, partitions: 2, input: (_: unknown, at: number) => at }]
    const pipeline = definePipeline({ name: 'broken line', stages })
    await using it = await createTestRuntime({ tasks: [pipeline, breaks] })
    const receipt = await it.runtime.submit(pipeline, undefined)
    await expect(it.result(receipt)).rejects.toThrow(
      /partition 2 of stage 'second': task \S+ failed \(error\): broken$/,
    )
  })

  test('that have to share slots are a warning of the log, once for a pipeline type', async () => {
    const pipeline = wordCount()
    const { runtime, log, elapse } = await virtualRuntime({
      tasks: [pipeline, ...tasks],
      workers: { count: 1, capacity: 2 },
    })
    for (const word of ['a', 'bb']) {
      const result = runtime.result(await runtime.submit(pipeline, [word]))
      await elapse(60_000)
      expect(await result).toMatchObject({ sum: word.length })
    }
    expect(log.filter(({ message }) => message.includes('slots'))).toEqual([
      {
        level: 'warn',
        message:
          "pipeline 'word count': its 3 tasks share 2 slots, so they take turns, which is slow; raise workers.capacity to 3 or start more workers",
        fields: expect.objectContaining({ tasks: 3, slots: 2 }) as unknown,
      },
    ])
  })

  test('read events with the schemas that they give, before those of the definition', async () => {
    const upper = z.object({ word: z.string().transform((word) => word.toUpperCase()) })
    const errors: string[] = []
    const reads = defineTask({ type: 'reads', input: nothing }, async (ctx) => {
      await ctx.receive({ word: 'none' } as never).catch((error: unknown) => {
        errors.push((error as Error).message)
      })
      const first = await ctx.receive({ word: upper }, { max: 1 })
      const second = await ctx.receive<{ word: string }>(['word'], { max: 1 })
      const misfit = ctx.receive({ word: z.object({ word: z.number() }) }, { max: 1 })
      await misfit.catch((error: unknown) => errors.push((error as Error).message))
      return [...first, ...second].map(({ data }) => data.word)
    })
    const pipeline = definePipeline({
      name: 'reading line',
      stages: [
        { name: 'words', task: words, input: () => ['a', 'b', 'c'], publishes: { word: Word } },
        { name: 'reads', task: reads, subscribes: ['word'] },
      ],
    })
    await using it = await createTestRuntime({ tasks: [pipeline, words, reads] })
    expect(await it.result(await it.runtime.submit(pipeline, undefined))).toMatchObject({ reads: ['A', 'b'] })
    expect(errors).toEqual([
      expect.stringContaining('an object of schemas by type'),
      expect.stringMatching(
        /event 3 of pipeline 'reading line', a 'word', .*then submit the pipeline again$/,
      ),
    ])
  })

  test.each([1, 2, 1_000])(
    'publish and receive in order while others run, with at most %i unread events',
    async (maxUnread) => {
      const pipeline = wordCount(maxUnread)
      await using it = await createTestRuntime({ tasks: [pipeline, ...tasks] })
      const { runtime } = it
      const receipt = await runtime.submit(pipeline, ['a', 'bb', 'ccc', 'dd', 'e'])
      expect(await it.result(receipt)).toEqual({ words: 5, measure: 'measured', sum: 9 })
      const events = await all(runtime.pipeline(receipt).events())
      expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1))
      const of = (type: string) => events.flatMap((event) => (event.type === type ? [event.data] : []))
      expect(of('word')).toEqual(['a', 'bb', 'ccc', 'dd', 'e'].map((word) => ({ word })))
      expect(of('length')).toEqual([1, 2, 3, 2, 1])
      expect(await runtime.pipeline(receipt).status()).toMatchObject({
        seq: 10,
        published: { word: 5, length: 5 },
        stages: [
          { stage: 'words', ended: true },
          { stage: 'measure', ended: true, taken: { word: 5 } },
          { stage: 'sum', ended: true, taken: { length: 5 } },
        ],
      })
    },
  )

  test('are listed with their pipeline, whose events are read as they are stored where the reader asks for that', async () => {
    const upper = z.string().transform((word) => word.toUpperCase())
    const says = defineTask({ type: 'says', input: nothing }, (ctx) => ctx.publish('said', 'hello'))
    const pipeline = definePipeline({
      name: 'one stage',
      stages: [{ name: 'says', task: says, publishes: { said: upper } }],
    })
    await using it = await createTestRuntime({ tasks: [pipeline, says] })
    const { runtime } = it
    const receipts = [await runtime.submit(pipeline, undefined), await runtime.submit(pipeline, undefined)]
    for (const receipt of receipts) await it.result(receipt)
    const [first = '', second = ''] = receipts.map(({ taskId }) => taskId)
    const read = (check?: boolean) => all(runtime.pipeline(first).events({ check }))
    expect([await read(), await read(false)]).toMatchObject([[{ data: 'HELLO' }], [{ data: 'hello' }]])
    const page = await runtime.pipelines({ limit: 1 })
    const listed = [...page.pipelines, ...(await runtime.pipelines({ cursor: page.cursor })).pipelines]
    expect(listed.map(({ taskId }) => taskId).toSorted()).toEqual([first, second].toSorted())
    expect(listed).toMatchObject([
      { state: 'completed' },
      { stages: [{ ended: true, tasks: [{ state: 'completed' }] }] },
    ])
    await expect(runtime.pipelines({ limit: 0 })).rejects.toMatchObject({ code: 'invalid_argument' })
    await expect(all(runtime.pipeline(first).events({ types: ['sayd'] }))).rejects.toThrow(
      "option types: no stage of pipeline 'one stage' publishes 'sayd', did you mean said?",
    )
  })

  test('fail the pipeline when one of them fails, and those that wait for its events are canceled', async () => {
    const breaks = defineTask({ type: 'breaks', input: nothing }, async (ctx) => {
      await ctx.publish('word', { word: 'x' })
      throw new Error('broken')
    })
    const pipeline = definePipeline({
      name: 'broken line',
      stages: [
        { name: 'breaks', task: breaks, publishes: { word: Word } },
        { name: 'measure', task: measure, subscribes: ['word'], publishes: { length: z.number() } },
      ],
    })
    await using it = await createTestRuntime({ tasks: [pipeline, breaks, measure] })
    const receipt = await it.runtime.submit(pipeline, undefined)
    await expect(it.result(receipt)).rejects.toThrow('broken')
    const { stages } = await it.runtime.pipeline(receipt).status()
    expect(await it.runtime.status(stages[1]?.tasks[0]?.taskId ?? '')).toMatchObject({ state: 'canceled' })
  })

  test('that try again publish nothing twice, and get again what they had received', async () => {
    const seen: (readonly unknown[])[] = []
    const flaky = defineTask({ type: 'flaky', input: nothing, retry: { attempts: 3 } }, async (ctx) => {
      const events = await ctx.receive<{ word: string }>(['word'], { max: 1 })
      seen.push(events)
      await Promise.all(events.flatMap(() => ['p', 'q']).map((name) => ctx.publish('length', name)))
      if (ctx.attempt < 3) throw new Error('again')
      const left = await ctx.receive(['word'])
      return [events.length, left.length]
    })
    const pipeline = definePipeline({
      name: 'flaky line',
      input: z.array(z.string()),
      stages: [
        { name: 'words', task: words, input: (given) => given, publishes: { word: Word } },
        { name: 'flaky', task: flaky, subscribes: ['word'], publishes: { length: z.string() } },
      ],
    })
    await using it = await createTestRuntime({ tasks: [pipeline, words, flaky] })
    const { runtime } = it
    const receipt = await runtime.submit(pipeline, ['a', 'b', 'c'])
    expect(await it.result(receipt)).toEqual({ words: 3, flaky: [1, 2] })
    expect(seen.length).toBe(3)
    expect(new Set(seen.map((events) => JSON.stringify(events))).size).toBe(1)
    const lengths = await all(runtime.pipeline(receipt).events({ types: ['length'] }))
    expect(lengths.map(({ data }) => data)).toEqual(['p', 'q'])
  })

  test('publish only their types, with data that fits; other tasks publish nothing', async () => {
    const errors: unknown[] = []
    const attempted = async (call: Promise<unknown>) => {
      const error = await call.then(
        () => undefined,
        (reason: unknown) => reason,
      )
      errors.push([(error as RuntimeError).code, (error as Error).message])
    }
    const wrong = defineTask({ type: 'wrong', input: nothing }, async (ctx) => {
      await attempted(ctx.publish('length', 1))
      await attempted(ctx.publish('word', { word: 1 }))
      await attempted(ctx.receive(['word']))
      await ctx.publish('word', { word: 'fits' })
    })
    const alone = defineTask({ type: 'alone', input: nothing }, async (ctx) => {
      await attempted(ctx.publish('word', 1))
    })
    const pipeline = definePipeline({
      name: 'strict line',
      stages: [{ name: 'wrong', task: wrong, publishes: { word: Word } }],
    })
    await using it = await createTestRuntime({ tasks: [pipeline, wrong, alone] })
    const { runtime } = it
    const receipt = await runtime.submit(pipeline, undefined)
    await it.result(receipt)
    await it.result(await runtime.submit(alone, undefined))
    expect(errors).toEqual([
      ['unauthorized_publish', expect.stringContaining("stage 'wrong' may not publish 'length'")],
      ['invalid_argument', expect.stringContaining("an event 'word' of pipeline 'strict line' does not fit")],
      ['invalid_argument', expect.stringContaining("stage 'wrong' does not subscribe to 'word'")],
      ['unknown_stage', expect.stringContaining('is no stage of a pipeline')],
    ])
    expect(await all(runtime.pipeline(receipt).events())).toHaveLength(1)
  })

  test('that are sent back by a reviewer publish and receive nothing again', async () => {
    const received: number[] = []
    const reviewed = defineTask({ type: 'reviewed', input: nothing }, async (ctx) => {
      const events = await ctx.receive<{ word: string }>(['word'], { max: 1 })
      received.push(events.length)
      const draft = await ctx.step('draft', () => `draft ${ctx.feedback.length}`)
      await ctx.publish('length', events.length)
      await ctx.publish('length', draft)
      await ctx.requestApproval('good?', draft)
      return (await ctx.receive(['word'])).length
    })
    const pipeline = definePipeline({
      name: 'reviewed line',
      input: z.array(z.string()),
      stages: [
        { name: 'words', task: words, input: (given) => given, publishes: { word: Word } },
        { name: 'reviewed', task: reviewed, subscribes: ['word'], publishes: { length: z.any() } },
      ],
    })
    await using it = await createTestRuntime({ tasks: [pipeline, words, reviewed] })
    const { runtime } = it
    const receipt = await runtime.submit(pipeline, ['a', 'b', 'c'])
    for (const verdict of ['reject', 'approve'] as const) {
      await it.advance(1_000)
      const [request] = (await runtime.approvals.list()).approvals
      await runtime.approvals[verdict](request?.approvalId ?? '', { by: 'ann' })
    }
    expect(await it.result(receipt)).toMatchObject({ reviewed: 2 })
    expect(new Set(received)).toEqual(new Set([1]))
    const lengths = await all(runtime.pipeline(receipt).events({ types: ['length'] }))
    expect(lengths.map(({ data }) => data)).toEqual([1, 'draft 0', 'draft 1'])
  })

  test('that are canceled while they keep their slot for room or for events stop at once', async () => {
    const full = defineTask({ type: 'full', input: nothing }, async (ctx) => {
      for (let word = 0; word < 3; word += 1) await ctx.publish('word', { word: 'x' })
    })
    const idle = defineTask({ type: 'idle', input: nothing }, (ctx) => ctx.receive(['other']))
    const pipeline = definePipeline({
      name: 'full line',
      maxUnread: 1,
      stages: [
        { name: 'full', task: full, publishes: { word: Word, other: z.null() } },
        { name: 'idle', task: idle, subscribes: ['word', 'other'] },
      ],
    })
    const runtime = await createRuntime({
      store: 'sqlite::memory:',
      thread: false,
      tasks: [pipeline, full, idle],
      config: { abortGraceMs: 5_000 },
      logger: false,
    })
    const leaked: string[] = []
    runtime.on('task.leaked', ({ taskId }) => leaked.push(taskId))
    const receipt = await runtime.submit(pipeline, undefined)
    for await (const _ of runtime.pipeline(receipt).events()) break
    await runtime.cancel(receipt)
    await runtime.close()
    expect(leaked).toEqual([])
  })

  test('publish events of several types in one commit, in order, and nothing twice when they run again', async () => {
    const types = { word: Word, count: z.number() }
    const says = defineTask({ type: 'says', input: nothing, retry: { attempts: 2 } }, async (ctx) => {
      const events = ['a', 'bb'].flatMap((word) => [
        { type: 'word', data: { word }, key: word } as const,
        { type: 'count', data: word.length } as const,
      ])
      await ctx.publishAll(types, events)
      await ctx.publishAll(types, [])
      if (ctx.attempt === 1) throw new Error('again')
      await ctx.publishAll(types, events)
    })
    const hears = defineTask({ type: 'hears', input: nothing }, async (ctx) => {
      const got: unknown[] = []
      for (;;) {
        const events = await ctx.receive(types, { max: 3 })
        if (events.length === 0) return got
        got.push(...events.map(({ data }) => data))
      }
    })
    const pipeline = definePipeline({
      name: 'mixed line',
      maxUnread: 1,
      stages: [
        { name: 'says', task: says, publishes: types },
        { name: 'hears', task: hears, subscribes: ['word', 'count'] },
      ],
    })
    await using it = await createTestRuntime({ tasks: [pipeline, says, hears] })
    const receipt = await it.runtime.submit(pipeline, undefined)
    const inOrder = [{ word: 'a' }, 1, { word: 'bb' }, 2]
    expect(await it.result(receipt)).toMatchObject({ hears: [...inOrder, ...inOrder] })
    const events = await all(it.runtime.pipeline(receipt).events())
    expect(events.map(({ type, keyHash }) => `${type} ${keyHash !== undefined}`).slice(0, 4)).toEqual([
      'word true',
      'count false',
      'word true',
      'count false',
    ])
    const { stages } = await it.runtime.pipeline(receipt).status()
    const steps = await it.history(stages[0]?.tasks[0]?.taskId ?? '')
    expect(steps.events.filter((type) => type === 'step.completed')).toHaveLength(2)
  })

  test('publish no list of several types of which an event is wrong, and wait for room for each type', async () => {
    const errors: string[] = []
    const types = { word: Word, count: z.number() }
    const says = defineTask({ type: 'says', input: nothing }, async (ctx) => {
      const wrong: readonly unknown[] = [
        [{ type: 'word', data: { word: 1 } }],
        [
          { type: 'count', data: 1 },
          { type: 'words', data: { word: 'a' } },
        ],
        [{ type: 'count' }],
        [{ type: 'count', data: 1, key: 5 }],
        [{ type: 'count', data: 1, lane: 'batch' }],
        { type: 'count', data: 1 },
      ]
      for (const events of wrong)
        await ctx.publishAll(types, events as never).catch((error: unknown) => {
          errors.push((error as Error).message)
        })
      for (const given of [{ word: 1 }, { other: z.null() }])
        await ctx.publishAll(given as never, [{ type: 'other', data: null }]).catch((error: unknown) => {
          errors.push((error as Error).message)
        })
    })
    const pipeline = definePipeline({
      name: 'strict line',
      stages: [{ name: 'says', task: says, publishes: { word: z.unknown(), count: z.number() } }],
    })
    await using it = await createTestRuntime({ tasks: [pipeline, says] })
    const receipt = await it.runtime.submit(pipeline, undefined)
    await it.result(receipt)
    expect(errors).toEqual([
      expect.stringMatching(
        /^an event 'word' of pipeline 'strict line' does not fit its schema: data.word: /,
      ),
      'publishAll: an event of type "words" has no schema, did you mean word?',
      expect.stringMatching(/^publishAll: an event is an object with type and data, such as .*, not \{/),
      "publish 'count': a key is a string of 1 to 255 characters, not 5",
      `publishAll 'count': an event has type, data and key, not "lane"`,
      expect.stringMatching(/^publishAll: a list of events, not /),
      expect.stringMatching(/^publishAll: an object of schemas by type, such as /),
      expect.stringMatching(/^stage 'says' may not publish 'other'/),
    ])
    expect(await all(it.runtime.pipeline(receipt).events())).toEqual([])
  })

  test('are read from outside while they run, from any sequence on', async () => {
    const slow = defineTask({ type: 'slow', input: nothing }, async (ctx) => {
      await ctx.publishAll('word', [{ word: 'a' }, { word: 'bb' }])
      await ctx.publish('other', 1)
      await ctx.waitForSignal('go on')
      await ctx.publish('word', { word: 'ccc' })
      await ctx.waitForSignal('end')
    })
    const publishes = { word: Word, other: z.number() }
    const pipeline = definePipeline({ name: 'slow line', stages: [{ name: 'slow', task: slow, publishes }] })
    await using runtime = await createRuntime({
      store: 'sqlite::memory:',
      thread: false,
      tasks: [pipeline, slow],
      logger: false,
    })
    const receipt = await runtime.submit(pipeline, undefined, { taskId: 'mine' })
    const live: number[] = []
    // The stage goes on when its events were read.
    for await (const { sequence } of runtime.pipeline(receipt).events({ after: 1, types: ['word'] })) {
      live.push(sequence)
      const { stages } = await runtime.pipeline(receipt).status()
      await runtime.signal(stages[0]?.tasks[0]?.taskId ?? '', sequence === 2 ? 'go on' : 'end', null)
    }
    expect(live).toEqual([2, 4])
    const stored = await all(runtime.pipeline('mine').events({ types: ['word'], live: false }))
    expect(stored.map(({ data }) => data)).toEqual([{ word: 'a' }, { word: 'bb' }, { word: 'ccc' }])
    const { stages } = await runtime.pipeline('mine').status()
    await expect(runtime.pipeline(stages[0]?.tasks[0]?.taskId ?? '').status()).rejects.toThrow(
      'is no pipeline',
    )
  })

  test('a pipeline is not retried: its log is its own', async () => {
    const breaks = defineTask({ type: 'breaks', input: nothing }, () => {
      throw new Error('broken')
    })
    const pipeline = definePipeline({ name: 'once', stages: [{ name: 'breaks', task: breaks }] })
    await using it = await createTestRuntime({ tasks: [pipeline, breaks] })
    const receipt = await it.runtime.submit(pipeline, undefined)
    await expect(it.result(receipt)).rejects.toThrow('broken')
    await expect(it.runtime.retry(receipt)).rejects.toThrow('submit the pipeline again')
    await expect(it.runtime.fork(receipt)).rejects.toThrow('submit the pipeline again')
    expect(await it.runtime.retryMany([receipt])).toMatchObject({ retried: 0, skipped: 1 })
  })

  test('a pipeline that had not begun is retried, with a log of its own', async () => {
    const says = defineTask({ type: 'says', input: nothing }, (ctx) => ctx.publish('word', { word: 'a' }))
    const pipeline = definePipeline({
      name: 'late',
      stages: [{ name: 'says', task: says, publishes: { word: z.object({ word: z.string() }) } }],
    })
    await using it = await createTestRuntime({ tasks: [pipeline, says] })
    const first = await it.runtime.submit(pipeline, undefined, { delayMs: 60_000 })
    await it.runtime.cancel(first)
    const again = await it.runtime.retry(first)
    await it.result(again)
    expect(await it.runtime.pipeline(again).status()).toMatchObject({ seq: 1 })
    await expect(it.runtime.pipeline(first).status()).rejects.toThrow('has not begun')
  })

  test('the retry of a task runs its pipeline from the beginning', async () => {
    let isBroken = true
    const says = defineTask({ type: 'says', input: nothing }, (ctx) => ctx.publish('word', { word: 'a' }))
    const hears = defineTask({ type: 'hears', input: nothing }, async (ctx) => {
      const heard = await ctx.receive({ word: z.object({ word: z.string() }) })
      if (isBroken) throw new Error('broken')
      return heard.length
    })
    const pipeline = definePipeline({
      name: 'inner',
      stages: [
        { name: 'says', task: says, publishes: { word: z.object({ word: z.string() }) } },
        { name: 'hears', task: hears, subscribes: ['word'] },
      ],
    })
    const outer = defineTask({ type: 'outer', input: nothing }, (ctx) =>
      ctx.call('the pipeline', pipeline, undefined),
    )
    await using it = await createTestRuntime({ tasks: [outer, pipeline, says, hears] })
    const first = await it.runtime.submit(outer, undefined)
    await expect(it.result(first)).rejects.toThrow('broken')
    isBroken = false
    expect(await it.result(await it.runtime.retry(first))).toMatchObject({ hears: 1 })
  })
})

import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { draws, everyNth } from '../../../tools/draws.ts'
import { createRuntime, defineTask } from '../src/index.ts'
import { folder } from './real-processes.ts'

const all = [
  '../../../escaped',
  '..\\..\\escaped',
  '/escaped',
  'C:\\escaped',
  '%2e%2e%2fescaped',
  'nul\u0000byte',
  `'; DROP TABLE task; --`,
  `a"; DROP TABLE task; --`,
  '1) OR 1 = 1 --',
  '`task`, [event]',
  '$.a[#-1]',
  'LIKE %_\\',
]
/** The quick tests take every third. */
const names = everyNth(all, draws(6, 1))

/** What the tables are: of any two stores the same. */
function schemaOf(database: string): unknown {
  const db = new DatabaseSync(database, { readOnly: true })
  try {
    return db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all()
  } finally {
    db.close()
  }
}

test('X07 X08 names are data: none becomes a path or a piece of SQL, and each comes back as it was', async () => {
  const home = folder()
  const place = join(home, 'a/b/c')
  mkdirSync(place, { recursive: true })
  const untouched = join(place, 'untouched.db')
  await (
    await createRuntime({ store: `sqlite:${untouched}`, thread: false, tasks: [], logger: false })
  ).stop()
  const database = join(place, 'store.db')
  const tasks = names.map((type) =>
    defineTask({ type, input: z.string() }, async (ctx, name) => {
      const kept = await ctx.step(`${name} `, () => name)
      await ctx.emit(name)
      await ctx.checkpoint(name)
      const signaled = await ctx.waitForSignal(name)
      const [known] = (await ctx.exec('printf', ['%s', kept.replaceAll('\0', '')])).stdout.split('\n')
      return [kept, signaled, known]
    }),
  )
  await using runtime = await createRuntime({
    store: `sqlite:${database}`,
    thread: false,
    tasks,
    workers: { ids: names, capacity: 1 },
    config: { shares: {}, quotaConfig: { defaults: { model: { maxInFlight: 100 } } } },
    logger: false,
  })
  for (const [n, task] of tasks.entries()) {
    const name = names[n] ?? ''
    const receipt = await runtime.submit(task, name, {
      taskId: name,
      idempotencyKey: name,
      labels: { [name]: name },
      client: name,
      model: name,
      tools: [name],
    })
    expect(receipt).toMatchObject({ accepted: true, taskId: name })
    await runtime.schedules.put(name, { everyMs: 3_600_000 }, task, name)
    await runtime.signal(name, name, name)
    expect(await runtime.result(name)).toEqual([name, name, name.replaceAll('\0', '')])
    expect(await runtime.status(name)).toMatchObject({ type: name, client: name, labels: { [name]: name } })
    expect((await runtime.list({ types: [name] })).tasks.map(({ taskId }) => taskId)).toEqual([name])
    expect((await runtime.list({ parent: name })).tasks).toEqual([])
    expect(await runtime.schedules.get(name)).toMatchObject({ name })
    expect(await runtime.explain(name)).toMatchObject({ taskId: name })
  }
  expect((await runtime.list()).tasks).toHaveLength(names.length)
  expect((await runtime.workers()).map(({ workerId }) => workerId).toSorted()).toEqual(names.toSorted())
  await runtime.stop()

  const entries = readdirSync(home, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => !entry.isDirectory())
  expect(files.map(({ parentPath, name }) => join(parentPath, name)).toSorted()).toEqual([
    database,
    `${database}-anchor`,
    untouched,
    `${untouched}-anchor`,
  ])
  expect(schemaOf(database)).toEqual(schemaOf(untouched))
})

test('X13 a text that is made to take long is refused at once, wherever a name, a pattern or a time is expected', async () => {
  const task = defineTask({ type: 'task', input: z.null() }, () => null)
  await using runtime = await createRuntime({
    store: 'sqlite::memory:',
    tasks: [task],
    thread: false,
    telemetry: false,
    logger: false,
  })
  const texts = everyNth(
    [`${'a'.repeat(1_000_000)}!`, '* '.repeat(500_000), '.*'.repeat(500_000), '1-'.repeat(500_000)],
    draws(2, 1),
  )
  for (const text of texts) {
    const calls: (() => unknown)[] = [
      () => runtime.submit(text, null),
      () => runtime.submit(task, null, { taskId: text }),
      () => runtime.submit(task, null, { idempotencyKey: text }),
      () => runtime.submit(task, null, { client: text }),
      () => runtime.submit(task, null, { tools: [text] }),
      () => runtime.submit(task, null, { [text]: 1 }),
      () => runtime.submit(task, null, { lane: text as 'batch' }),
      () => runtime.status(text),
      () => runtime.list({ types: [text] }),
      () => runtime.list({ states: [text as 'queued'] }),
      () => runtime.on(text as '*', () => {}),
      () => runtime.signal('someone', text),
      () => runtime.schedules.put(text, { everyMs: 1_000 }, task, null),
      () => runtime.schedules.put('x', { cron: text }, task, null),
      () => runtime.schedules.put('x', { cron: '@daily', timeZone: text }, task, null),
      () => defineTask({ type: text, input: z.null() }, () => null),
    ]
    for (const call of calls) {
      const begun = process.cpuUsage()
      const error = await new Promise((resolve) => resolve(call())).then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      expect([call.toString(), (error as { code?: string })?.code]).toEqual([
        call.toString(),
        expect.stringMatching(/^invalid_(argument|config)$/),
      ])
      expect((error as Error).message.length).toBeLessThan(1_000)
      // A second of the processor: on a busy machine it takes longer.
      expect([call.toString(), process.cpuUsage(begun).user < 1_000_000]).toEqual([call.toString(), true])
    }
  }
})

test('X12 the program alone decides what a task is: no type and no value of a submission loads code', async () => {
  const place = folder()
  const module = join(place, 'module.mjs')
  const loaded = join(place, 'loaded')
  writeFileSync(
    module,
    `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(loaded)}, '')`,
  )
  const task = defineTask({ type: 'echo', input: z.any() }, (_, input) => input)
  const store = `sqlite:${join(place, 'store.db')}`
  await using runtime = await createRuntime({ store, thread: false, tasks: [task], logger: false })
  const lures = [module, pathToFileURL(module).href, `data:text/javascript,import(${JSON.stringify(module)})`]
  for (const lure of lures) {
    expect(await runtime.submit(lure, null)).toMatchObject({ accepted: false, reason: 'unknown_task_type' })
    const input = {
      module: lure,
      handler: lure,
      constructor: { name: lure },

      $ku0: ['Module', lure],
      nested: [{ $ku0: ['Function', `import('${lure}')`] }],
    }
    expect(await runtime.result(await runtime.submit(task, input))).toEqual(input)
  }
  expect(existsSync(loaded)).toBe(false)
})

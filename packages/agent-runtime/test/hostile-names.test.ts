import { mkdirSync, readdirSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineTask } from '../src/index.ts'
import { folder } from './real-processes.ts'

const names = [
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
  await (await createRuntime({ store: `sqlite:${untouched}`, tasks: [], logger: false })).stop()
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

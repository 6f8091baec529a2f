import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { draws, everyNth } from '../../../../tools/draws.ts'
import { describe, expect, onTestFinished, test } from 'vitest'
import { backupStore, inspectStore, verifyStore } from '@ku0/agent-runtime-persistence'
import { z } from 'zod'
import { checkDeploy, createRuntime, defineTask } from '../../src/index.ts'
import { createTestRuntime, type RecordedHistory, replayHistory } from '../../src/testing/index.ts'
import { recordHistory } from '../../src/testing/recorded-history.ts'
import { tellers } from './tellers.ts'
import { turns, virtualEnvironment, type VirtualRuntime, virtualRuntime } from '../virtual-runtime.ts'

const ran: string[] = []
const order = defineTask({ type: 'order', input: z.null() }, async (ctx) => {
  const a = await ctx.step('a', () => ran.push('a'))
  const text = await ctx.step('b', () => 'x'.repeat(10_000))
  await ctx.waitForSignal('go')
  await ctx.step('c', () => ran.push('c'))
  return [a, text.length]
})

/** A store with some tasks that wait for a signal, its processes over. */
async function left(count = 1) {
  ran.length = 0
  const folder = mkdtempSync(join(tmpdir(), 'ku0-edited-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const database = join(folder, 'store.db')
  const environment = virtualEnvironment()
  const open = () =>
    virtualRuntime({ database, environment, tasks: [order], config: { maxInlineBytes: 1_024 } })
  const it = await open()
  const taskIds: string[] = []
  for (let n = 0; n < count; n += 1) {
    const { taskId } = await it.runtime.submit(order, null)
    taskIds.push(taskId)
  }
  await it.elapse(10)
  await end(it)
  ran.length = 0
  return {
    database,
    taskIds,
    taskId: taskIds[0] ?? '',
    open,
    sql(...statements: readonly string[]) {
      const db = new DatabaseSync(database)
      for (const statement of statements) db.exec(statement)
      db.close()
    },
  }
}

async function end({ runtime, store }: VirtualRuntime): Promise<void> {
  const stopped = runtime.stop({ drain: false })
  void runtime.stop()
  await stopped
  await store.close()
}

const refused = (call: Promise<unknown>) =>
  call.then(
    () => false,
    (error: unknown) => {
      expect(error).toMatchObject({ code: 'store_corrupt' })
      return true
    },
  )

const edits = [
  ['a result', `UPDATE event SET data = replace(data, '"result":1', '"result":7') WHERE task = 1`, 3],
  ['a key', `UPDATE event SET data = replace(data, '"key":"a"', '"key":"x"') WHERE task = 1`, 3],
  ['a time', 'UPDATE event SET at = at + 1 WHERE task = 1 AND seq = 4', 4],
  ['an event taken out', 'DELETE FROM event WHERE task = 1 AND seq = 3', 3],
  ['the last event taken out', 'DELETE FROM event WHERE task = 1 AND seq = 5', 5],
  ['garbage', `UPDATE event SET data = 'garbage' WHERE task = 1 AND seq = 3`, 3],
  ['the submission', `UPDATE event SET data = 'xx' WHERE task = 1 AND seq = 1`, 1],
  ['the name of a blob', 'UPDATE event SET blob = NULL', 4],
  [
    'the name of a blob given to another event',
    'UPDATE event SET blob = (SELECT max(blob) FROM event) WHERE seq < 4',
    1,
  ],
  ['a blob', `UPDATE blob SET data = '"yy"'`, 4],
  ['a blob taken out', 'DELETE FROM blob', 4],
] as const

describe('a history that was changed in the database (docs/semantics.md 6.4)', () => {
  test.each(everyNth(edits, draws(5, 1)))(
    'H08 %s: replay says so, and goes through nothing',
    async (_, edit, seq) => {
      const it = await left()
      it.sql(edit)
      const { runtime } = await it.open()
      expect(await runtime.replay(it.taskId, { mode: 'verify' })).toMatchObject({
        type: 'order',
        verdict: 'edited',
        diverged: undefined,
        answered: { steps: 0, waits: 0, failures: 0 },
        error: {
          code: 'store_corrupt',
          message: expect.stringContaining(`task ${it.taskId} was changed: event ${seq} `) as string,
        },
      })
    },
  )

  test.each(everyNth(edits.slice(0, -2), draws(5, 1)))(
    'H08 %s: a live pass does not run, and parks the task',
    async (_, edit, seq) => {
      const it = await left()
      it.sql('CREATE TABLE kept AS SELECT * FROM event', edit)
      const parked = await it.open()
      await parked.runtime.signal(it.taskId, 'go')
      await parked.elapse(10)
      const waits = { state: 'waiting', waitingFor: 'divergence', attempt: 1, crashes: 0 }
      const found = { kind: 'history_edited', key: '', position: 0 }
      expect(await parked.runtime.status(it.taskId)).toMatchObject({ ...waits, divergence: found })
      expect(ran).toEqual([])
      expect(parked.log.filter(({ level }) => level === 'error')).toMatchObject([
        { message: 'the task is parked: its history in the database was changed', fields: found },
      ])
      expect((await parked.runtime.explain(it.taskId))?.summary).toMatch(
        new RegExp(`^is parked, its history in the database was changed: event ${seq}: .* then resume it$`),
      )
      await parked.runtime.resume(it.taskId)
      await parked.elapse(10)
      expect(await parked.runtime.status(it.taskId)).toMatchObject(waits)
      await end(parked)

      it.sql('INSERT OR REPLACE INTO event SELECT * FROM kept', 'DROP TABLE kept')
      const mended = await it.open()
      await mended.runtime.resume(it.taskId)
      await mended.elapse(10)
      expect(await mended.runtime.status(it.taskId)).toMatchObject({
        state: 'completed',
        output: [1, 10_000],
      })
      expect(ran).toEqual(['c'])
    },
  )

  test('the same with a store in its own thread', async () => {
    const it = await left()
    it.sql(edits[0][1])
    const found = Promise.withResolvers<unknown>()
    await using runtime = await createRuntime({
      store: `sqlite:${it.database}`,
      tasks: [order],
      telemetry: false,
      logger: { debug() {}, info() {}, warn() {}, error: found.resolve },
    })
    await runtime.signal(it.taskId, 'go')
    expect(await found.promise).toMatchObject({ kind: 'history_edited', taskId: it.taskId })
    while ((await runtime.stats()).running > 0) await turns()
    expect(await runtime.status(it.taskId)).toMatchObject({ state: 'waiting', waitingFor: 'divergence' })
  })

  test('H08 checkDeploy names the task, and goes on with the others', async () => {
    for (const edit of [edits[5][1], edits[6][1]]) {
      const it = await left(3)
      it.sql(edit)
      const report = await checkDeploy({ store: `sqlite:${it.database}`, tasks: [order] })
      expect(report).toMatchObject({ ok: false, checked: 3, agreed: 2, counts: { edited: 1 } })
      expect(report.edited).toMatchObject([{ taskId: it.taskId, type: 'order' }])
    }
  })

  test('a list without values has the task, also where a long submission cannot be read', async () => {
    const it = await left(2)
    it.sql(`UPDATE event SET data = data || '${'x'.repeat(5_000)}' WHERE task = 1 AND seq = 1`)
    const { runtime } = await it.open()
    const { tasks } = await runtime.list({ values: false })
    expect(tasks.map(({ taskId, type }) => [taskId, type])).toEqual(
      it.taskIds.map((taskId) => [taskId, 'order']).toReversed(),
    )
  })

  test.each(everyNth(edits, draws(edits.length, 1)))(
    'H08 %s: neither fork nor retry goes on from it, and nothing is written',
    async (_, edit) => {
      const it = await left()
      it.sql(edit)
      const { runtime, store } = await it.open()
      await runtime.cancel(it.taskId)
      const { tasks } = await runtime.list()
      const corrupt = {
        code: 'store_corrupt',
        message: expect.stringContaining(`task ${it.taskId} was changed: event`) as string,
      }
      for (let times = 0; times < 2; times += 1) {
        await expect(runtime.fork(it.taskId)).rejects.toMatchObject(corrupt)
        await expect(runtime.fork(it.taskId, { fromStep: 'a', taskId: 'mine' })).rejects.toMatchObject(
          corrupt,
        )
        await expect(runtime.retry(it.taskId, { idempotencyKey: 'once' })).rejects.toMatchObject(corrupt)
      }
      expect((await runtime.list()).tasks).toEqual(tasks)
      // Neither the id nor the key was taken, and the store goes on.
      const key = { taskId: 'mine', idempotencyKey: 'once' }
      expect(await runtime.submit(order, null, key)).toMatchObject({ accepted: true, deduplicated: false })
      expect((await store.read({ kind: 'stats' })).repeatedFlushes).toBe(0)
    },
  )

  test.each(draws<readonly (0 | 1)[]>([0], [0, 1]))(
    'H08 a replay reports it, of a task that is not over (0) or is (1)',
    async (isOver) => {
      const it = await left()
      if (isOver) {
        const before = await it.open()
        await before.runtime.signal(it.taskId, 'go')
        await before.elapse(10)
        await end(before)
      }
      it.sql(edits[0][1])
      const { runtime, store, log, elapse } = await it.open()
      const url = `sqlite:${it.database}`
      const status = async () => (await runtime.status(it.taskId)) as { waitingFor?: string } | undefined
      const told: Record<keyof typeof tellers, readonly (() => Promise<boolean>)[]> = {
        '`inspectStore`, opening the store': [
          async () => log.length > 0,
          async () => (await inspectStore(url)).problems.some(({ level }) => level === 'error'),
        ],
        '`runtime.status`, `runtime.list`, `runtime.result`, `runtime.events`': [
          () => refused(runtime.status(it.taskId)),
          () => refused(runtime.list()),
          () => refused(runtime.events(it.taskId)[Symbol.asyncIterator]().next()),
          ...(isOver ? [() => refused(runtime.result(it.taskId))] : []),
        ],
        '`verifyStore`, `backupStore`': [
          async () => !(await verifyStore(url)).ok,
          () => refused(backupStore(url, `${it.database}.copy`)),
        ],
        '`runtime.replay`, `runtime.fork`, `runtime.retry`, `test.record`': [
          async () => (await runtime.replay(it.taskId, { mode: 'verify' })).verdict === 'edited',
          () => refused(runtime.fork(it.taskId)),
          () => refused(recordHistory(store, it.taskId)),
        ],
        '`checkDeploy`': [async () => !(await checkDeploy({ store: url, tasks: [order] })).ok],
        'the next pass of its handler': [
          async () => {
            if (!isOver) await runtime.signal(it.taskId, 'go')
            await elapse(10)
            return (await status())?.waitingFor === 'divergence'
          },
        ],
      }
      for (const [who, ways] of Object.entries(told))
        for (const way of ways)
          expect([who, await way()]).toEqual([who, tellers[who as keyof typeof tellers][isOver] === 'yes'])
    },
  )

  test('test.record writes none of it down', async () => {
    const it = await left()
    it.sql(edits[0][1])
    const { store } = await it.open()
    await expect(recordHistory(store, it.taskId)).rejects.toMatchObject({
      code: 'store_corrupt',
      details: { taskId: it.taskId, seq: 3 },
    })
  })

  test('a sound history is not suspected: signals that came between, a big value, a fork', async () => {
    const it = await left()
    const { runtime, elapse } = await it.open()
    const fork = await runtime.fork(it.taskId, { fromStep: 'b' })
    await runtime.signal(it.taskId, 'other', 'y'.repeat(5_000))
    await runtime.signal(it.taskId, 'other', { $blob: 'a'.repeat(64), size: 3 })
    for (const task of [it.taskId, fork.taskId]) {
      await runtime.signal(task, 'go')
      await elapse(10)
      expect(await runtime.status(task)).toMatchObject({ state: 'completed' })
      expect(await runtime.replay(task, { mode: 'verify' })).toMatchObject({ verdict: 'agreed' })
    }
  })
})

describe('replayHistory', () => {
  test.each([
    ['a result', (events: Event[]) => change(events, 2, { data: { ...events[2]?.data, result: 7 } })],
    ['a time', (events: Event[]) => change(events, 2, { at: (events[2]?.at ?? 0) + 1 })],
    ['the last event taken out', (events: Event[]) => events.pop()],
    ['a type that there is not', (events: Event[]) => change(events, 3, { type: 'task.nonsense' })],
  ])('%s: the file is not as it was recorded, and is refused', async (_, edit) => {
    await using it = await createTestRuntime({ tasks: [order] })
    const receipt = await it.runtime.submit(order, null)
    await it.until(receipt, 'waiting')
    const history = JSON.parse(JSON.stringify(await it.record(receipt))) as RecordedHistory
    expect(await replayHistory(order, history)).toMatchObject({ verdict: 'agreed' })
    const events = [...history.events]
    edit(events)
    await expect(replayHistory(order, { ...history, events })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('was changed after it was recorded') as string,
    })
    const { hash, ...older } = history
    expect(hash).toMatch(/^[0-9a-f]{64}$/)
    expect(await replayHistory(order, older)).toMatchObject({ verdict: 'agreed' })
  })

  test.each([
    ['an event taken out', (events: Event[]) => events.splice(2, 1), 'event 3 has seq 4'],
    ['a time that is none', (events: Event[]) => change(events, 3, { at: 'soon' }), 'event 4 has at'],
    ['no data', (events: Event[]) => change(events, 2, { data: null }), 'event 3 is'],
    [
      'a wait without its waits',
      (events: Event[]) => change(events, 4, { data: {} }),
      'event 5 (task.waiting)',
    ],
    [
      'a step without a result',
      (events: Event[]) => change(events, 2, { data: { key: 'a' } }),
      'event 3 (step',
    ],
  ])('%s: rejects, naming it', async (_, edit, message) => {
    await using it = await createTestRuntime({ tasks: [order] })
    const receipt = await it.runtime.submit(order, null)
    await it.until(receipt, 'waiting')
    const history = await it.record(receipt)
    const events = [...history.events]
    edit(events)
    const replayed = replayHistory(order, { ...history, events })
    await expect(replayed).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(message) as string,
    })
    await turns()
  })
})

type Event = RecordedHistory['events'][number]

function change(events: Event[], index: number, by: object): void {
  events[index] = { ...(events[index] as Event), ...by }
}

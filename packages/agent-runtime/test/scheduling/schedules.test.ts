import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  createRuntime,
  defineTask,
  type RuntimeEvent,
  type ScheduleOptions,
  type Timing,
} from '../../src/index.ts'
import { createTestRuntime, type TestRuntime } from '../../src/testing/index.ts'
import { join } from 'node:path'
import { folder } from '../real-processes.ts'
import { gate, virtualRuntime } from '../virtual-runtime.ts'
import { minute, hour, report } from './schedules-scene.ts'

const day = 24 * hour

const daily: Timing = { cron: '0 9 * * *', timeZone: 'Europe/Paris' }
const start = new Date('2026-03-27T12:00Z')

/** What a schedule's runs were for. */
async function runsOf({ runtime }: Pick<TestRuntime, 'runtime'>): Promise<(string | undefined)[]> {
  const { tasks } = await runtime.list({ limit: 1_000 })
  return tasks
    .toReversed()
    .map(({ scheduledFor }) =>
      scheduledFor === undefined ? undefined : new Date(scheduledFor).toISOString().replace(':00.000Z', ''),
    )
}

describe('a schedule', () => {
  test('names its next times, through the change of clocks, and none while it is paused', async () => {
    await using world = await createTestRuntime({ tasks: [report], now: start })
    const { schedules } = world.runtime
    await schedules.put('daily', daily, report, { team: 'a' })
    await schedules.put('often', { everyMs: hour }, report, { team: 'b' })
    const texts = async (name: string, count?: number) =>
      (await schedules.upcoming(name, count)).map((at) => new Date(at).toISOString().slice(0, 16))
    expect(await texts('daily')).toEqual([
      '2026-03-28T08:00',
      '2026-03-29T07:00',
      '2026-03-30T07:00',
      '2026-03-31T07:00',
      '2026-04-01T07:00',
    ])
    expect(await texts('often', 2)).toEqual(['2026-03-27T13:00', '2026-03-27T14:00'])
    await schedules.pause('daily')
    expect(await schedules.upcoming('daily')).toEqual([])
    await expect(schedules.upcoming('none')).rejects.toMatchObject({ code: 'not_found' })
    await expect(schedules.upcoming('often', 0)).rejects.toMatchObject({ code: 'invalid_argument' })
  })

  test('submits its task at its times, through the change of clocks', async () => {
    await using world = await createTestRuntime({ tasks: [report], now: start })
    const { schedules } = world.runtime
    const put = await schedules.put('daily', daily, report, { team: 'a' }, { labels: { of: 'cron' } })
    expect(put).toMatchObject({
      name: 'daily',
      timing: daily,
      task: 'report',
      input: { team: 'a' },
      lane: 'batch',
      catchUp: 'one',
      graceMs: minute,
      overlap: 'allow',
      nextAt: Date.parse('2026-03-28T08:00Z'),
      runs: 0,
    })
    await world.advance(3 * day)
    expect(await runsOf(world)).toEqual(['2026-03-28T08:00', '2026-03-29T07:00', '2026-03-30T07:00'])
    const { tasks } = await world.runtime.list()
    expect(tasks[0]).toMatchObject({
      state: 'completed',
      lane: 'batch',
      schedule: 'daily',
      labels: { of: 'cron' },
      output: `a: daily ${Date.parse('2026-03-30T07:00Z')}`,
      submittedAt: Date.parse('2026-03-30T07:00Z'),
    })
    expect(await schedules.get('daily')).toMatchObject({
      runs: 3,
      missed: 0,
      lastDueAt: Date.parse('2026-03-30T07:00Z'),
      lastAt: Date.parse('2026-03-30T07:00Z'),
      lastTaskId: tasks[0]?.taskId,
      nextAt: Date.parse('2026-03-31T07:00Z'),
    })
  })

  test('an interval keeps its step for a year and beyond 2^31 ms', async () => {
    await using world = await createTestRuntime({ tasks: [report], now: start })
    await world.runtime.schedules.put('monthly', { everyMs: 30 * day }, report, { team: 'a' })
    await world.advance(91 * day)
    const { tasks } = await world.runtime.list()
    expect(tasks.map(({ submittedAt }) => (submittedAt - start.getTime()) / day)).toEqual([90, 60, 30])
  })

  test('the event of its run names it', async () => {
    await using world = await createTestRuntime({ tasks: [report], now: start })
    const heard: RuntimeEvent[] = []
    world.runtime.on('task.queued', (event) => heard.push(event))
    await world.runtime.schedules.put('often', { everyMs: minute }, report, { team: 'a' })
    await world.advance(minute)
    const scheduledFor = start.getTime() + minute
    expect(heard.map(({ data }) => data)).toMatchObject([
      { schedule: 'often', scheduledFor, idempotencyKey: `schedule:often:${scheduledFor}` },
    ])
  })

  test('J07 put again at every start, it goes on as it was', async () => {
    await using world = await createTestRuntime({ tasks: [report], now: start })
    const { schedules } = world.runtime
    const put = (team: string, timing: Timing = { everyMs: hour }) =>
      schedules.put('x', timing, report, { team })
    const first = await put('a')
    await world.advance(20 * minute)
    expect(await put('a')).toEqual(first)
    expect(await put('b')).toMatchObject({ nextAt: first.nextAt, input: { team: 'b' } })
    const { nextAt } = await put('b', { everyMs: 2 * hour })
    expect(nextAt).toBe(world.now + 2 * hour)
    await world.advance(2 * hour)
    expect((await world.runtime.list()).tasks).toMatchObject([{ input: { team: 'b' } }])
  })

  test('list, get and remove', async () => {
    await using world = await createTestRuntime({ tasks: [report], now: start })
    const { schedules } = world.runtime
    for (let n = 0; n < 120; n += 1)
      await schedules.put(`s${String(n).padStart(3, '0')}`, { everyMs: hour }, report, { team: 'a' })
    const listed = await schedules.list()
    expect(listed).toHaveLength(120)
    expect(listed[119]?.name).toBe('s119')
    expect(await schedules.remove('s000')).toBe(true)
    expect(await schedules.remove('s000')).toBe(false)
    expect(await schedules.get('s000')).toBeUndefined()
    await world.advance(hour)
    expect((await world.runtime.stats()).totals).toMatchObject({ completed: 119 })
  })

  test('a pause lets times pass; resume goes on at the next', async () => {
    await using world = await createTestRuntime({ tasks: [report], now: start })
    const { schedules } = world.runtime
    await schedules.put('x', { everyMs: hour }, report, { team: 'a' }, { catchUp: 'all' })
    expect(await schedules.pause('x')).toMatchObject({ paused: true })
    await world.advance(2.5 * hour)
    const paused = await schedules.get('x')
    expect(paused).toMatchObject({ paused: true })
    // The time that it had has passed, and nothing runs at another.
    expect(paused).not.toHaveProperty('nextAt')
    expect(await schedules.put('x', { everyMs: hour }, report, { team: 'b' })).not.toHaveProperty('nextAt')
    expect(
      await schedules.put('x', { everyMs: hour }, report, { team: 'a' }, { catchUp: 'all' }),
    ).toMatchObject({
      paused: true,
    })
    expect(await schedules.resume('x')).toMatchObject({ paused: false, nextAt: start.getTime() + 3 * hour })
    await world.advance(hour)
    expect((await world.runtime.list()).tasks).toHaveLength(1)
    expect(await schedules.get('x')).toMatchObject({ runs: 1, missed: 0 })
  })

  test('trigger runs it now, paused or not, and leaves its times alone', async () => {
    await using world = await createTestRuntime({ tasks: [report], now: start })
    const { schedules } = world.runtime
    const { nextAt } = await schedules.put('x', { everyMs: hour }, report, { team: 'a' })
    await schedules.pause('x')
    const receipt = await schedules.trigger('x')
    expect(await world.result(receipt)).toBe('a: x now')
    expect(await schedules.get('x')).toMatchObject({ runs: 1, lastTaskId: receipt.taskId })
    expect((await schedules.resume('x')).nextAt).toBe(nextAt)
    await world.result(await schedules.trigger('x'))
    expect(await schedules.get('x')).toMatchObject({ runs: 2, nextAt })
    expect(await runsOf(world)).toEqual([undefined, undefined])
  })

  test('a run that the limits refuse is recorded, and the next time comes', async () => {
    const { runtime, elapse, log } = await virtualRuntime({
      tasks: [report],
      workers: { capacity: 1, types: ['report'] },
      config: { queueDepthLimit: 1, batchBackpressureThreshold: 1 },
    })
    await runtime.schedules.put('x', { everyMs: minute }, 'elsewhere', null)
    await elapse(2 * minute)
    const schedule = await runtime.schedules.get('x')
    expect(schedule).toMatchObject({ runs: 1, rejected: 1, nextAt: (schedule?.lastDueAt ?? 0) + minute })
    expect(await runtime.status(schedule?.lastTaskId ?? '')).toMatchObject({
      state: 'rejected',
      reason: 'queue_full',
    })
    expect(log).toMatchObject([{ level: 'warn', message: 'a run of a schedule was refused' }])
  })

  test('overlap skip leaves times out while the last run goes on', async () => {
    const open = gate()
    const slow = defineTask({ type: 'slow', input: z.null() }, () => open.promise)
    const { runtime, elapse } = await virtualRuntime({ tasks: [slow] })
    await runtime.schedules.put('x', { everyMs: minute }, slow, null, { overlap: 'skip' })
    await elapse(3 * minute)
    expect(await runtime.schedules.get('x')).toMatchObject({ runs: 1, skipped: 2 })
    open.resolve()
    await elapse(minute)
    expect(await runtime.schedules.get('x')).toMatchObject({ runs: 2, skipped: 2 })
  })

  test('a process without workers fires nothing; what is stopped fires nothing', async () => {
    const { runtime, elapse } = await virtualRuntime({ tasks: [report], workers: 0 })
    await runtime.schedules.put('x', { everyMs: minute }, report, { team: 'a' })
    await elapse(3 * minute)
    expect((await runtime.list()).tasks).toEqual([])
    await runtime.stop()
    await expect(runtime.schedules.list()).rejects.toThrow('the runtime was stopped')
  })
})

describe('after nothing ran', () => {
  const policies: [NonNullable<ScheduleOptions['catchUp']>, number[], number][] = [
    ['skip', [], 3],
    ['one', [3], 2],
    ['all', [1, 2, 3], 0],
  ]

  test.each(policies)('C08 for three periods, %s runs %j', async (catchUp, runs, missed) => {
    await using world = await createTestRuntime({ tasks: [report], now: start, crashes: true })
    await world.runtime.schedules.put('x', { everyMs: hour }, report, { team: 'a' }, { catchUp })
    await world.settle()
    world.crash()
    await world.advance(3.5 * hour)
    await world.restart()
    await world.settle()
    const { tasks } = await world.runtime.list()
    const ran = tasks.toReversed().map(({ scheduledFor = 0 }) => (scheduledFor - start.getTime()) / hour)
    expect(ran).toEqual(runs)
    expect(await world.runtime.schedules.get('x')).toMatchObject({
      runs: runs.length,
      missed,
      nextAt: start.getTime() + 4 * hour,
    })
    await world.advance(hour)
    expect((await world.runtime.list()).tasks).toHaveLength(runs.length + 1)
  })

  test('a time within its grace is on time, whatever the policy', async () => {
    await using world = await createTestRuntime({ tasks: [report], now: start, crashes: true })
    const { schedules } = world.runtime
    await schedules.put(
      'x',
      { everyMs: hour },
      report,
      { team: 'a' },
      { catchUp: 'skip', graceMs: 5 * minute },
    )
    world.crash()
    await world.advance(hour + 4 * minute)
    await world.restart()
    await world.settle()
    expect(await world.runtime.schedules.get('x')).toMatchObject({ runs: 1, missed: 0 })
  })

  test('all is bounded by maxCatchUp: the newest run', async () => {
    const { runtime, block, elapse, environment, log } = await virtualRuntime({
      tasks: [report],
      config: { maxCatchUp: 2 },
    })
    const begun = environment.clock.now()
    await runtime.schedules.put('x', { everyMs: hour }, report, { team: 'a' }, { catchUp: 'all' })
    await block(5 * hour)
    await elapse(1_000)
    const { tasks } = await runtime.list()
    expect(tasks.map(({ scheduledFor = 0 }) => (scheduledFor - begun) / hour)).toEqual([5, 4])
    expect(await runtime.schedules.get('x')).toMatchObject({ runs: 2, missed: 3 })
    expect(log).toMatchObject([{ level: 'warn', fields: { schedule: 'x', missed: 3, runs: 2 } }])
  })
})

describe('several processes and crashes', () => {
  test.each([1, 2, 3, 4, 5, 6])(
    'a crash after commit %i loses no time and runs none twice',
    async (commit) => {
      await using world = await createTestRuntime({ tasks: [report], now: start, crashes: true })
      await world.runtime.schedules.put('x', { everyMs: hour }, report, { team: 'a' }, { catchUp: 'all' })
      world.crashAfter(commit)
      await expect(world.advance(4 * hour)).rejects.toThrow('the process crashed')
      await world.advance(10 * minute)
      await world.restart()
      await world.advance(new Date(start.getTime() + 4 * hour + minute))
      const { tasks } = await world.runtime.list()
      expect(tasks.map(({ scheduledFor = 0 }) => (scheduledFor - start.getTime()) / hour)).toEqual([
        4, 3, 2, 1,
      ])
      expect(tasks.every(({ state }) => state === 'completed')).toBe(true)
    },
  )
})

test('a schedule fires in real time, with a store in its own thread', async () => {
  await using runtime = await createRuntime({
    store: 'sqlite::memory:',
    tasks: [report],
    telemetry: false,
    logger: false,
  })
  const done = Promise.withResolvers<string>()
  runtime.on('task.completed', ({ taskId }) => done.resolve(taskId))
  const { nextAt } = await runtime.schedules.put('soon', { everyMs: 1_000 }, report, { team: 'a' })
  const status = await runtime.status(await done.promise)
  expect(status).toMatchObject({ schedule: 'soon', scheduledFor: nextAt })
  expect(status?.submittedAt).toBeGreaterThanOrEqual(nextAt ?? 0)
})

test('J07 a schedule that ten put at their start is one, and every time of it runs once', async () => {
  const store = `sqlite:${join(folder(), 'store.db')}`
  await using stack = new AsyncDisposableStack()
  const runtimes = await Promise.all(
    Array.from({ length: 10 }, () =>
      createRuntime({ store, tasks: [report], thread: false, telemetry: false, logger: false }),
    ),
  )
  for (const runtime of runtimes) stack.use(runtime)
  const [first] = runtimes
  const ended: number[] = []
  const twice = Promise.withResolvers<void>()
  first?.on('task.completed', ({ at }) => ended.push(at) === 2 && twice.resolve())
  const puts = await Promise.all(
    runtimes.map(({ schedules }) => schedules.put('x', { everyMs: 1_000 }, report, { team: 'a' })),
  )
  const [{ timing } = {}] = puts
  expect(puts.map((put) => put.timing)).toEqual(puts.map(() => timing))
  await twice.promise
  const known = await first?.schedules.list()
  expect(known).toMatchObject([{ name: 'x', missed: 0, skipped: 0, rejected: 0 }])
  const { tasks = [] } = { ...(await first?.list()) }
  const times = tasks.map(({ scheduledFor = 0 }) => scheduledFor).toReversed()
  const { anchorAt = 0 } = timing as { anchorAt?: number }
  expect(times.map((time) => time - anchorAt)).toEqual(times.map((_, n) => (n + 1) * 1_000))
  expect(times.length).toBeGreaterThanOrEqual(2)
})

describe('schedules that cannot be put', () => {
  const bad: [string, unknown, string][] = [
    ['no timing', undefined, "schedule 'x': a timing"],
    ['an empty one', {}, 'either cron or everyMs'],
    ['both', { cron: '* * * * *', everyMs: 1_000 }, 'either cron or everyMs'],
    [
      'a misspelt option',
      { cron: '* * * * *', timezone: 'UTC' },
      'timing.timezone: no such option, did you mean timeZone?',
    ],
    ['a bad cron', { cron: '0 25 * * *' }, 'Invalid value for hour: 25'],
    [
      'a time that never comes',
      { cron: '0 0 31 2 *' },
      "the cron expression '0 0 31 2 *' matches no time that ever comes",
    ],
    ['a zone that is none', { cron: '* * * * *', timeZone: 'Europe/Mars' }, "such as 'Europe/Paris'"],
    ['an interval below a second', { everyMs: 999 }, 'timing.everyMs: a whole number of ms from 1000'],
    ['an interval of a zone', { everyMs: 5_000, timeZone: 'UTC' }, 'without a timeZone'],
  ]
  test.each(bad)('%s', async (_, timing, message) => {
    const { runtime } = await virtualRuntime({ tasks: [report] })
    const put = runtime.schedules.put('x', timing as Timing, report, { team: 'a' })
    await expect(put).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(message) as string,
    })
    expect(await runtime.schedules.list()).toEqual([])
  })

  test('names, options, inputs and tasks are checked', async () => {
    const { runtime } = await virtualRuntime({ tasks: [report], config: { maxSchedules: 1 } })
    const { schedules } = runtime
    const timing = { everyMs: hour }
    await expect(schedules.put('', timing, report, { team: 'a' })).rejects.toThrow('schedules.put: a name of')
    await expect(schedules.get('x'.repeat(256))).rejects.toThrow('schedules.get: a name of')
    await expect(
      schedules.put('x', timing, report, { team: 'a' }, { catchup: 'all' } as ScheduleOptions),
    ).rejects.toThrow('did you mean catchUp?')
    await expect(schedules.put('x', timing, report, { team: 7 as never })).rejects.toMatchObject({
      code: 'invalid_payload',
    })
    await expect(schedules.put('x', timing, 7 as never, null)).rejects.toMatchObject({
      code: 'invalid_argument',
    })
    await expect(schedules.put('x', timing, 'elsewhere', () => 1)).rejects.toMatchObject({
      code: 'step_not_serializable',
    })
    for (const call of ['pause', 'resume', 'trigger'] as const)
      await expect(schedules[call]('nobody')).rejects.toMatchObject({ code: 'not_found' })
    await schedules.put('x', timing, 'elsewhere', { any: 'thing' })
    await expect(schedules.put('y', timing, report, { team: 'a' })).rejects.toMatchObject({
      code: 'limit_exceeded',
      message: expect.stringContaining('maxSchedules 1') as string,
    })
  })
})

describe('delayed tasks', () => {
  test('one that is delayed for days starts at its time, to the ms', async () => {
    await using world = await createTestRuntime({ tasks: [report], now: start })
    const receipt = await world.runtime.submit(report, { team: 'a' }, { delayMs: 40 * day })
    await world.advance(40 * day - 1)
    expect(await world.runtime.status(receipt)).toMatchObject({ state: 'queued' })
    await world.advance(1)
    expect(await world.runtime.status(receipt)).toMatchObject({
      state: 'completed',
      startedAt: start.getTime() + 40 * day,
    })
  })

  test('C08 one that came due while nothing ran starts with the next process, once', async () => {
    await using world = await createTestRuntime({ tasks: [report], now: start, crashes: true })
    const dueAt = start.getTime() + 3 * day
    const receipt = await world.runtime.submit(report, { team: 'a' }, { dueAt })
    await world.settle()
    world.crash()
    await world.advance(10 * day)
    await world.restart()
    expect(await world.result(receipt)).toBe('a: nobody now')
    expect((await world.history(receipt)).attempts).toBe(1)
    expect(await world.runtime.status(receipt)).toMatchObject({ attempt: 1 })
  })
})

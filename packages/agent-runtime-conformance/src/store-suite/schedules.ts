import type { ScheduleDefinition, OutcomeOf, Write } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

export function schedules({ rule, timed, expect }: Suite): void {
  const hour = 3_600_000
  const run = { type: 'work', lane: 'batch', input: '"tick"' } as const
  const hourly = (scene: Scene, more: Partial<ScheduleDefinition> = {}): ScheduleDefinition => ({
    timing: { everyMs: hour, anchorAt: scene.now },
    run,
    catchUp: 'one',
    graceMs: 60_000,
    overlap: 'allow',
    ...more,
  })
  /** One whose time comes within a hundred ticks: a store on a server asks it at each tick. */
  const soon = 10_000
  const frequent = (scene: Scene) => hourly(scene, { timing: { everyMs: soon, anchorAt: scene.now } })
  const put = (scene: Scene, definition: ScheduleDefinition, nextAt = scene.now + hour, name = 'hourly') =>
    scene.write({ kind: 'putSchedule', name, definition, nextAt })
  const get = async (scene: Scene, name = 'hourly') =>
    (await scene.read({ kind: 'schedules', filter: { name } }))[0]
  const firing = async (scene: Scene, more: Partial<Write<'fireSchedule'>> = {}) => {
    const schedule = await get(scene)
    const dueAt = schedule?.nextAt ?? 0
    return {
      kind: 'fireSchedule',
      name: 'hourly',
      timing: schedule?.timing ?? { everyMs: 1, anchorAt: 0 },
      dueAt,
      runs: [dueAt],
      missed: 0,
      nextAt: dueAt + hour,
      ...more,
    } as const
  }
  const fire = async (
    scene: Scene,
    more: Partial<Write<'fireSchedule'>> = {},
  ): Promise<OutcomeOf<'fireSchedule'>> => scene.write(await firing(scene, more))
  const lost = { fired: false, receipts: [] }
  /** How often the store has said that a schedule is due. */
  const listening = (scene: Scene) => {
    const said = { times: 0 }
    scene.store.listen({ schedulesDue: () => void (said.times += 1) })
    return said
  }

  rule('a schedule is created, and read by its name', async (scene) => {
    const definition = hourly(scene)
    const nextAt = scene.now + hour
    const outcome = await put(scene, definition, nextAt)
    expect(outcome).toMatchObject({ as: 'put', change: 'created' })
    expect(await get(scene)).toMatchObject({ ...definition, name: 'hourly', paused: false, nextAt, runs: 0 })
    expect(await get(scene, 'daily')).toBeUndefined()
    expect(await scene.read({ kind: 'schedules', filter: {} })).toHaveLength(1)
  })

  timed('the same definition again changes nothing: the next time stays', async (scene) => {
    await put(scene, hourly(scene))
    const before = await get(scene)
    await scene.pass(1_000)
    const again = await put(scene, hourly(scene))
    expect(again).toMatchObject({ as: 'put', change: 'unchanged' })
    expect(await get(scene)).toEqual(before)
  })

  timed('another input keeps the next time, another timing takes the new one', async (scene) => {
    await put(scene, hourly(scene))
    const { nextAt, timing } = (await get(scene)) ?? {}
    await scene.pass(1_000)
    await put(scene, hourly(scene, { run: { ...run, input: '2' } }))
    expect(await get(scene)).toMatchObject({ nextAt: nextAt ?? 0, timing: timing ?? {}, run: { input: '2' } })
    const daily = hourly(scene, { timing: { cron: '0 9 * * *', timeZone: 'UTC' } })
    const changed = await put(scene, daily, scene.now + 5)
    expect(changed).toMatchObject({ as: 'put', change: 'replaced', schedule: { nextAt: scene.now + 5 } })
    expect(await get(scene)).toMatchObject({ changedAt: scene.now, createdAt: scene.now - 1_000 })
  })

  rule(
    'maxSchedules bounds how many there are; one that is known can be changed',
    async (scene) => {
      await put(scene, hourly(scene), scene.now + hour, 'a')
      await put(scene, hourly(scene), scene.now + hour, 'b')
      expect(await put(scene, hourly(scene), scene.now + hour, 'c')).toEqual({ as: 'full' })
      const changed = await put(scene, hourly(scene, { catchUp: 'all' }), scene.now + hour, 'b')
      expect(changed).toMatchObject({ as: 'put', change: 'replaced' })
      expect(await scene.write({ kind: 'removeSchedule', name: 'a' })).toBe(true)
      expect(await put(scene, hourly(scene), scene.now + hour, 'c')).toMatchObject({ as: 'put' })
    },
    { config: { maxSchedules: 2 } },
  )

  rule('firing submits the run and moves the schedule on, in one commit', async (scene) => {
    await put(scene, hourly(scene, { run: { ...run, labels: { team: 'a' }, client: 'cron' } }))
    const dueAt = (await get(scene))?.nextAt ?? 0
    const { commits } = await scene.stats()
    const { fired, receipts } = await fire(scene)
    expect((await scene.stats()).commits).toBe(commits + 1)
    expect(fired).toBe(true)
    const [receipt] = receipts
    expect(await scene.task(receipt?.taskId ?? '')).toMatchObject({
      type: 'work',
      lane: 'batch',
      input: '"tick"',
      labels: { team: 'a' },
      client: 'cron',
      schedule: 'hourly',
      scheduledFor: dueAt,
    })
    expect(await get(scene)).toMatchObject({
      nextAt: dueAt + hour,
      lastDueAt: dueAt,
      lastTaskId: receipt?.taskId ?? '',
      runs: 1,
      missed: 0,
    })
  })

  rule('the second of two processes that fire one time is too late', async (scene) => {
    await put(scene, hourly(scene))
    const it = await firing(scene)
    const [first, second] = await Promise.all([scene.write(it), scene.write(it)])
    expect(first).toMatchObject({ fired: true })
    expect(second).toEqual(lost)
    expect(await scene.write(it)).toEqual(lost)
    expect(await scene.stats()).toMatchObject({ totals: { submitted: 1 } })
  })

  rule('a time that was computed from another timing is not taken', async (scene) => {
    await put(scene, hourly(scene))
    const it = await firing(scene)
    await put(scene, hourly(scene, { timing: { cron: '0 * * * *', timeZone: 'UTC' } }), it.dueAt)
    expect(await scene.write(it)).toEqual(lost)
    expect(await fire(scene)).toMatchObject({ fired: true })
  })

  rule('a paused schedule fires nothing, and goes on where it is resumed', async (scene) => {
    await put(scene, hourly(scene))
    const { timing = { everyMs: 1, anchorAt: 0 }, nextAt = 0 } = (await get(scene)) ?? {}
    expect(await scene.write({ kind: 'pauseSchedule', name: 'hourly' })).toMatchObject({ paused: true })
    expect(await fire(scene)).toEqual(lost)
    expect(await scene.read({ kind: 'schedules', filter: { dueBy: nextAt } })).toEqual([])
    // Put again, as programs do when they start.
    await put(scene, hourly(scene, { catchUp: 'skip' }))
    expect(await get(scene)).toMatchObject({ paused: true, catchUp: 'skip' })
    const other = { cron: '* * * * *', timeZone: 'UTC' }
    const resume = { kind: 'resumeSchedule', name: 'hourly', timing, nextAt: nextAt + hour } as const
    expect(await scene.write({ ...resume, timing: other })).toEqual({ as: 'changed' })
    expect(await scene.write(resume)).toMatchObject({ as: 'resumed', schedule: { paused: false } })
    expect(await get(scene)).toMatchObject({ paused: false, nextAt: nextAt + hour })
    expect(await scene.write({ ...resume, nextAt: 1 })).toMatchObject({ schedule: { nextAt: nextAt + hour } })
  })

  rule('there is nothing to do with an unknown one', async (scene) => {
    const name = 'nobody'
    const timing = { everyMs: 1_000, anchorAt: 0 }
    expect(await scene.write({ kind: 'pauseSchedule', name })).toBeUndefined()
    expect(await scene.write({ kind: 'resumeSchedule', name, timing, nextAt: 1 })).toEqual({ as: 'unknown' })
    expect(await scene.write({ kind: 'removeSchedule', name })).toBe(false)
    expect(await scene.write({ kind: 'triggerSchedule', name })).toBeUndefined()
    const it = { kind: 'fireSchedule', name, timing, dueAt: 0, runs: [0], missed: 0, nextAt: 1 } as const
    expect(await scene.write(it)).toEqual(lost)
  })

  rule('one that was removed fires no more; what it submitted stays', async (scene) => {
    await put(scene, hourly(scene))
    const { receipts } = await fire(scene)
    const it = await firing(scene)
    expect(await scene.write({ kind: 'removeSchedule', name: 'hourly' })).toBe(true)
    expect(await scene.write(it)).toEqual(lost)
    expect(await scene.read({ kind: 'schedules', filter: {} })).toEqual([])
    expect(await scene.state(receipts[0]?.taskId ?? '')).toBe('queued')
  })

  rule('a time runs once, also under a schedule that was made again', async (scene) => {
    await put(scene, hourly(scene))
    const dueAt = (await get(scene))?.nextAt ?? 0
    await fire(scene)
    await scene.write({ kind: 'removeSchedule', name: 'hourly' })
    await put(scene, hourly(scene), dueAt)
    expect(await fire(scene)).toMatchObject({ fired: true, receipts: [{ deduplicated: true }] })
    expect(await get(scene)).toMatchObject({ runs: 0, skipped: 1, nextAt: dueAt + hour })
    expect(await scene.stats()).toMatchObject({ totals: { submitted: 1 } })
  })

  rule('several times are run in order, and what is left out is counted', async (scene) => {
    await put(scene, hourly(scene, { catchUp: 'all' }))
    const first = (await get(scene))?.nextAt ?? 0
    const runs = [first + 2 * hour, first + 3 * hour]
    const { receipts } = await fire(scene, { runs, missed: 2, nextAt: first + 4 * hour })
    const tasks = await Promise.all(receipts.map(({ taskId }) => scene.task(taskId)))
    expect(tasks.map(({ scheduledFor }) => scheduledFor)).toEqual(runs)
    expect(await get(scene)).toMatchObject({ runs: 2, missed: 2, lastDueAt: runs[1] ?? 0 })
  })

  rule('a time that nothing is run for moves the schedule on all the same', async (scene) => {
    await put(scene, hourly(scene))
    const { nextAt = 0 } = (await get(scene)) ?? {}
    expect(await fire(scene, { runs: [], missed: 1 })).toEqual({ fired: true, receipts: [] })
    expect(await get(scene)).toMatchObject({ runs: 0, missed: 1, nextAt: nextAt + hour })
    expect((await get(scene))?.lastAt).toBeUndefined()
  })

  rule('the last time there is leaves a schedule that is never due again', async (scene) => {
    await put(scene, hourly(scene))
    expect(await fire(scene, { nextAt: null })).toMatchObject({ fired: true })
    expect((await get(scene))?.nextAt).toBeUndefined()
    expect(await scene.read({ kind: 'schedules', filter: { dueBy: Number.MAX_SAFE_INTEGER } })).toEqual([])
  })

  rule(
    'a run that admission refuses is a rejected record, and the schedule goes on',
    async (scene) => {
      await put(scene, hourly(scene))
      const { nextAt = 0 } = (await get(scene)) ?? {}
      await scene.accepted()
      const { receipts } = await fire(scene)
      expect(receipts).toMatchObject([{ accepted: false, reason: 'backpressure' }])
      const lastTaskId = receipts[0]?.taskId ?? ''
      expect(await get(scene)).toMatchObject({ runs: 0, rejected: 1, lastTaskId, nextAt: nextAt + hour })
      expect(await scene.state(lastTaskId)).toBe('rejected')
    },
    { config: { batchBackpressureThreshold: 1 } },
  )

  rule('overlap skip leaves a time out while the last run is not over', async (scene) => {
    await put(scene, hourly(scene, { overlap: 'skip' }))
    const { receipts } = await fire(scene)
    expect(await fire(scene)).toEqual({ fired: true, receipts: [] })
    expect(await get(scene)).toMatchObject({ runs: 1, skipped: 1 })
    await scene.cancel(receipts[0]?.taskId ?? '')
    expect((await fire(scene)).receipts).toHaveLength(1)
    // Two times in one commit: the first run stands in the way of the second.
    await scene.cancel((await get(scene))?.lastTaskId ?? '')
    const { nextAt = 0 } = (await get(scene)) ?? {}
    const both = await fire(scene, { runs: [nextAt, nextAt + hour], nextAt: nextAt + 2 * hour })
    expect(both.receipts).toHaveLength(1)
    expect(await get(scene)).toMatchObject({ runs: 3, skipped: 2 })
  })

  rule('a trigger is one run more, for no time', async (scene) => {
    await put(scene, hourly(scene, { overlap: 'skip' }))
    const { nextAt = 0 } = (await get(scene)) ?? {}
    await scene.write({ kind: 'pauseSchedule', name: 'hourly' })
    const keyed = { kind: 'triggerSchedule', name: 'hourly', idempotencyKey: 'by hand' } as const
    const once = await scene.write(keyed)
    expect(await scene.write(keyed)).toEqual({ ...once, deduplicated: true })
    const one = await scene.write({ kind: 'triggerSchedule', name: 'hourly' })
    const two = await scene.write({ kind: 'triggerSchedule', name: 'hourly' })
    expect(one).toMatchObject({ accepted: true })
    expect(two).toMatchObject({ accepted: true, deduplicated: false })
    expect(await get(scene)).toMatchObject({ runs: 3, nextAt, lastTaskId: two?.taskId ?? '' })
    const task = await scene.task(one?.taskId ?? '')
    expect([task.schedule, task.scheduledFor]).toEqual(['hourly', undefined])
  })

  rule('they are read in the order of their names, or of their times', async (scene) => {
    for (const [name, ms] of [
      ['b', 3],
      ['a', 2],
      ['c', 1],
    ] as const)
      await put(scene, hourly(scene), scene.now + ms * hour, name)
    const names = async (filter: Parameters<typeof scene.read<'schedules'>>[0]['filter']) =>
      (await scene.read({ kind: 'schedules', filter })).map(({ name }) => name)
    expect(await names({})).toEqual(['a', 'b', 'c'])
    expect(await names({ limit: 2 })).toEqual(['a', 'b'])
    expect(await names({ after: 'b' })).toEqual(['c'])
    expect(await names({ dueBy: Number.MAX_SAFE_INTEGER })).toEqual(['c', 'a', 'b'])
  })

  timed('the store says when one is due, and says it at every tick until it is dealt with', async (scene) => {
    const said = listening(scene)
    await put(scene, frequent(scene), scene.now + soon)
    await scene.pass(soon - 1)
    expect(said.times).toBe(0)
    await scene.pass(1)
    expect(said.times).toBe(1)
    await scene.pass(scene.config.schedulerTickMs)
    expect(said.times).toBe(2)
    await fire(scene, { nextAt: scene.now + soon })
    await scene.pass(soon / 2)
    expect(said.times).toBe(2)
  })

  timed('a clock that goes back brings no time a second time', async (scene) => {
    const said = listening(scene)
    await put(scene, frequent(scene), scene.now + soon)
    await scene.pass(soon)
    await fire(scene, { nextAt: scene.now + soon })
    const { times } = said
    scene.clock.skew = -soon
    await scene.pass(soon)
    expect(said.times).toBe(times)
    await scene.pass(soon)
    expect(said.times).toBe(times + 1)
  })

  timed('a clock that jumps ahead is seen within a tick', async (scene) => {
    const said = listening(scene)
    await put(scene, hourly(scene))
    await scene.pass(10)
    scene.clock.skew = hour
    await scene.pass(scene.config.schedulerTickMs)
    expect(said.times).toBe(1)
  })

  timed('a time beyond 2^31 ms is kept to the ms', async (scene) => {
    const said = listening(scene)
    const everyMs = 2 ** 31 + 5
    await put(scene, hourly(scene, { timing: { everyMs, anchorAt: scene.now } }), scene.now + everyMs)
    await scene.jump(everyMs - 1)
    await scene.stats()
    expect(said.times).toBe(0)
    await scene.pass(1)
    expect(said.times).toBe(1)
  })
}

import { describe, expect, test } from 'vitest'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import { runKeyOf, type ScheduleDefinition, type ScheduleRecord } from '../../src/schedule/schedule.ts'
import type { Write } from '../../src/store/port.ts'
import type { KeyRow, ScheduleRow } from '../../src/transition.ts'
import {
  fireSchedule,
  pauseSchedule,
  putSchedule,
  removeSchedule,
  resumeSchedule,
  scheduleRecordOf,
  triggerSchedule,
} from '../../src/schedule/transitions.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import { config, ids, now, type Rows, task, workingSet } from '../transition/rows.ts'

const name = 'tidy'
const idOf = (number: number) => ids.task(number)
const timing = { everyMs: 100, anchorAt: 5 }
const definition: ScheduleDefinition = {
  timing,
  run: { type: 'work', lane: 'batch', input: '1' },
  catchUp: 'all',
  graceMs: 0,
  overlap: 'allow',
}
/** The schedule as it is just after it was put. */
const row: ScheduleRow = {
  name,
  definition,
  paused: false,
  createdAt: 1_000,
  changedAt: 2_000,
  nextAt: 49_905,
  lastAt: null,
  lastDueAt: null,
  lastTask: null,
  runs: 0,
  rejected: 0,
  missed: 0,
  skipped: 0,
}
const record: ScheduleRecord = {
  name,
  ...definition,
  paused: false,
  createdAt: 1_000,
  changedAt: 2_000,
  nextAt: 49_905,
  runs: 0,
  rejected: 0,
  missed: 0,
  skipped: 0,
}

const having = (changes: Partial<ScheduleRow> = {}, rows: Rows = {}, settings = config): WorkingSet =>
  workingSet({ schedules: new Map([[name, { ...row, ...changes }]]), scheduleCount: 1, ...rows }, settings)
const put = (ws: WorkingSet, it: Partial<Write<'putSchedule'>> = {}) =>
  putSchedule(ws, { kind: 'putSchedule', name, definition, nextAt: 50_005, ...it })
const fire = (ws: WorkingSet, it: Partial<Write<'fireSchedule'>> = {}) =>
  fireSchedule(ws, {
    kind: 'fireSchedule',
    name,
    timing,
    dueAt: 49_905,
    nextAt: 50_005,
    runs: [49_905],
    missed: 0,
    ...it,
  })
const written = (ws: WorkingSet) => [[...ws.schedules.changed], ws.events, [...ws.tasks.changed]]
const nothing = [[], [], []]

describe('a schedule as readers get it', () => {
  test('has no times and no task that it does not have yet', () => {
    expect(scheduleRecordOf({ ...row, nextAt: null }, idOf)).toStrictEqual(
      Object.fromEntries(Object.entries(record).filter(([key]) => key !== 'nextAt')),
    )
  })

  test('has those that it has', () => {
    const ran = { ...row, lastAt: 3_000, lastDueAt: 2_995, lastTask: 7, runs: 1 }
    expect(scheduleRecordOf(ran, idOf)).toStrictEqual({
      ...record,
      lastAt: 3_000,
      lastDueAt: 2_995,
      lastTaskId: ids.task(7),
      runs: 1,
    })
  })
})

describe('putting a schedule', () => {
  test('makes it where there is none', () => {
    const ws = workingSet({})
    expect(put(ws)).toStrictEqual({
      as: 'put',
      change: 'created',
      schedule: { ...record, createdAt: now.at, changedAt: now.at, nextAt: 50_005 },
    })
    expect([...ws.schedules.changed.values()]).toStrictEqual([
      { ...row, createdAt: now.at, changedAt: now.at, nextAt: 50_005 },
    ])
    expect(ws.scheduleCount).toBe(1)
  })

  test('is refused where there are as many as there may be; those that are there may change', () => {
    const { config: one } = parseExecutionConfig({ maxSchedules: 1 })
    const ws = having({}, {}, one)
    expect(put(ws, { name: 'other' })).toStrictEqual({ as: 'full' })
    expect(written(ws)).toEqual(nothing)
    expect(put(ws, { definition: { ...definition, graceMs: 1 } })).toMatchObject({ change: 'replaced' })
  })

  test('again as it is changes nothing, wherever its interval is anchored', () => {
    const ws = having({ lastTask: 7 })
    expect(put(ws, { definition: { ...definition, timing: { everyMs: 100, anchorAt: 77 } } })).toStrictEqual({
      as: 'put',
      change: 'unchanged',
      schedule: { ...record, lastTaskId: ids.task(7) },
    })
    expect(written(ws)).toEqual(nothing)
  })

  test.each<[string, Partial<ScheduleDefinition>, number]>([
    ['with other terms keeps its next time', { overlap: 'skip' }, 49_905],
    ['with another timing gives it a new one', { timing: { everyMs: 200, anchorAt: 5 } }, 50_005],
  ])('%s', (_, changes, nextAt) => {
    const ws = having({ runs: 3 })
    const after = { ...row, definition: { ...definition, ...changes }, changedAt: now.at, nextAt, runs: 3 }
    expect(put(ws, { definition: after.definition })).toStrictEqual({
      as: 'put',
      change: 'replaced',
      schedule: { ...record, ...changes, changedAt: now.at, nextAt, runs: 3 },
    })
    expect([...ws.schedules.changed.values()]).toStrictEqual([after])
    expect(ws.scheduleCount).toBe(1)
  })
})

describe('a schedule that is paused', () => {
  const pause = (ws: WorkingSet, of = name) => pauseSchedule(ws, { kind: 'pauseSchedule', name: of })
  const goOn = (ws: WorkingSet, it: Partial<Write<'resumeSchedule'>> = {}) =>
    resumeSchedule(ws, { kind: 'resumeSchedule', name, timing, nextAt: 50_105, ...it })

  test('keeps all but that it runs', () => {
    const ws = having()
    expect(pause(ws)).toStrictEqual({ ...record, paused: true })
    expect([...ws.schedules.changed.values()]).toStrictEqual([{ ...row, paused: true }])
  })

  test('once more is the same, and writes nothing', () => {
    const ws = having({ paused: true })
    expect(pause(ws)).toStrictEqual({ ...record, paused: true })
    expect(written(ws)).toEqual(nothing)
  })

  test('goes on at the time that was computed from its timing', () => {
    const ws = having({ paused: true })
    expect(goOn(ws)).toStrictEqual({ as: 'resumed', schedule: { ...record, nextAt: 50_105 } })
    expect([...ws.schedules.changed.values()]).toStrictEqual([{ ...row, nextAt: 50_105 }])
  })

  test('does not go on where it has another timing meanwhile', () => {
    const ws = having({ paused: true })
    expect(goOn(ws, { timing: { ...timing, everyMs: 7 } })).toStrictEqual({ as: 'changed' })
    expect(written(ws)).toEqual(nothing)
  })

  test('no more stays as it is, whatever time was computed from whatever timing', () => {
    const ws = having()
    expect(goOn(ws, { timing: { ...timing, everyMs: 7 } })).toStrictEqual({ as: 'resumed', schedule: record })
    expect(written(ws)).toEqual(nothing)
  })

  test('is unknown where it is not there', () => {
    const ws = workingSet({})
    expect([pause(ws), goOn(ws)]).toStrictEqual([undefined, { as: 'unknown' }])
    expect(written(ws)).toEqual(nothing)
  })
})

test('a schedule that is removed is gone; one that is not there was not removed', () => {
  const ws = having()
  const remove = () => removeSchedule(ws, { kind: 'removeSchedule', name })
  expect([remove(), remove()]).toEqual([true, false])
  expect([[...ws.schedules.changed], ws.scheduleCount]).toEqual([[[name, undefined]], 0])
})

describe('a schedule whose time has come', () => {
  const submitted = (dueAt: number) =>
    `{"idempotencyKey":"${runKeyOf(name, dueAt)}","input":1,"lane":"batch","schedule":"tidy","scheduledFor":${dueAt},"type":"work"}`

  test('submits the run for each time, and moves on', () => {
    const ws = having({ missed: 1 })
    expect(fire(ws, { runs: [49_805, 49_905], missed: 2 })).toStrictEqual({
      fired: true,
      receipts: [100, 101].map((sequence) => ({
        accepted: true,
        taskId: ids.task(sequence),
        sequence,
        deduplicated: false,
      })),
    })
    expect(ws.events.map(({ data }) => data)).toEqual([submitted(49_805), submitted(49_905)])
    expect([...ws.schedules.changed.values()]).toStrictEqual([
      { ...row, nextAt: 50_005, lastAt: now.at, lastDueAt: 49_905, lastTask: 101, runs: 2, missed: 3 },
    ])
  })

  test('is done where no further time comes', () => {
    const ws = having()
    expect(fire(ws, { nextAt: null })).toMatchObject({ fired: true })
    expect(ws.schedule(name)?.nextAt).toBeNull()
  })

  test.each<[string, Partial<ScheduleRow>, Partial<Write<'fireSchedule'>>]>([
    ['is paused', { paused: true }, {}],
    ['was fired by another process', { nextAt: 50_005 }, {}],
    ['has another timing', {}, { timing: { everyMs: 7, anchorAt: 5 } }],
    ['is gone', {}, { name: 'other' }],
  ])('does not fire when it %s', (_, changes, it) => {
    const ws = having(changes)
    expect(fire(ws, it)).toStrictEqual({ fired: false, receipts: [] })
    expect(written(ws)).toEqual(nothing)
  })

  test.each([49_904, 49_905])('cannot move to %i, which is not after the time that it was for', (nextAt) => {
    const ws = having()
    expect(() => fire(ws, { nextAt })).toThrow(`schedule tidy cannot move from 49905 to ${nextAt}`)
    expect(written(ws)).toEqual(nothing)
  })

  test('moves on to the next ms', () => {
    expect(fire(having(), { nextAt: 49_906 })).toMatchObject({ fired: true })
  })

  test.each([
    ['is under way is skipped', 'skip', 'running', []],
    ['is over runs', 'skip', 'completed', [100]],
    ['is under way runs where they may overlap', 'allow', 'running', [100]],
  ] as const)('the run after one that %s', (_, overlap, state, sequences) => {
    const overlapping = { ...definition, overlap }
    const ws = having({ definition: overlapping, lastTask: 7, runs: 1 }, { tasks: [{ ...task, state }] })
    expect(fire(ws)).toMatchObject({ receipts: sequences.map((sequence) => ({ sequence })) })
    const moved = { ...row, definition: overlapping, lastTask: 7, runs: 1, nextAt: 50_005 }
    const ran = { ...moved, lastTask: 100, lastAt: now.at, lastDueAt: 49_905, runs: 2 }
    expect(ws.schedule(name)).toStrictEqual(sequences.length === 0 ? { ...moved, skipped: 1 } : ran)
  })

  test.each<[string, number, (ws: WorkingSet) => string]>([
    ['its last task', 7, (ws) => ws.around.sha256Hex('work\n1')],
    ['another payload', 7, () => 'other'],
  ])('a time that ran before, as %s, is skipped', (_, number, hashOf) => {
    const key = runKeyOf(name, 49_905)
    const bound: KeyRow = { key, task: number, payloadHash: hashOf(workingSet({})) }
    const ws = having({}, { tasks: [task], keys: new Map([[key, bound]]) })
    expect(fire(ws)).toMatchObject({ fired: true, receipts: [{ sequence: 7 }] })
    expect(ws.schedule(name)).toStrictEqual({ ...row, nextAt: 50_005, lastDueAt: 49_905, skipped: 1 })
    expect(ws.events).toEqual([])
  })

  test('a run that admission refuses is counted, and is the last', () => {
    const { config: crowded } = parseExecutionConfig({ queueDepthLimit: 3, batchBackpressureThreshold: 2 })
    const ws = having({}, {}, crowded)
    expect(fire(ws)).toMatchObject({ receipts: [{ accepted: false, reason: 'queue_full', sequence: 100 }] })
    expect(ws.schedule(name)).toStrictEqual({
      ...row,
      nextAt: 50_005,
      lastAt: now.at,
      lastDueAt: 49_905,
      lastTask: 100,
      rejected: 1,
    })
  })
})

describe('a schedule that is triggered by hand', () => {
  const trigger = (ws: WorkingSet, idempotencyKey?: string) =>
    triggerSchedule(ws, { kind: 'triggerSchedule', name, idempotencyKey })

  test('2.7 runs once for a key, and counts nothing when the key comes again', () => {
    const ws = having({})
    const first = trigger(ws, 'today')
    const kept = ws.schedule(name)
    expect(kept).toMatchObject({ runs: 1, skipped: 0 })
    expect(trigger(ws, 'today')).toStrictEqual({ ...first, deduplicated: true })
    expect(ws.schedule(name)).toBe(kept)
    expect(trigger(ws, 'tomorrow')).toMatchObject({ accepted: true, deduplicated: false })
    expect(ws.schedule(name)).toMatchObject({ runs: 2 })
  })

  test('2.7 counts a run that is refused, but not one whose key has another payload', () => {
    const { config: crowded } = parseExecutionConfig({ queueDepthLimit: 3, batchBackpressureThreshold: 2 })
    const full = having({}, {}, crowded)
    expect(trigger(full)).toMatchObject({ accepted: false, reason: 'queue_full' })
    expect(full.schedule(name)).toMatchObject({ runs: 0, rejected: 1 })
    const ws = having({})
    trigger(ws, 'today')
    ws.putSchedule({ ...row, definition: { ...definition, run: { ...definition.run, input: '2' } } })
    const before = ws.schedule(name)
    expect(trigger(ws, 'today')).toMatchObject({ accepted: false, reason: 'idempotency_conflict' })
    expect(ws.schedule(name)).toBe(before)
  })

  test('runs now, for no time, although it is paused and its last run is under way', () => {
    const ws = having(
      { paused: true, lastTask: 7, definition: { ...definition, overlap: 'skip' } },
      { tasks: [task] },
    )
    expect(trigger(ws)).toStrictEqual({
      accepted: true,
      taskId: ids.task(100),
      sequence: 100,
      deduplicated: false,
    })
    expect(ws.events[0]?.data).toBe('{"input":1,"lane":"batch","schedule":"tidy","type":"work"}')
    expect(ws.schedule(name)).toMatchObject({
      nextAt: 49_905,
      lastAt: now.at,
      lastDueAt: null,
      lastTask: 100,
    })
  })

  test('is unknown where it is not there', () => {
    const ws = workingSet({})
    expect(trigger(ws)).toBeUndefined()
    expect(written(ws)).toEqual(nothing)
  })
})

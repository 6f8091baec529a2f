import { canonical } from '../codec/codec.ts'
import { isSameTiming, runKeyOf, type ScheduleDefinition, type ScheduleRecord } from './schedule.ts'
import { isFinal } from '../task/states.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import type { Receipt } from '../submit/submission.ts'
import type { ScheduleRow } from './row.ts'
import { submitOne } from '../submit/submit.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/**
 * Creates a schedule or changes its definition. Its next time is kept unless its timing changes, so that a program may put its
 * schedules at every start. Source: `docs/schedules.md`.
 */
export function putSchedule(ws: WorkingSet, it: Write<'putSchedule'>): OutcomeOf<'putSchedule'> {
  const known = ws.schedule(it.name)
  if (known === undefined) {
    if (ws.scheduleCount >= ws.config.maxSchedules) return { as: 'full' }
    return put(ws, 'created', newSchedule(ws, it))
  }
  const isTimingKept = isSameTiming(known.definition.timing, it.definition.timing)
  const timing = isTimingKept ? known.definition.timing : it.definition.timing
  const definition: ScheduleDefinition = { ...it.definition, timing }
  if (canonical(definition) === canonical(known.definition))
    return { as: 'put', change: 'unchanged', schedule: recordOf(ws, known) }
  const nextAt = isTimingKept ? known.nextAt : it.nextAt
  return put(ws, 'replaced', { ...known, definition, nextAt, changedAt: ws.now.at })
}

/** Nothing runs from the commit on. A second pause changes nothing. */
export function pauseSchedule(ws: WorkingSet, { name }: Write<'pauseSchedule'>): OutcomeOf<'pauseSchedule'> {
  const known = ws.schedule(name)
  if (known === undefined) return undefined
  if (!known.paused) ws.putSchedule({ ...known, paused: true })
  return recordOf(ws, { ...known, paused: true })
}

/** A paused schedule goes on at `nextAt`, which was computed from `timing`: times that passed meanwhile are not caught up. */
export function resumeSchedule(ws: WorkingSet, it: Write<'resumeSchedule'>): OutcomeOf<'resumeSchedule'> {
  const known = ws.schedule(it.name)
  if (known === undefined) return { as: 'unknown' }
  if (!known.paused) return { as: 'resumed', schedule: recordOf(ws, known) }
  if (!isComputedFrom(known, it)) return { as: 'changed' }
  const row = { ...known, paused: false, nextAt: it.nextAt }
  ws.putSchedule(row)
  return { as: 'resumed', schedule: recordOf(ws, row) }
}

/** Tasks that it submitted stay. */
export function removeSchedule(ws: WorkingSet, { name }: Write<'removeSchedule'>): boolean {
  if (ws.schedule(name) === undefined) return false
  ws.dropSchedule(name)
  return true
}

/**
 * Submits the runs for times that have come and moves the schedule on, if it still stands where the caller saw it: of several
 * processes one fires. Source: `docs/schedules.md`.
 */
export function fireSchedule(ws: WorkingSet, it: Write<'fireSchedule'>): OutcomeOf<'fireSchedule'> {
  const row = ws.schedule(it.name)
  if (row === undefined || row.paused || row.nextAt !== it.dueAt || !isComputedFrom(row, it))
    return { fired: false, receipts: [] }
  if (it.nextAt !== null && it.nextAt <= it.dueAt)
    throw new Error(`schedule ${it.name} cannot move from ${it.dueAt} to ${it.nextAt}`)
  ws.putSchedule({ ...row, nextAt: it.nextAt, missed: row.missed + it.missed })
  return { fired: true, receipts: it.runs.flatMap((dueAt) => runFor(ws, it.name, dueAt)) }
}

/** The run for one time, unless the last one still blocks it. */
function runFor(ws: WorkingSet, name: string, dueAt: number): Receipt[] {
  const row = ws.schedule(name)
  if (row === undefined) return []
  if (row.definition.overlap === 'skip' && isUnderWay(ws, row)) {
    ws.putSchedule({ ...row, skipped: row.skipped + 1 })
    return []
  }
  const idempotencyKey = runKeyOf(name, dueAt)
  const receipt = submitOne(ws, {
    ...row.definition.run,
    idempotencyKey,
    schedule: name,
    scheduledFor: dueAt,
  })
  ws.putSchedule({ ...counted(ws, row, receipt), lastDueAt: dueAt })
  return [receipt]
}

/** One run now, for no time: the next time stays, and a pause or the last run is not looked at. A key that was used before runs nothing. */
export function triggerSchedule(
  ws: WorkingSet,
  { name, idempotencyKey }: Write<'triggerSchedule'>,
): OutcomeOf<'triggerSchedule'> {
  const row = ws.schedule(name)
  if (row === undefined) return undefined
  const receipt = submitOne(ws, {
    ...row.definition.run,
    schedule: name,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  })
  const isRun = receipt.accepted ? !receipt.deduplicated : receipt.reason !== 'idempotency_conflict'
  if (isRun) ws.putSchedule(counted(ws, row, receipt))
  return receipt
}

/** A schedule's row as readers get it; `taskIdOf` gives the id of a task's number. */
export function scheduleRecordOf(row: ScheduleRow, taskIdOf: (task: number) => string): ScheduleRecord {
  const { name, definition, paused, createdAt, changedAt, runs, rejected, missed, skipped } = row
  const { nextAt, lastAt, lastDueAt, lastTask } = row
  return {
    name,
    ...definition,
    paused,
    createdAt,
    changedAt,
    ...(nextAt === null ? {} : { nextAt }),
    ...(lastAt === null ? {} : { lastAt }),
    ...(lastDueAt === null ? {} : { lastDueAt }),
    ...(lastTask === null ? {} : { lastTaskId: taskIdOf(lastTask) }),
    runs,
    rejected,
    missed,
    skipped,
  }
}

function newSchedule(ws: WorkingSet, { name, definition, nextAt }: Write<'putSchedule'>): ScheduleRow {
  const { at } = ws.now
  return {
    name,
    definition,
    paused: false,
    createdAt: at,
    changedAt: at,
    nextAt,
    lastAt: null,
    lastDueAt: null,
    lastTask: null,
    runs: 0,
    rejected: 0,
    missed: 0,
    skipped: 0,
  }
}

function put(ws: WorkingSet, change: 'created' | 'replaced', row: ScheduleRow): OutcomeOf<'putSchedule'> {
  ws.putSchedule(row)
  return { as: 'put', change, schedule: recordOf(ws, row) }
}

/** Whether a time was computed from the timing that the schedule has. */
function isComputedFrom(
  { definition }: ScheduleRow,
  { timing }: Pick<Write<'fireSchedule'>, 'timing'>,
): boolean {
  return canonical(definition.timing) === canonical(timing)
}

function isUnderWay(ws: WorkingSet, { lastTask }: ScheduleRow): boolean {
  const task = lastTask === null ? undefined : ws.task(lastTask)
  return task !== undefined && !isFinal(task.state)
}

/** A time that ran before, under a schedule of the same name that is gone, is no run. */
function counted(ws: WorkingSet, row: ScheduleRow, receipt: Receipt): ScheduleRow {
  const last = { lastAt: ws.now.at, lastTask: receipt.sequence }
  if (receipt.accepted && !receipt.deduplicated) return { ...row, ...last, runs: row.runs + 1 }
  if (receipt.accepted || receipt.reason === 'idempotency_conflict')
    return { ...row, skipped: row.skipped + 1 }
  return { ...row, ...last, rejected: row.rejected + 1 }
}

function recordOf(ws: WorkingSet, row: ScheduleRow): ScheduleRecord {
  return scheduleRecordOf(row, (task) => ws.ids.task(task))
}

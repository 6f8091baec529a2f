import { type Overlap, runKeyOf, isFinal } from '@ku0/agent-runtime-core'
import type { ModelReceipt, ModelSchedule, ModelSubmission, ModelTask, SubmitNew } from './records.ts'

// The reference model's rules of schedules. Source: `docs/schedules.md`.

/** A schedule keeps its next time unless its interval changes. */
export function putSchedule(
  schedules: Map<string, ModelSchedule>,
  it: { readonly name: string; readonly everyMs: number; readonly overlap: Overlap; readonly input: string },
  now: number,
): void {
  const known = schedules.get(it.name)
  const nextAt = known?.everyMs === it.everyMs ? known.nextAt : now + it.everyMs
  const fresh = { paused: false, lastTask: undefined, runs: 0, rejected: 0, skipped: 0 }
  schedules.set(it.name, { ...fresh, ...known, ...it, nextAt })
}

/** Fires `times` times of a schedule that somebody saw due at `dueAt`; false when it is not any more. */
export function fireSchedule(
  schedule: ModelSchedule | undefined,
  dueAt: number,
  times: number,
  submit: SubmitNew,
): boolean {
  if (schedule === undefined || schedule.paused || schedule.nextAt !== dueAt) return false
  for (let n = 0; n < times; n += 1) runAt(schedule, dueAt + n * schedule.everyMs, submit)
  schedule.nextAt = dueAt + times * schedule.everyMs
  return true
}

/** A run out of turn. */
export function triggerSchedule(schedule: ModelSchedule | undefined, submit: SubmitNew): boolean {
  if (schedule !== undefined) countRun(schedule, ...submit(runOf(schedule)))
  return schedule !== undefined
}

function runAt(schedule: ModelSchedule, dueAt: number, submit: SubmitNew): void {
  const { overlap, lastTask, name } = schedule
  if (overlap === 'skip' && lastTask !== undefined && !isFinal(lastTask.state)) schedule.skipped += 1
  else countRun(schedule, ...submit({ ...runOf(schedule), key: runKeyOf(name, dueAt) }))
}

function countRun(schedule: ModelSchedule, receipt: ModelReceipt, task: ModelTask | undefined): void {
  const isOld = receipt.accepted ? receipt.deduplicated : receipt.reason === 'idempotency_conflict'
  if (isOld) {
    schedule.skipped += 1
    return
  }
  schedule[receipt.accepted ? 'runs' : 'rejected'] += 1
  schedule.lastTask = task
}

function runOf({ input }: ModelSchedule): ModelSubmission {
  return { lane: 'batch', type: 'a', input }
}

import { canonical } from '../codec/codec.ts'
import type { EventData } from '../event/event.ts'
import type { Recovered } from './decide.ts'

/** How a try ended, from the event that put the task back. */
export interface PastFailure {
  /** The seq of that event. */
  readonly seq: number
  readonly at: number
  /** The attempt that failed. */
  readonly attempt: number
  /** `expired` and `owner_dead`: its process died or fell silent; `rejected`: a person rejected its work more often than is allowed. */
  readonly reason: 'retry' | 'expired' | 'owner_dead' | 'rejected'
  /** In the codec's form; absent for a process that died. */
  readonly error?: string
  /** The decision about it; absent without a table. */
  readonly recovery?: Recovered
  /** The supervisor that started the task again after it. */
  readonly restartedBy?: string
}

/** The failures that a task's returns to the queue report. */
export interface PastFailures {
  /** The last failure of the work itself. */
  readonly failure?: PastFailure
  /** The last end of a process after that: it says nothing of the work, and hides no failure. */
  readonly crash?: PastFailure
  /** The model that it has fallen back to. */
  readonly model?: string
  /** The task that it was handed over to. */
  readonly handedOver?: HandedOver
  /** So many attempts that did not end with their process count as no tries: interrupted ones, and those before a supervisor started it again. */
  readonly triesBefore?: number
}

/** A task that another one was handed over to. */
export interface HandedOver {
  /** Its type, the model that it has in place of its own, and its estimated cost. */
  readonly task: string
  readonly model?: string
  readonly cost?: number
  /** Which hand-over of the task it is, from 1. */
  readonly nth: number
  /** The table has answered its end: what follows runs the task's own handler. */
  readonly isOver?: true
}

/** The task that has the work now, in place of the handler. Source: `docs/semantics.md 14.3`. */
export function workedOnBy({
  handedOver,
}: {
  readonly handedOver?: HandedOver | undefined
}): HandedOver | undefined {
  return handedOver?.isOver === true ? undefined : handedOver
}

/** Reads `task.requeued` and `task.resumed`, in order, with their blobs put back; events of other types are passed over. */
export function pastFailure(
  events: Iterable<{
    readonly seq: number
    readonly at: number
    readonly type: string
    readonly data: string
  }>,
): PastFailures {
  let failure: PastFailure | undefined
  let crash: PastFailure | undefined
  let model: string | undefined
  let handedOver: HandedOver | undefined
  let handOvers = 0
  let crashes = 0
  let triesBefore = 0
  let now = 1
  for (const { seq, at, type, data } of events) {
    if (type === 'task.resumed') {
      const found = data.includes(ESCALATES) ? rejected(seq, at, now, data) : undefined
      if (found !== undefined) [failure, crash] = [found, undefined]
      continue
    }
    if (type !== 'task.requeued') continue
    const { reason, attempt, error, recovery, restartedBy, interrupted } = JSON.parse(
      data,
    ) as EventData['task.requeued']
    now = attempt
    // That pass came to nothing: it says nothing of the work, and counts as no try.
    if (interrupted === true) {
      triesBefore += 1
      continue
    }
    if (reason !== 'retry' && reason !== 'expired' && reason !== 'owner_dead') continue
    model = recovery?.model ?? model
    if (reason !== 'retry') crashes += 1
    if (restartedBy !== undefined) {
      // A supervisor that starts it again gives it a new beginning.
      handedOver = undefined
      triesBefore = attempt - crashes - 1
    } else if (recovery?.task !== undefined) {
      handOvers += 1
      const { task, taskModel, taskCost } = recovery
      handedOver = {
        task,
        nth: handOvers,
        ...(taskModel === undefined ? {} : { model: taskModel }),
        ...(taskCost === undefined ? {} : { cost: taskCost }),
      }
    } else if (recovery !== undefined && handedOver !== undefined)
      handedOver = { ...handedOver, isOver: true }
    const found: PastFailure = {
      seq,
      at,
      attempt: attempt - 1,
      reason,
      ...(error === undefined ? {} : { error: canonical(error) }),
      ...(recovery === undefined ? {} : { recovery }),
      ...(restartedBy === undefined ? {} : { restartedBy }),
    }
    if (reason === 'retry') [failure, crash] = [found, undefined]
    else crash = found
  }
  return {
    ...(failure === undefined ? {} : { failure }),
    ...(crash === undefined ? {} : { crash }),
    ...(model === undefined ? {} : { model }),
    ...(handedOver === undefined ? {} : { handedOver }),
    ...(triesBefore === 0 ? {} : { triesBefore }),
  }
}

/** In the data of the rejection that a person is asked about; see {@link pastFailure}. */
export const ESCALATES = '"escalates":true'

function rejected(seq: number, at: number, attempt: number, data: string): PastFailure | undefined {
  const { key, escalates } = JSON.parse(data) as { readonly key?: string; readonly escalates?: unknown }
  if (escalates !== true) return undefined
  const message = `'${key}' was rejected more often than its maxRetries allows`
  return {
    seq,
    at,
    attempt,
    reason: 'rejected',
    error: canonical({ code: 'not_approved', message, name: 'RuntimeError' }),
    recovery: { category: 'human_rejection', kind: 'not_approved', strategy: 'human_escalation' },
  }
}

import type { Lane, LeaseEndReason } from '@ku0/agent-runtime-core'
import { errorType, failureType } from './error-of.ts'
import type { KnownEvent, TraceCarrier } from './source.ts'

/** The facts that the events so far have reported about a task that has not reached its end. */
export interface OpenTask {
  readonly taskId: string
  type: string | undefined
  lane: Lane | undefined
  /** Undefined when its admission was not heard. */
  submittedAt: number | undefined
  trace: TraceCarrier | undefined
  /** The live lease, when running. */
  lease: OpenLease | undefined
  /** When a lease was lost, until a later one gets somewhere. */
  lostAt: number | undefined
}

/** A live lease. */
export interface OpenLease {
  readonly leaseId: string
  readonly workerId: string
  readonly attempt: number
  readonly startedAt: number
  /** Whether its worker is one of this process. */
  readonly here: boolean
  stepsReplayed: number
}

/** The change that one event has made. */
export interface Change {
  readonly task: OpenTask
  readonly started?: OpenLease
  readonly ended?: EndedLease
  /** Ms from the loss of a lease to this event, the first that shows a later lease at work. */
  readonly resumedAfterMs?: number
}

/** A lease that an event ended, with how. */
export interface EndedLease {
  readonly lease: OpenLease
  readonly reason: LeaseEndReason
  /** Absent when nothing went wrong. */
  readonly errorType?: string
}

/**
 * The tasks that are open as far as this process has heard: a fold over the events, shared by metrics and traces. It holds at
 * most `limit` tasks; when one more comes, the one that nothing has been heard of for longest is given up.
 */
export class OpenTasks {
  readonly #limit: number
  readonly #givenUp: (task: OpenTask) => void
  readonly #tasks = new Map<string, OpenTask>()

  constructor(limit: number, givenUp: (task: OpenTask) => void) {
    this.#limit = limit
    this.#givenUp = givenUp
  }

  values(): Iterable<OpenTask> {
    return this.#tasks.values()
  }

  clear(): void {
    this.#tasks.clear()
  }

  /** Takes the next event; undefined when it is about a task that nothing is known of. */
  follow(event: KnownEvent): Change | undefined {
    switch (event.type) {
      case 'task.queued': {
        const { type, lane, trace } = event.data
        return { task: this.#put({ ...unknown(event.taskId), type, lane, submittedAt: event.at, trace }) }
      }
      case 'task.started':
        return this.#start(event)
      case 'step.completed': {
        const task = this.#tasks.get(event.taskId)
        return task === undefined ? undefined : { task, ...progress(task, event.at) }
      }
      case 'step.replayed': {
        const task = this.#tasks.get(event.taskId)
        if (task?.lease !== undefined) task.lease.stepsReplayed += 1
        return task === undefined ? undefined : { task }
      }
      case 'task.requeued':
        return this.#requeue(event)
      case 'task.waiting':
        return this.#end(event.taskId, event.data.leaseId, 'waiting')
      case 'task.completed':
        return this.#close(event, event.data.leaseId, 'completed')
      case 'task.failed':
        return this.#close(
          event,
          event.data.leaseId,
          'failed',
          failureType(event.data.kind, event.data.error),
        )
      case 'task.canceled':
        return this.#close(event, event.data.leaseId, 'canceled')
      default: {
        const task = this.#tasks.get(event.taskId)
        return task === undefined ? undefined : { task }
      }
    }
  }

  #start(event: Extract<KnownEvent, { type: 'task.started' }>): Change {
    const { type, lane, leaseId, workerId, attempt } = event.data
    const task = this.#tasks.get(event.taskId) ?? unknown(event.taskId)
    const started = {
      leaseId,
      workerId,
      attempt,
      startedAt: event.at,
      here: event.elsewhere !== true,
      stepsReplayed: 0,
    }
    task.type = type
    task.lane = lane
    task.lease = started
    return { task: this.#put(task), started }
  }

  /** A lost task may be one that another process started, before this one was: how soon it goes on is of interest here. */
  #requeue(event: Extract<KnownEvent, { type: 'task.requeued' }>): Change | undefined {
    const { reason, leaseId, error } = event.data
    if (reason !== 'expired' && reason !== 'owner_dead') {
      return this.#end(event.taskId, leaseId, reason, error === undefined ? undefined : errorType(error))
    }
    const change = this.#end(event.taskId, leaseId, reason, reason) ?? {
      task: this.#put(unknown(event.taskId)),
    }
    change.task.lostAt ??= event.at
    return change
  }

  #end(
    taskId: string,
    leaseId: string | undefined,
    reason: LeaseEndReason,
    error?: string,
  ): Change | undefined {
    const task = this.#tasks.get(taskId)
    if (task === undefined) return undefined
    const { lease } = task
    if (lease === undefined || (leaseId !== undefined && leaseId !== lease.leaseId)) return { task }
    task.lease = undefined
    return { task, ended: { lease, reason, ...(error === undefined ? {} : { errorType: error }) } }
  }

  #close(
    event: KnownEvent,
    leaseId: string | undefined,
    reason: LeaseEndReason,
    error?: string,
  ): Change | undefined {
    const change = this.#end(event.taskId, leaseId, reason, error)
    if (change === undefined) return undefined
    this.#tasks.delete(event.taskId)
    return reason === 'completed' ? { ...change, ...progress(change.task, event.at) } : change
  }

  /** The latest heard of is last in the map's order. */
  #put(task: OpenTask): OpenTask {
    this.#tasks.delete(task.taskId)
    this.#tasks.set(task.taskId, task)
    if (this.#tasks.size > this.#limit) {
      const [oldest] = this.#tasks.values()
      if (oldest !== undefined) {
        this.#tasks.delete(oldest.taskId)
        this.#givenUp(oldest)
      }
    }
    return task
  }
}

function unknown(taskId: string): OpenTask {
  return {
    taskId,
    type: undefined,
    lane: undefined,
    submittedAt: undefined,
    trace: undefined,
    lease: undefined,
    lostAt: undefined,
  }
}

function progress(task: OpenTask, at: number): { resumedAfterMs?: number } {
  const { lostAt } = task
  if (lostAt === undefined) return {}
  task.lostAt = undefined
  return { resumedAfterMs: Math.max(0, at - lostAt) }
}

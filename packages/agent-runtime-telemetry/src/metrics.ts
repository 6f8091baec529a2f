import type { Attributes, Meter } from '@opentelemetry/api'
import type { EventType, Lane, Timers } from '@ku0/agent-runtime-core'
import { BoundedLabels } from './bounded-labels.ts'
import { attributes as a } from './catalogue.ts'
import type { Dropped } from './dropped.ts'
import { errorType, failureType } from './error-of.ts'
import { createInstruments, type Instruments } from './instruments.ts'
import { observe } from './observed-metrics.ts'
import type { Change, EndedLease, OpenTask } from './open-tasks.ts'
import type { HandlerStop, KnownEvent, TelemetrySource } from './source.ts'

/** The types of events that metrics are made of. */
export const metricEvents = [
  'task.queued',
  'task.rejected',
  'task.started',
  'task.waiting',
  'task.requeued',
  'task.completed',
  'task.failed',
  'task.canceled',
  'task.preempted',
  'task.recovered',
  'supervisor.restarted',
  'supervisor.escalated',
  'credits.asked',
  'agreement.missed',
  'lease.expired',
  'step.completed',
  'step.failed',
  'step.replayed',
] as const satisfies readonly EventType[]

/** Records the metrics of the catalogue. Source: `docs/semantics.md 16.1`. */
export class Metrics implements Disposable {
  readonly #on: Instruments
  readonly #observing: Disposable
  readonly #types = new BoundedLabels(100, '_other')
  readonly #errors = new BoundedLabels(100, '_OTHER')

  constructor(meter: Meter, asked: { source: TelemetrySource; timers: Timers; dropped: () => Dropped }) {
    this.#on = createInstruments(meter)
    this.#observing = observe(meter, this.#on, asked)
  }

  [Symbol.dispose](): void {
    this.#observing[Symbol.dispose]()
  }

  /**
   * A lease is measured by the process that held it, whoever ended it; everything else by the process that committed it. So
   * each thing is measured once, and sums over processes are right.
   */
  record(event: KnownEvent, change: Change | undefined): void {
    if (change?.ended?.lease.here === true) this.#leaseEnded(event.at, change.task, change.ended)
    if (event.elsewhere === true) return
    if (change?.resumedAfterMs !== undefined) {
      this.#on.resumeDuration.record(seconds(change.resumedAfterMs), laneOf(change.task.lane))
    }
    this.#count(event, change?.task)
  }

  handlerStopped(stop: HandlerStop): void {
    if (stop.reason !== 'canceled') return
    this.#on.cancelDuration.record(seconds(stop.afterMs), stop.leaked ? { [a.errorType.name]: 'leaked' } : {})
  }

  #count(event: KnownEvent, task: OpenTask | undefined): void {
    switch (event.type) {
      case 'task.queued':
        this.#on.submissions.add(1, { ...submit, ...this.#type(event.data.type), ...laneOf(event.data.lane) })
        return
      case 'task.rejected': {
        const { type, lane, reason } = event.data
        const label = reason === 'unknown_task_type' ? this.#types.ofUntrusted(type) : this.#types.of(type)
        const what = { [a.taskType.name]: label, [a.errorType.name]: reason }
        this.#on.submissions.add(1, { ...submit, ...what, ...laneOf(lane) })
        return
      }
      case 'task.started':
        this.#on.queueWait.record(seconds(event.data.waitMs), laneOf(event.data.lane))
        return
      case 'task.preempted':
        this.#on.preemptions.add(1, laneOf(task?.lane))
        return
      case 'task.recovered': {
        const { recovery } = event.data
        if (recovery === undefined) return
        this.#on.recoveries.add(1, {
          ...this.#type(task?.type),
          [a.failureCategory.name]: recovery.category,
          [a.recoveryStrategy.name]: recovery.strategy,
        })
        return
      }
      case 'supervisor.restarted':
      case 'supervisor.escalated':
        this.#on.supervisorRestarts.add(1, {
          ...this.#type(task?.type),
          [a.supervisorOutcome.name]: event.type === 'supervisor.restarted' ? 'restarted' : 'escalated',
        })
        return
      case 'credits.asked':
        this.#on.creditRequests.add(1, this.#type(task?.type))
        return
      case 'agreement.missed':
        this.#on.missedPromises.add(1, this.#type(task?.type))
        return
      case 'lease.expired':
        this.#on.leaseExpirations.add(1, { [a.endReason.name]: lossOf(event.data) })
        return
      case 'task.completed':
        this.#taskEnded(event.at, task, 'completed')
        return
      case 'task.failed':
        this.#taskEnded(event.at, task, 'failed', failureType(event.data.kind, event.data.error))
        return
      case 'task.canceled':
        this.#taskEnded(event.at, task, 'canceled')
        return
      case 'step.completed':
        this.#on.stepDuration.record(seconds(event.data.durationMs), this.#type(task?.type))
        return
      case 'step.failed': {
        const attributes = { ...this.#type(task?.type), ...this.#error(errorType(event.data.error)) }
        this.#on.stepDuration.record(seconds(event.data.durationMs), attributes)
        return
      }
      case 'step.replayed':
        this.#on.stepReplays.add(1, this.#type(task?.type))
        return
      default:
        return
    }
  }

  #leaseEnded(at: number, task: OpenTask, { lease, reason, errorType: error }: EndedLease): void {
    this.#on.leaseDuration.record(seconds(at - lease.startedAt), {
      ...process,
      ...this.#type(task.type),
      ...laneOf(task.lane),
      [a.endReason.name]: reason,
      ...this.#error(error),
    })
  }

  /** Tasks that were admitted before telemetry listened, or given up since, have no known beginning and are left out. */
  #taskEnded(at: number, task: OpenTask | undefined, state: string, error?: string): void {
    if (task?.submittedAt === undefined) return
    this.#on.taskDuration.record(seconds(at - task.submittedAt), {
      ...this.#type(task.type),
      ...laneOf(task.lane),
      [a.taskState.name]: state,
      ...this.#error(error),
    })
  }

  #type(type: string | undefined): Attributes {
    return type === undefined ? {} : { [a.taskType.name]: this.#types.of(type) }
  }

  #error(type: string | undefined): Attributes {
    return type === undefined ? {} : { [a.errorType.name]: this.#errors.of(type) }
  }
}

const submit: Attributes = { [a.system.name]: 'agent_runtime', [a.operationName.name]: 'submit' }
const process: Attributes = { [a.system.name]: 'agent_runtime', [a.operationName.name]: 'process' }

function laneOf(lane: Lane | undefined): Attributes {
  return lane === undefined ? {} : { [a.lane.name]: lane }
}

function lossOf(data: Extract<KnownEvent, { type: 'lease.expired' }>['data']): string {
  return 'reason' in data ? data.reason : 'expired'
}

/** A wall clock may go back; a duration does not. */
function seconds(ms: number): number {
  return Math.max(0, ms) / 1000
}

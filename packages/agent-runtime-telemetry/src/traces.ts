import type { Attributes, Context, HrTime, Link, Span, SpanContext, Tracer } from '@opentelemetry/api'
import type { EventType } from '@ku0/agent-runtime-core'
import { BoundedLabels } from './bounded-labels.ts'
import { attributes as a } from './catalogue.ts'
import { errorOf, errorType } from './error-of.ts'
import type { Change, EndedLease, OpenLease, OpenTask } from './open-tasks.ts'
import { theApi } from './open-telemetry.ts'
import type { KnownEvent, TraceCarrier } from './source.ts'
import { readTraceContext } from './stored-context.ts'

/** The types of events that spans are made of. */
export const traceEvents = [
  'task.queued',
  'task.started',
  'task.waiting',
  'task.requeued',
  'task.completed',
  'task.failed',
  'task.canceled',
  'step.completed',
  'step.failed',
  'step.replayed',
] as const satisfies readonly EventType[]

/**
 * Makes the spans of the catalogue from events, with the times that the events have: a span for each lease of this process,
 * the root of its own trace, and one for each step below it. Source: `docs/semantics.md 16.2`.
 */
export class Traces {
  /** Undefined while no SDK is registered. */
  tracer: Tracer | undefined
  readonly #traceOf: (taskId: string) => TraceCarrier | undefined
  readonly #withMessages: boolean
  readonly #types = new BoundedLabels(100, '_other')
  readonly #steps = new BoundedLabels(1_000, '_other')
  /** The spans of a task, for as long as the task is held. */
  readonly #spans = new WeakMap<OpenTask, TaskSpans>()

  constructor(options: { traceOf: (taskId: string) => TraceCarrier | undefined; withMessages: boolean }) {
    this.#traceOf = options.traceOf
    this.#withMessages = options.withMessages
  }

  record(event: KnownEvent, change: Change | undefined): void {
    if (change === undefined || this.tracer === undefined) return
    const { task, started, ended } = change
    if (started?.here === true) this.#start(this.tracer, task, started)
    if (event.type === 'step.completed' || event.type === 'step.failed') this.#step(this.tracer, event, task)
    if (ended !== undefined) this.#end(task, ended, event)
  }

  /** Ends the span of a task whose end will not be heard; false when it has none. */
  giveUp(task: OpenTask, at: number): boolean {
    const open = this.#spans.get(task)?.open
    this.#spans.delete(task)
    open?.span.end(timeOf(Math.max(at, open.startedAt)))
    return open !== undefined
  }

  #start(tracer: Tracer, task: OpenTask, lease: OpenLease): void {
    const previous = this.#spans.get(task)?.previous
    const { ROOT_CONTEXT, SpanKind, trace } = theApi()
    const span = tracer.startSpan(
      task.type === undefined ? 'process' : `process ${this.#types.of(task.type)}`,
      {
        kind: SpanKind.CONSUMER,
        startTime: timeOf(lease.startedAt),
        attributes: leaseAttributes(task, lease),
        links: linksTo(readTraceContext(task.trace ?? this.#traceOf(task.taskId)), previous),
      },
      ROOT_CONTEXT,
    )
    const open = { span, context: trace.setSpan(ROOT_CONTEXT, span), startedAt: lease.startedAt }
    this.#spans.set(task, { open, previous: span.spanContext() })
  }

  #step(tracer: Tracer, event: StepEvent, task: OpenTask): void {
    const open = this.#spans.get(task)?.open
    if (open === undefined) return
    const { key, position, durationMs } = event.data
    const span = tracer.startSpan(
      `step ${this.#steps.of(key)}`,
      {
        kind: theApi().SpanKind.INTERNAL,
        startTime: timeOf(Math.max(open.startedAt, event.at - durationMs)),
        attributes: { [a.stepKey.name]: key, [a.stepPosition.name]: position },
      },
      open.context,
    )
    if (event.type === 'step.failed') this.#fail(span, errorType(event.data.error), event.data.error)
    span.end(timeOf(Math.max(open.startedAt, event.at)))
  }

  #end(task: OpenTask, { lease, reason, errorType: error }: EndedLease, event: KnownEvent): void {
    const { open, previous } = this.#spans.get(task) ?? {}
    if (open === undefined || previous === undefined) return
    const { span } = open
    this.#spans.set(task, { open: undefined, previous })
    span.setAttribute(a.endReason.name, reason)
    span.setAttribute(a.stepsReplayed.name, lease.stepsReplayed)
    if (error !== undefined) this.#fail(span, error, storedError(event))
    span.end(timeOf(Math.max(lease.startedAt, event.at)))
  }

  #fail(span: Span, type: string, stored: unknown): void {
    const { message } = this.#withMessages ? errorOf(stored) : {}
    span.setAttribute(a.errorType.name, type)
    span.setStatus({ code: theApi().SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) })
  }
}

interface TaskSpans {
  readonly open: { readonly span: Span; readonly context: Context; readonly startedAt: number } | undefined
  /** The span of the latest lease. */
  readonly previous: SpanContext
}

type StepEvent = Extract<KnownEvent, { type: 'step.completed' | 'step.failed' }>

function leaseAttributes(task: OpenTask, lease: OpenLease): Attributes {
  return {
    [a.system.name]: 'agent_runtime',
    [a.operationName.name]: 'process',
    [a.operationType.name]: 'process',
    [a.taskId.name]: task.taskId,
    [a.workerId.name]: lease.workerId,
    [a.attempt.name]: lease.attempt,
    [a.leaseId.name]: lease.leaseId,
    ...(task.type === undefined ? {} : { [a.taskType.name]: task.type }),
    ...(task.lane === undefined ? {} : { [a.lane.name]: task.lane }),
  }
}

function linksTo(...contexts: readonly (SpanContext | undefined)[]): Link[] {
  return contexts.filter((context) => context !== undefined).map((context) => ({ context }))
}

function storedError(event: KnownEvent): unknown {
  return event.type === 'task.failed' || event.type === 'task.requeued' ? event.data.error : undefined
}

/** Seconds and nanoseconds: a plain number that is smaller than the process's start would be taken for a time since then. */
function timeOf(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)]
}

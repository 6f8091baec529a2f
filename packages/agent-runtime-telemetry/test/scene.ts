import { EventBus, type EventData, type EventType } from '@ku0/agent-runtime-core'
import { VirtualClock } from '@ku0/agent-runtime-core/testing'
import type { HandlerStop, TelemetryEvent, TelemetrySource, TraceCarrier } from '../src/index.ts'

/**
 * A runtime as telemetry sees it: a real event bus, virtual time, and the events that the transitions write, in their order,
 * each published under its own name and then under the others that its row has.
 */
export class Scene implements TelemetrySource {
  readonly clock = new VirtualClock()
  readonly bus = new EventBus<TelemetryEvent>({
    onListenerError: (error) => {
      this.#listenerError = error
    },
  })
  readonly storeInfo = { storeId: 'a1b2c3d4e5f607182', processId: 'process-1' }
  readonly submitted = new Map<string, TraceCarrier>()
  depth = { interactive: 0, normal: 0, batch: 0 }
  staleWrites = 0
  quotas: { key: string; queued: number; running: number }[] = []
  registered: { workerId: string; processId: string; inFlight: number }[] = []
  known: Awaited<ReturnType<NonNullable<TelemetrySource['routes']>>> = []
  found: ReturnType<NonNullable<TelemetrySource['stuck']>> = []
  readonly stopListeners = new Set<(stop: HandlerStop) => void>()
  #seqs = new Map<string, number>()
  #leases = 0
  #listenerError: unknown

  on(pattern: EventType, listener: (event: TelemetryEvent) => void): Disposable {
    return this.bus.subscribe(pattern, listener)
  }

  stats() {
    return Promise.resolve({ depth: this.depth, staleWrites: this.staleWrites, quotas: this.quotas })
  }

  workers() {
    return Promise.resolve(this.registered)
  }

  routes() {
    return Promise.resolve(this.known)
  }

  stuck() {
    return this.found
  }

  traceOf(taskId: string): TraceCarrier | undefined {
    return this.submitted.get(taskId)
  }

  onHandlerStopped(listener: (stop: HandlerStop) => void): Disposable {
    this.stopListeners.add(listener)
    return { [Symbol.dispose]: () => void this.stopListeners.delete(listener) }
  }

  handlerStopped(stop: HandlerStop): void {
    for (const listener of this.stopListeners) listener(stop)
  }

  publish<T extends keyof EventData>(
    type: T,
    taskId: string,
    data: EventData[T],
    options: Published = {},
  ): void {
    const seq = (this.#seqs.get(taskId) ?? 0) + 1
    this.#seqs.set(taskId, seq)
    this.#say(type, taskId, seq, data, options.elsewhere)
    for (const name of options.also ?? []) this.#say(name, taskId, seq, data, options.elsewhere)
  }

  /** What a process publishes of its own accord, without a row. */
  publishOwn(type: 'lease.lost' | 'step.replayed', taskId: string, data: unknown): void {
    this.#say(type, taskId, this.#seqs.get(taskId) ?? 0, data, undefined)
  }

  queued(taskId: string, data: Partial<EventData['task.queued']> = {}, options?: Published): void {
    this.publish(
      'task.queued',
      taskId,
      { type: 'review', lane: 'normal', input: { secret: 'hunter2' }, ...data },
      options,
    )
  }

  /** Starts a task and returns its lease. */
  started(taskId: string, data: Partial<EventData['task.started']> = {}, options?: Published): string {
    this.#leases += 1
    const leaseId = data.leaseId ?? `lease-${this.#leases}`
    const dispatch = this.#leases
    this.publish(
      'task.started',
      taskId,
      {
        attempt: 1,
        lane: 'normal',
        type: 'review',
        dispatch,
        fencingToken: 1,
        leaseId,
        workerId: 'worker-1',
        waitMs: 0,
        ...data,
      },
      { also: ['lease.acquired'], ...options },
    )
    return leaseId
  }

  step(taskId: string, key: string, durationMs: number, position = 0): void {
    this.publish('step.completed', taskId, { key, position, result: { secret: 'hunter2' }, durationMs })
  }

  completed(taskId: string, leaseId: string, options?: Published): void {
    this.publish(
      'task.completed',
      taskId,
      { output: { secret: 'hunter2' }, leaseId, durationMs: 0 },
      { also: ['lease.released'], ...options },
    )
  }

  failed(taskId: string, leaseId: string, error: unknown = { name: 'TypeError', message: 'hunter2' }): void {
    const data = { kind: 'error' as const, error, leaseId, durationMs: 0 }
    this.publish('task.failed', taskId, data, { also: ['lease.released'] })
  }

  expired(
    taskId: string,
    leaseId: string,
    reason: 'expired' | 'owner_dead' = 'expired',
    options?: Published,
  ): void {
    this.publish(
      'task.requeued',
      taskId,
      { attempt: 2, reason, leaseId },
      { also: ['lease.expired'], ...options },
    )
  }

  #say(type: EventType, taskId: string, seq: number, data: unknown, elsewhere: boolean | undefined): void {
    const event = { type, taskId, seq, at: this.clock.now(), data }
    this.bus.publish(elsewhere === undefined ? event : { ...event, elsewhere })
    if (this.#listenerError !== undefined) throw new Error('a listener threw', { cause: this.#listenerError })
  }
}

interface Published {
  readonly also?: readonly EventType[]
  readonly elsewhere?: boolean
}

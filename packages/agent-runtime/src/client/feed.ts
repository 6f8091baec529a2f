import {
  EventBus,
  eventCatalogue,
  type EventType,
  type ExecutionStore,
  type OutputChunk,
  type StoredEvent,
  type ValueCodec,
} from '@ku0/agent-runtime-core'
import type { RuntimeEvent } from '../api/events.ts'
import { outsideHandlers } from '../lease/inside-handler.ts'
import { toRuntimeEvent } from './stored-event.ts'
import { Tail } from './tail.ts'

/** One reader of a task's events or output. */
interface Reader {
  readonly events?: Tail<StoredEvent>
  readonly chunks?: Tail<OutputChunk>
}

/**
 * Publishes something that is not a row of the store to this process's listeners. Builds nothing if nobody
 * listens.
 */
export type Announce = (
  type: EventType,
  taskId: string,
  seq: number,
  data: Readonly<Record<string, unknown>>,
) => void

/**
 * Passes what the store publishes to the listeners of this process, and states to the store what they listen
 * for: an event that nobody listens for does not cross the thread. A listener cannot slow down or stop a
 * task.
 */
export class Feed {
  readonly #store: ExecutionStore
  readonly #values: ValueCodec
  readonly #bus: EventBus<RuntimeEvent>
  /** Number of subscriptions to each pattern. */
  readonly #patterns = new Map<string, number>()
  readonly #readers = new Map<string, Set<Reader>>()
  /** Promises that wait until a task has ended or is parked as diverged. */
  readonly #halts = new Map<string, Set<PromiseWithResolvers<void>>>()
  /** True if so many tasks are awaited that the store reports the halts of all tasks. */
  #wide = false
  #closed: { readonly error: unknown } | undefined
  #stated = ''

  constructor(
    store: ExecutionStore,
    values: ValueCodec,
    onListenerError: (error: unknown, event: RuntimeEvent) => void,
  ) {
    this.#store = store
    this.#values = values
    this.#bus = new EventBus({ onListenerError })
  }

  on(pattern: string, listener: (event: RuntimeEvent) => void): Disposable {
    const unsubscribe = this.#bus.subscribe(pattern, listener)
    this.#patterns.set(pattern, (this.#patterns.get(pattern) ?? 0) + 1)
    this.#state()
    let open = true
    const close = () => {
      if (!open) return
      open = false
      unsubscribe()
      const left = (this.#patterns.get(pattern) ?? 1) - 1
      if (left === 0) this.#patterns.delete(pattern)
      else this.#patterns.set(pattern, left)
      this.#state()
    }
    return { [Symbol.dispose]: close }
  }

  /** Whether somebody listens to events of this type. */
  wants(type: EventType): boolean {
    return this.#bus.wants(type)
  }

  /** Publishes something that is not a row to this process's listeners. */
  announce(
    type: EventType,
    taskId: string,
    seq: number,
    at: () => number,
    data: Readonly<Record<string, unknown>>,
  ): void {
    if (!this.#bus.wants(type)) return
    const event = { type, taskId, seq, at: at(), data } as RuntimeEvent
    outsideHandlers(() => this.#bus.publish(event))
  }

  /** `reader` gets the events of the task until the returned value is disposed. */
  read(taskId: string, reader: Reader): Disposable {
    this.#fail([reader])
    add(this.#readers, taskId, reader)
    this.#state()
    const close = () => {
      if (remove(this.#readers, taskId, reader)) this.#state()
    }
    return { [Symbol.dispose]: close }
  }

  /**
   * Resolves when the task ends, or is parked as diverged, from now on. Dispose it when it is not needed any
   * more.
   */
  awaitHalt(taskId: string): { readonly halted: Promise<void> } & Disposable {
    const halt = Promise.withResolvers<void>()
    halt.promise.catch(() => {})
    if (this.#closed !== undefined) halt.reject(this.#closed.error)
    add(this.#halts, taskId, halt)
    if (!this.#wide) {
      this.#wide = this.#halts.size > MAX_NAMED_TASKS
      this.#state()
    }
    const close = () => {
      if (!remove(this.#halts, taskId, halt) || (this.#wide && this.#halts.size > 0)) return
      this.#wide = false
      this.#state()
    }
    return { halted: halt.promise, [Symbol.dispose]: close }
  }

  published(events: readonly StoredEvent[]): void {
    for (const event of events) {
      this.#tell(event)
      this.#publish(event, event.type)
      for (const name of event.also ?? []) this.#publish(event, name)
    }
  }

  emitted(chunks: readonly OutputChunk[]): void {
    for (const chunk of chunks)
      for (const { chunks: tail } of this.#readers.get(chunk.taskId) ?? []) tail?.push(chunk)
  }

  /** Nothing more will come: rejects everybody who waits, with the reason. */
  close(error: unknown): void {
    if (this.#closed !== undefined) return
    this.#closed = { error }
    for (const halts of this.#halts.values()) for (const halt of halts) halt.reject(error)
    for (const readers of this.#readers.values()) this.#fail(readers)
  }

  #fail(readers: Iterable<Reader>): void {
    if (this.#closed === undefined) return
    for (const { events, chunks } of readers) {
      events?.fail(this.#closed.error)
      chunks?.fail(this.#closed.error)
    }
  }

  #tell(event: StoredEvent): void {
    const isEnd = finalEvents.has(event.type)
    for (const { events, chunks } of this.#readers.get(event.taskId) ?? []) {
      events?.push(event)
      if (!isEnd) continue
      events?.end()
      chunks?.end()
    }
    if (isEnd || event.also?.includes('task.parked') === true)
      for (const halt of this.#halts.get(event.taskId) ?? []) halt.resolve()
  }

  #publish(event: StoredEvent, name: EventType): void {
    if (this.#bus.wants(name))
      outsideHandlers(() => this.#bus.publish(toRuntimeEvent(event, name, this.#values)))
  }

  /**
   * Sent in the same turn as the subscription, so that everything that reaches the store afterwards is
   * published to it.
   */
  #state(): void {
    if (this.#closed !== undefined) return
    const types = this.#types()
    const tasks = [...this.#readers.keys(), ...(this.#wide ? [] : this.#halts.keys())]
    const stated = `${types === 'all' ? '*' : types.join()} ${tasks.join()}`
    if (stated === this.#stated) return
    this.#stated = stated
    this.#store.interest({ types, tasks })
  }

  #types(): 'all' | readonly EventType[] {
    if (this.#patterns.has('*')) return 'all'
    const types = everyType.filter((type) => this.#wide && (finalEvents.has(type) || type === 'task.parked'))
    const heard = everyType.filter((type) => this.#bus.wants(type) && !types.includes(type))
    return [...types, ...heard]
  }
}

/** Up to this number of tasks, the halts are requested by task id. */
const MAX_NAMED_TASKS = 32

const everyType = Object.keys(eventCatalogue) as EventType[]
const finalEvents: ReadonlySet<EventType> = new Set<EventType>([
  'task.completed',
  'task.failed',
  'task.canceled',
  'task.rejected',
])

function add<T>(map: Map<string, Set<T>>, key: string, value: T): void {
  const set = map.get(key)
  if (set === undefined) map.set(key, new Set([value]))
  else set.add(value)
}

function remove<T>(map: Map<string, Set<T>>, key: string, value: T): boolean {
  const set = map.get(key)
  if (set?.delete(value) !== true) return false
  if (set.size === 0) map.delete(key)
  return true
}

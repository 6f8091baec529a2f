import { RuntimeError } from '../error/errors.ts'
import { show } from '../check/show.ts'
import { type PaperEvent, paperEvents } from './event.ts'

/** The events of `E` that a pattern matches, as far as the types can express. */
export type EventsMatching<E extends { readonly type: string }, P extends string> = string extends E['type']
  ? E
  : P extends '*'
    ? E
    : P extends PaperEvent
      ? Extract<E, { readonly type: (typeof paperEvents)[P][number] }>
      : P extends `${infer Prefix}${'.*' | ':*'}`
        ? Extract<E, { readonly type: `${Prefix}.${string}` }>
        : Extract<E, { readonly type: P }>

/** Ends a subscription; calling it again does nothing. `using` does the same at the end of a block. */
export type Unsubscribe = (() => void) & Disposable

/**
 * Passes committed events to the listeners of this process. Listeners cannot affect a task: a listener's
 * error or slowness changes nothing for the publisher or for other listeners. Source: Track AA, Integration
 * Points.
 */
export class EventBus<E extends { readonly type: string }> {
  readonly #onListenerError: (error: unknown, event: E) => void
  #subscriptions: readonly Subscription<E>[] = []
  /**
   * The subscriptions that match a type, in order; filled as types come up, emptied when a subscription comes
   * or goes.
   */
  readonly #matching = new Map<string, readonly Subscription<E>[]>()
  /** Published and not yet delivered; empty between two calls of publish. */
  readonly #waiting: E[] = []
  #delivering = false

  /** `onListenerError` gets what a listener threw, or what its promise was rejected with. */
  constructor(options: { readonly onListenerError: (error: unknown, event: E) => void }) {
    this.#onListenerError = options.onListenerError
  }

  /** How many subscriptions are open. */
  get size(): number {
    return this.#subscriptions.length
  }

  /**
   * Calls `listener` for every event published from now on whose type matches: a whole name (`task.queued`),
   * a prefix (`task.*` or `task:*`, at any depth), a name of {@link paperEvents}, or `*` for all. Listeners are called in the order in which
   * they subscribed. Throws `invalid_argument` for any other use of `*` and for the empty pattern.
   */
  subscribe<const P extends string>(
    pattern: P,
    listener: (event: EventsMatching<E, P>) => void,
  ): Unsubscribe {
    const subscription: Subscription<E> = {
      matches: matcherOf(pattern),
      listener: listener as (event: E) => unknown,
      open: true,
    }
    this.#change([...this.#subscriptions, subscription])
    const unsubscribe = () => {
      if (!subscription.open) return
      subscription.open = false
      this.#change(this.#subscriptions.filter((other) => other !== subscription))
    }
    return Object.assign(unsubscribe, { [Symbol.dispose]: unsubscribe })
  }

  /** Whether anyone listens to a type: one look-up, so that an event nobody wants need not be built. */
  wants(type: E['type']): boolean {
    return this.#listenersOf(type).length > 0
  }

  /**
   * Calls every listener of the event's type before it returns. An event that a listener publishes meanwhile
   * follows after all listeners have had the present one, so that all see the same order. A listener that is
   * unsubscribed, even by another listener, gets nothing more; one that is subscribed meanwhile gets the
   * events that follow.
   */
  publish(event: E): void {
    if (!this.#delivering && !this.wants(event.type)) return
    this.#waiting.push(event)
    if (this.#delivering) return

    this.#delivering = true
    try {
      for (const next of this.#waiting) this.#deliver(next)
    } finally {
      this.#waiting.length = 0
      this.#delivering = false
    }
  }

  #deliver(event: E): void {
    for (const subscription of this.#listenersOf(event.type)) {
      if (!subscription.open) continue
      try {
        const result = subscription.listener(event)
        // oxlint-disable-next-line no-restricted-globals -- Asks whether it is one; makes none.
        if (result instanceof Promise) result.catch((error: unknown) => this.#report(error, event))
      } catch (error) {
        this.#report(error, event)
      }
    }
  }

  #report(error: unknown, event: E): void {
    try {
      this.#onListenerError(error, event)
    } catch {
      // The last resort failed; the listeners that follow still get the event.
    }
  }

  #listenersOf(type: string): readonly Subscription<E>[] {
    const known = this.#matching.get(type)
    if (known !== undefined) return known
    const matching = this.#subscriptions.filter((subscription) => subscription.matches(type))
    if (this.#matching.size >= MAX_CACHED_TYPES) this.#matching.clear()
    this.#matching.set(type, matching)
    return matching
  }

  #change(subscriptions: readonly Subscription<E>[]): void {
    this.#subscriptions = subscriptions
    this.#matching.clear()
  }
}

interface Subscription<E> {
  readonly matches: (type: string) => boolean
  readonly listener: (event: E) => unknown
  open: boolean
}

/** Types come from the catalogue, a few dozen; a stream of made-up ones must not fill the memory. */
const MAX_CACHED_TYPES = 1_024

function matcherOf(pattern: string): (type: string) => boolean {
  if (typeof pattern !== 'string') throw refused(pattern)
  if (pattern === '*') return () => true
  const prefix = /^([^*]+)[.:]\*$/.exec(pattern)?.[1]
  if (prefix !== undefined) return (type) => type.startsWith(`${prefix}.`)
  if (pattern === '' || pattern.includes('*')) throw refused(pattern)
  if (Object.hasOwn(paperEvents, pattern)) {
    const types: readonly string[] = paperEvents[pattern as PaperEvent]
    return (type) => types.includes(type)
  }
  return (type) => type === pattern
}

function refused(pattern: unknown): RuntimeError {
  return new RuntimeError(
    'invalid_argument',
    `a pattern is a name, 'prefix.*', 'prefix:*' or '*', not ${show(pattern)}`,
  )
}

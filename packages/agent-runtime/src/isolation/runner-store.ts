import {
  type Clock,
  encode,
  type ErrorRecord,
  type OutcomeOf,
  type Read,
  type ReadKind,
  type Reads,
  type StoreInfo,
  type Submission,
  toRuntimeError,
  type ValueCodec,
  type Write,
  type WriteKind,
} from '@ku0/agent-runtime-core'
import type { Heartbeat } from '../api/profiles.ts'
import type { SubmitItem } from '../api/submissions.ts'
import type { HeldStore } from '../execution/parts.ts'
import { backgroundTimers } from '../system.ts'
import type { Ask, FromRunner } from './words.ts'

/**
 * The store as a runner sees it: each call is asked of the worker, which asks the store. What else only the worker can do is asked in
 * the same way.
 */
export class RunnerStore implements HeldStore {
  readonly info: StoreInfo
  readonly #say: (word: FromRunner) => void
  readonly #alertness: Alertness
  readonly #asked = new Map<number, PromiseWithResolvers<unknown>>()
  #asks = 0

  constructor(info: StoreInfo, say: (word: FromRunner) => void, clock: Clock) {
    this.info = info
    this.#say = say
    this.#alertness = new Alertness(clock)
  }

  write<K extends WriteKind>(operation: Write<K>): Promise<OutcomeOf<K>> {
    return this.#ask({ call: 'write', it: operation }) as Promise<OutcomeOf<K>>
  }

  read<K extends ReadKind>(query: Read<K>): Promise<Reads[K]['answer']> {
    return this.#ask({ call: 'read', it: query }) as Promise<Reads[K]['answer']>
  }

  heartbeat(report: Heartbeat): Promise<'ok' | 'stale'> {
    const text = encode(report, { what: 'a progress report' })
    return this.#ask({ call: 'heartbeat', report: text }) as Promise<'ok' | 'stale'>
  }

  /** The worker knows the types that a child may have, and checks its input. */
  prepareChild(
    values: ValueCodec,
    { task, input, options }: SubmitItem,
    place: string,
    parentType: string,
  ): Promise<Submission> {
    const type = typeof task === 'object' ? (task as { readonly type?: unknown }).type : task
    const rest = values.encode({ input, ...(options === undefined ? {} : { options }) }, { what: place })
    return this.#ask({ call: 'prepare', task: type, rest, place, parentType }) as Promise<Submission>
  }

  mayHaveSlept(): boolean {
    return this.#alertness.isFresh()
  }

  timesSlept(): number {
    return this.#alertness.times()
  }

  answered(id: number, outcome: unknown, error: ErrorRecord | undefined): void {
    const asked = this.#asked.get(id)
    this.#asked.delete(id)
    if (error === undefined) asked?.resolve(outcome)
    else asked?.reject(toRuntimeError(error))
  }

  /** Its task is over. */
  close(): void {
    this.#alertness.close()
  }

  #ask(ask: Ask): Promise<unknown> {
    this.#asks += 1
    const asked = Promise.withResolvers<unknown>()
    this.#asked.set(this.#asks, asked)
    this.#say({ kind: 'ask', id: this.#asks, ask })
    return asked.promise
  }
}

/**
 * Whether this event loop stood still for so long that it may not have heard what happened to its lease. Source:
 * `docs/reliability.md` C03.
 */
class Alertness {
  readonly #clock: Clock
  #seenAt: number
  #wokeAt = Number.NEGATIVE_INFINITY
  #times = 0
  #beat: { cancel(): void }

  constructor(clock: Clock) {
    this.#clock = clock
    this.#seenAt = clock.monotonic()
    this.#beat = this.#next()
  }

  isFresh(): boolean {
    return this.#look() - this.#wokeAt < NEWS_MS
  }

  times(): number {
    this.#look()
    return this.#times
  }

  close(): void {
    this.#beat.cancel()
  }

  #next(): { cancel(): void } {
    return backgroundTimers.after(BEAT_MS, () => {
      this.#look()
      this.#beat = this.#next()
    })
  }

  #look(): number {
    const now = this.#clock.monotonic()
    if (now - this.#seenAt > SILENT_MS + BEAT_MS) {
      this.#wokeAt = now
      this.#times += 1
    }
    this.#seenAt = now
    return now
  }
}

const BEAT_MS = 50
const SILENT_MS = 100
/** So long after it woke, it has heard what happened meanwhile. */
const NEWS_MS = 1_000

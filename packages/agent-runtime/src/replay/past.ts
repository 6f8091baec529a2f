import {
  approvalName,
  canonical,
  type ChildRecord,
  decode,
  describeError,
  type ErrorRecord,
  type EventData,
  isRetryWait,
  isVoid,
  type OpenWait,
  pastFailure,
  outlivesRejection,
  type Rejection,
  RuntimeError,
  type StepRecord,
  type StoredEvent,
  type TaskState,
  type WaitRecord,
  parseJson,
} from '@ku0/agent-runtime-core'
import type { History } from '../durable/pass/memos.ts'

/** What a replay needs of an event. */
export type PastEvent = Pick<StoredEvent, 'seq' | 'type' | 'at' | 'data'>

/** A task as its events report it: what was submitted, and what every pass so far left behind. */
export interface Past {
  /** The data of `task.queued`; undefined for a task that was rejected. */
  readonly submission: string | undefined
  readonly type: string
  readonly state: TaskState
  readonly attempt: number
  readonly fencingToken: number
  /** Some pass ended because its handler threw. */
  readonly threw: boolean
  readonly history: History
}

/** Reads a task's past from all of its events, in their order. Throws `invalid_argument` for an event that cannot be read, naming it. */
export function pastOf(events: readonly PastEvent[]): Past {
  const reading = new Reading()
  for (const event of events)
    try {
      reading.take(event)
    } catch (cause) {
      const why = describeError(cause).message
      throw new RuntimeError(
        'invalid_argument',
        `event ${event.seq} (${event.type}) of the history cannot be read: ${why}`,
        { cause },
      )
    }
  return reading.past()
}

/** The events up to the one with which the pass of a lease began to wait: what it waited for may have ended since. */
export function untilItWaited<Event extends PastEvent>(
  events: readonly Event[],
  leaseId: string,
): readonly Event[] {
  const last = events.findLastIndex(
    ({ type, data }) =>
      type === 'task.waiting' && (JSON.parse(data) as EventData['task.waiting']).leaseId === leaseId,
  )
  return last === -1 ? events : events.slice(0, last + 1)
}

type Dropped = Partial<Pick<EventData['step.completed'], 'dropped' | 'droppedChildren'>>

class Reading {
  #submission: string | undefined
  #type = ''
  #state: TaskState = 'queued'
  #attempt = 1
  #fencingToken = 0
  #threw = false
  #lastFailure: number | undefined
  readonly #steps = new Map<string, StepRecord>()
  readonly #waits = new Map<string, WaitRecord>()
  readonly #open = new Map<string, OpenWait>()
  readonly #failures = new Map<string, ErrorRecord>()
  readonly #children = new Map<string, ChildRecord>()
  readonly #failedAt = new Map<string, number>()
  readonly #rejections: Rejection[] = []
  /** The events that put it back. */
  readonly #returns: PastEvent[] = []

  past(): Past {
    return {
      submission: this.#submission,
      type: this.#type,
      state: this.#state,
      attempt: this.#attempt,
      fencingToken: this.#fencingToken,
      threw: this.#threw,
      history: {
        steps: this.#steps,
        waits: this.#waits,
        open: this.#open,
        failures: this.#failures,
        children: this.#children,
        settled: new Map(),
        // Nothing is started in a replay.
        inDoubt: new Map(),
        effectKeys: new Map(),
        rejections: this.#rejections,
        lastFailure: this.#lastFailure,
        ...pastFailure(this.#returns),
      },
    }
  }

  take(event: PastEvent): void {
    const { seq, type, at, data: text } = event
    if (type === 'task.requeued' || type === 'task.resumed') this.#returns.push(event)
    const data: unknown = parseJson(text)
    switch (type) {
      case 'task.queued':
        this.#submission = text
        this.#type = (data as EventData['task.queued']).type
        return
      case 'task.rejected':
        this.#type = (data as EventData['task.rejected']).type
        this.#state = 'rejected'
        return
      case 'task.started':
        this.#state = 'running'
        this.#attempt = (data as EventData['task.started']).attempt
        this.#fencingToken = (data as EventData['task.started']).fencingToken
        return
      case 'task.requeued':
        this.#state = 'queued'
        this.#drop(data as EventData['task.requeued'])
        if ((data as EventData['task.requeued']).reason === 'retry') this.#tryAgain()
        return
      case 'task.failed':
        this.#state = 'failed'
        this.#threw ||= (data as EventData['task.failed']).kind !== 'poisoned'
        return
      case 'task.completed':
        this.#state = 'completed'
        return
      case 'task.canceled':
        this.#state = 'canceled'
        return
      case 'task.waiting': {
        const { waits, dueAt = {} } = data as EventData['task.waiting']
        this.#state = 'waiting'
        for (const wait of waits) this.#begin(wait, dueAt[wait.key])
        return
      }
      case 'approval.requested': {
        const { key, position } = data as EventData['approval.requested']
        this.#begin({ key, kind: 'approval', name: approvalName(key), position }, undefined)
        return
      }
      case 'wait.started':
        this.#begin(data as EventData['wait.started'], undefined)
        return
      case 'task.resumed':
        this.#state = 'queued'
        if ((data as EventData['task.resumed']).key !== undefined)
          this.#end(data as EventData['wait.resolved'], seq, at)
        return
      case 'wait.resolved':
      case 'wait.inherited':
        this.#end(data as EventData['wait.resolved'], seq, at)
        return
      case 'step.completed':
      case 'step.inherited':
        this.#complete(data as EventData['step.completed'], seq, at)
        return
      case 'child.spawned':
      case 'child.inherited': {
        const { dropped = [], ...child } = data as EventData['child.spawned']
        this.#children.set(child.key, { ...child, seq })
        for (const wait of dropped) this.#open.delete(wait)
        return
      }
      case 'step.failed':
        this.#fail(data as EventData['step.failed'], seq)
        return
      default:
    }
  }

  #begin({ key, kind, name, position }: OpenWait, dueAt: number | undefined): void {
    if (this.#open.has(key) || this.#waits.has(key)) return
    const named = name === undefined ? {} : { name }
    this.#open.set(key, { key, kind, position, ...named, ...(dueAt === undefined ? {} : { dueAt }) })
  }

  #end({ key, kind, position, outcome, ...rest }: EventData['wait.resolved'], seq: number, at: number): void {
    const value = 'value' in rest ? { value: canonical(rest.value) } : {}
    this.#open.delete(key)
    const { since } = rest
    if (since === undefined) this.#waits.set(key, { key, kind, position, outcome, seq, at, ...value })
    else {
      this.#drop(rest)
      this.#sendBack({ key, since, seq, at, value: value.value ?? 'null' })
    }
  }

  /** Source: `docs/semantics.md 12.2`. */
  #sendBack(rejection: Rejection): void {
    this.#rejections.push(rejection)
    const isGone = (seq: number) => isVoid(seq, [rejection])
    for (const [key, { seq }] of this.#steps)
      if (isGone(seq) && !outlivesRejection({ key, kind: 'step', seq })) this.#steps.delete(key)
    for (const [key, seq] of this.#failedAt) if (isGone(seq)) this.#failures.delete(key)
    for (const [key, { seq }] of this.#children) if (isGone(seq)) this.#children.delete(key)
    for (const [key, wait] of this.#waits)
      if (isGone(wait.seq) && !outlivesRejection(wait, (child) => this.#children.get(child)?.seq))
        this.#waits.delete(key)
  }

  /** The steps have all their tries again. Source: `docs/semantics.md 7.7`. */
  #tryAgain(): void {
    this.#threw = true
    for (const waits of [this.#waits, this.#open])
      for (const key of waits.keys()) if (isRetryWait(key)) waits.delete(key)
  }

  #complete(data: EventData['step.completed'], seq: number, at: number): void {
    const { key, position, result, inputHash, durationMs } = data
    const hash = inputHash === undefined ? {} : { inputHash }
    this.#steps.set(key, { key, position, result: canonical(result), seq, at, durationMs, ...hash })
    this.#failures.delete(key)
    this.#drop(data)
  }

  #drop({ dropped = [], droppedChildren = [] }: Dropped): void {
    for (const wait of dropped) this.#open.delete(wait)
    for (const child of droppedChildren) this.#children.delete(child)
  }

  #fail(data: EventData['step.failed'], seq: number): void {
    const { key, error, retry } = data
    this.#drop(data)
    if (retry !== undefined) return
    this.#lastFailure = seq
    this.#failedAt.set(key, seq)
    this.#failures.set(key, decode(canonical(error)) as ErrorRecord)
  }
}

import {
  StoreError,
  type ExecutionStore,
  type Interest,
  type Read,
  type ReadKind,
  type Reads,
  type StoreInfo,
  type StoreListener,
  type StoreReach,
  type StoreSettings,
  type Write,
  type WriteKind,
  type Writes,
} from '@ku0/agent-runtime-core'
import type { HeldLease } from '../engine/engine.ts'
import type { LineCall } from '../engine/line-answers.ts'
import type { Turn } from '../engine/turn.ts'
import type { Message } from '../engine/message.ts'

/** The way to an engine, wherever it runs. */
export interface Line {
  readonly info: StoreInfo
  send(message: Message): void
  /** See {@link ExecutionStore.mayHaveSlept}. */
  mayHaveSlept(): boolean
  /** See {@link ExecutionStore.timesSlept}. */
  timesSlept(): number
  /** Ends the engine after what was sent; resolves once the database is closed. */
  end(): Promise<void>
}

interface Waiting {
  readonly resolve: (value: never) => void
  readonly reject: (error: Error) => void
}

/** A store as its process sees it: calls out, turns in. The same for an engine in this thread and for one in its own. */
export class StoreFront implements ExecutionStore {
  private line: Line | undefined
  private readonly waiting = new Map<number, Waiting>()
  private readonly listeners = new Set<StoreListener>()
  private lastCall = 0
  private ended: Error | undefined
  private closing: Promise<void> | undefined
  private own: Interest = none
  private remote: Interest = none
  /** The settings of the store that are in force, where they are not those of this process. */
  private settings: StoreSettings | undefined
  /** Set once the database could not be reached. */
  private reach: StoreReach | undefined

  connect(line: Line): this {
    this.line = line
    return this
  }

  get info(): StoreInfo {
    return this.open().info
  }

  write<K extends WriteKind>(operation: Write<K>): Promise<Writes[K]['outcome']> {
    return this.call((call) => ({ to: 'write', call, operation: operation as Write }))
  }

  read<K extends ReadKind>(query: Read<K>): Promise<Reads[K]['answer']> {
    return this.call((call) => ({ to: 'read', call, query: query as Read }))
  }

  /** A write that came over a line of this store: it is done at most once, however often it comes. */
  writeFrom(operation: Write, from: LineCall): Promise<unknown> {
    return this.call((call) => ({ to: 'write', call, operation, from }))
  }

  /** `given`: how many tasks the worker has received, said when its line has come back. */
  demand(workerId: string, credit: number, given?: number): void {
    if (this.ended !== undefined) return
    this.open().send({ to: 'demand', workerId, credit, ...(given === undefined ? {} : { given }) })
  }

  /** The lines of these workers are silent. */
  absent(workerIds: readonly string[]): void {
    if (this.ended === undefined) this.open().send({ to: 'absent', workerIds })
  }

  /** The live leases of workers on lines. */
  held(workerIds: readonly string[]): Promise<readonly HeldLease[]> {
    return this.call((call) => ({ to: 'held', call, workerIds }))
  }

  interest(interest: Interest): void {
    this.own = interest
    this.stateInterest()
  }

  /** The events that the lines of this store ask for. */
  interestOfLines(interest: Interest): void {
    this.remote = interest
    this.stateInterest()
  }

  listen(listener: StoreListener): Disposable {
    this.listeners.add(listener)
    if (this.settings !== undefined) listener.configured?.(this.settings)
    if (this.reach?.isReached === false) listener.reached?.(this.reach)
    return { [Symbol.dispose]: () => void this.listeners.delete(listener) }
  }

  mayHaveSlept(): boolean {
    return this.line?.mayHaveSlept() ?? false
  }

  timesSlept(): number {
    return this.line?.timesSlept() ?? 0
  }

  close(): Promise<void> {
    this.closing ??= this.shut()
    return this.closing
  }

  /** Takes in what the engine has to say: first what happened to leases, then answers, then what may start new work. */
  receive(turn: Turn): void {
    if (turn.notices.length > 0) this.tell((listener) => listener.noticed?.(turn.notices))
    for (const answer of turn.answers) {
      const waiting = this.waiting.get(answer.call)
      this.waiting.delete(answer.call)
      if ('error' in answer) waiting?.reject(answer.error)
      else waiting?.resolve(answer.value as never)
    }
    if (turn.claims.length > 0) this.tell((listener) => listener.claimed?.(turn.claims))
    if (turn.events.length > 0) this.tell((listener) => listener.published?.(turn.events))
    if (turn.chunks.length > 0) this.tell((listener) => listener.emitted?.(turn.chunks))
    if (turn.schedulesDue) this.tell((listener) => listener.schedulesDue?.())
    const { drains, reach, settings } = turn
    if (reach !== undefined) {
      this.reach = reach
      this.tell((listener) => listener.reached?.(reach))
    }
    if (settings !== undefined) {
      this.settings = settings
      this.tell((listener) => listener.configured?.(settings))
    }
    if (drains !== undefined) this.tell((listener) => listener.drained?.(drains))
    if (turn.failed !== undefined) this.fail(turn.failed)
  }

  /** The engine has ended and does not come back: every open call is rejected with the reason. */
  fail(error: Error): void {
    if (this.ended !== undefined) return
    this.ended = error
    this.rejectAll(error)
    this.tell((listener) => listener.failed?.(error))
  }

  private call<T>(message: (call: number) => Message): Promise<T> {
    if (this.ended !== undefined) return Promise.reject(this.ended)
    const call = ++this.lastCall
    return new Promise<T>((resolve, reject) => {
      this.waiting.set(call, { resolve, reject })
      this.open().send(message(call))
    })
  }

  private stateInterest(): void {
    if (this.ended !== undefined) return
    const { own, remote } = this
    const interest: Interest =
      remote === none
        ? own
        : {
            types:
              own.types === 'all' || remote.types === 'all'
                ? 'all'
                : [...new Set([...own.types, ...remote.types])],
            tasks: [...new Set([...own.tasks, ...remote.tasks])],
          }
    this.open().send({ to: 'interest', interest })
  }

  private async shut(): Promise<void> {
    const failed = this.ended
    const line = this.open()
    await line.end()
    this.ended = failed ?? new StoreError('store_closed', 'the store was closed')
    this.rejectAll(this.ended)
  }

  private rejectAll(error: Error): void {
    const open = [...this.waiting.values()]
    this.waiting.clear()
    for (const { reject } of open) reject(error)
  }

  private tell(say: (listener: StoreListener) => void): void {
    for (const listener of this.listeners) say(listener)
  }

  private open(): Line {
    if (this.line === undefined) throw new StoreError('store_closed', 'the store is not open')
    return this.line
  }
}

const none: Interest = { types: [], tasks: [] }

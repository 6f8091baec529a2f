import type {
  ExecutionStore,
  Interest,
  Read,
  ReadKind,
  Reads,
  StoreInfo,
  StoreListener,
  Write,
  WriteKind,
  Writes,
} from '@ku0/agent-runtime-core'
import type { Life } from './life.ts'

/** Told of what the store commits, before anybody else is. */
export interface CommitListener {
  readonly events: NonNullable<StoreListener['published']>
  /** A commit that added an event or output. The process may die of it. */
  readonly commit: () => void
  /** A child was refused, by a record that has this id. */
  readonly refusedChild: (taskId: string) => void
}

/**
 * A store whose process can die between a commit and its answers. Two halves of a process use it. Workers and handlers hear nothing
 * more from then on, and what they write is dropped. What a test asked itself is answered: by the commit if it was the last, and
 * by the next process otherwise, since the test stands outside, as a client does.
 */
export class MortalStore implements ExecutionStore {
  readonly info: StoreInfo
  readonly #inner: ExecutionStore
  readonly #life: Life
  readonly #heard: CommitListener
  readonly #listeners = new Set<StoreListener>()
  readonly #successor = Promise.withResolvers<ExecutionStore>()
  readonly #open = new Set<{ readonly askAgain: () => void }>()
  #turnCounted = false
  /** Calls that begin in a dead process wait for the next, or are refused. */
  #refusal: (() => Error) | undefined

  constructor(inner: ExecutionStore, life: Life, heard: CommitListener) {
    this.info = inner.info
    this.#inner = inner
    this.#life = life
    this.#heard = heard
    inner.interest({ types: 'all', tasks: [] })
    inner.listen({
      // Later by a turn of the microtasks, when it is known whether the process outlives the commit; before its answers still.
      noticed: (notices) =>
        queueMicrotask(() => this.#tellWorkers((listener) => listener.noticed?.(notices))),
      claimed: (claims) => queueMicrotask(() => this.#tellWorkers((listener) => listener.claimed?.(claims))),
      published: (events) => {
        if (life.dead) return
        heard.events(events)
        this.#count()
        this.#tell((listener) => listener.published?.(events))
      },
      emitted: (chunks) => {
        if (life.dead && !this.#turnCounted) return
        this.#count()
        this.#tell((listener) => listener.emitted?.(chunks))
      },
      schedulesDue: () => queueMicrotask(() => this.#tellWorkers((listener) => listener.schedulesDue?.())),
      failed: (error) => this.#tellWorkers((listener) => listener.failed?.(error)),
    })
  }

  write<K extends WriteKind>(operation: Write<K>): Promise<Writes[K]['outcome']> {
    if (clientWrites.has(operation.kind)) return this.#ask((store) => store.write(operation))
    if (this.#life.dead) return new Promise(() => {})
    return new Promise((resolve, reject) => {
      const answered = (outcome: Writes[K]['outcome']) => {
        // Output that no test follows is told of by nothing but its answer.
        if (operation.kind === 'appendOutput') this.#count()
        // It is stored, also where the process has died of it.
        if (operation.kind === 'spawn') this.#noteRefusal(outcome as Writes['spawn']['outcome'])
        if (!this.#life.dead) resolve(outcome)
      }
      const refused = (error: unknown) => {
        if (!this.#life.dead) reject(error)
      }
      this.#inner.write(operation).then(answered, refused)
    })
  }

  read<K extends ReadKind>(query: Read<K>): Promise<Reads[K]['answer']> {
    return this.#ask((store) => store.read(query))
  }

  demand(workerId: string, credit: number): void {
    if (!this.#life.dead) this.#inner.demand(workerId, credit)
  }

  /** Of events all are heard in any case. */
  interest({ tasks }: Interest): void {
    if (!this.#life.dead) this.#inner.interest({ types: 'all', tasks })
  }

  listen(listener: StoreListener): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  /** Time that a test moves on is no sleep. */
  mayHaveSlept(): boolean {
    return false
  }

  timesSlept(): number {
    return 0
  }

  close(): Promise<void> {
    return this.#inner.close()
  }

  /** To be called when the process has just died. What was committed is answered within this turn, what was not is not. */
  died(refusal?: () => Error): void {
    this.#refusal = refusal
    queueMicrotask(() => {
      for (const { askAgain } of this.#open) askAgain()
      this.#open.clear()
    })
  }

  /** Hands what is open to the process that follows. */
  succeed(next: ExecutionStore): void {
    this.#refusal = undefined
    next.listen({
      published: (events) => this.#tell((listener) => listener.published?.(events)),
      emitted: (chunks) => this.#tell((listener) => listener.emitted?.(chunks)),
    })
    this.#successor.resolve(next)
  }

  #ask<T>(call: (store: ExecutionStore) => Promise<T>): Promise<T> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal())
    if (this.#life.dead) return this.#successor.promise.then(call)
    return new Promise((resolve, reject) => {
      const open = { askAgain: () => resolve(this.#successor.promise.then(call)) }
      this.#open.add(open)
      const ifOpen =
        <V>(settle: (value: V) => void) =>
        (value: V) => {
          if (this.#open.delete(open)) settle(value)
        }
      call(this.#inner).then(ifOpen(resolve), ifOpen(reject))
    })
  }

  #noteRefusal(outcome: Writes['spawn']['outcome']): void {
    if (outcome.fenced === 'ok' && outcome.as === 'refused') this.#heard.refusedChild(outcome.receipt.taskId)
  }

  /** Once a commit, however much it has to say: all of that is said in one turn. */
  #count(): void {
    this.#life.stir()
    if (this.#turnCounted || this.#life.dead) return
    this.#turnCounted = true
    queueMicrotask(() => {
      this.#turnCounted = false
    })
    this.#heard.commit()
  }

  #tellWorkers(say: (listener: StoreListener) => void): void {
    if (this.#life.dead) return
    this.#life.stir()
    this.#tell(say)
  }

  #tell(say: (listener: StoreListener) => void): void {
    for (const listener of this.#listeners) say(listener)
  }
}

/** What a caller asks for, not a worker or a handler. */
const clientWrites: ReadonlySet<WriteKind> = new Set<WriteKind>([
  'submit',
  'fork',
  'cancel',
  'cancelMany',
  'signal',
  'resolveApproval',
  'answerBudget',
  'putSchedule',
  'pauseSchedule',
  'resumeSchedule',
  'removeSchedule',
  'triggerSchedule',
  'evaluate',
  'resume',
])

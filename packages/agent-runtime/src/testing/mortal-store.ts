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

/** Called for what the store commits, before anybody else. */
export interface CommitListener {
  readonly events: NonNullable<StoreListener['published']>
  /** A commit added an event, output, or an evaluation with a key. The process may die at this commit. */
  readonly commit: () => void
  /** A child was refused; the record of the refusal has this id. */
  readonly refusedChild: (taskId: string) => void
}

/**
 * A store whose process can die between a commit and its answers. Two halves of a process use it. Workers and
 * handlers hear nothing more after the death, and their writes are dropped. Calls of the test itself are
 * answered: by the commit if it was the last one, else by the next process, because the test stands outside,
 * like a client.
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
  /** Calls that begin in a dead process wait for the next process, or are refused. */
  #refusal: (() => Error) | undefined

  constructor(inner: ExecutionStore, life: Life, heard: CommitListener) {
    this.info = inner.info
    this.#inner = inner
    this.#life = life
    this.#heard = heard
    inner.interest({ types: 'all', tasks: [] })
    inner.listen({
      // One microtask later, when it is known whether the process outlives the commit, and still before the
      // answers.
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
      drained: (drains) => queueMicrotask(() => this.#tellWorkers((listener) => listener.drained?.(drains))),
      failed: (error) => this.#tellWorkers((listener) => listener.failed?.(error)),
    })
  }

  write<K extends WriteKind>(operation: Write<K>): Promise<Writes[K]['outcome']> {
    if (clientWrites.has(operation.kind))
      return this.#ask((store) => {
        const answer = store.write(operation)
        if (operation.kind === 'evaluate' && store === this.#inner)
          void this.#noteEvaluation(operation, answer)
        return answer
      })
    if (this.#life.dead) return new Promise(() => {})
    return new Promise((resolve, reject) => {
      const answered = (outcome: Writes[K]['outcome']) => {
        // Output that no test follows is reported only by its answer.
        if (operation.kind === 'appendOutput') this.#count()
        // It is stored, even if the process died at this commit.
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

  /** Events are always heard. */
  interest({ tasks }: Interest): void {
    if (!this.#life.dead) this.#inner.interest({ types: 'all', tasks })
  }

  listen(listener: StoreListener): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  /** Time that a test moves is not sleep. */
  mayHaveSlept(): boolean {
    return false
  }

  timesSlept(): number {
    return 0
  }

  close(): Promise<void> {
    return this.#inner.close()
  }

  /**
   * Called when the process has just died. Writes that were committed are answered within this turn; the
   * others are not.
   */
  died(refusal?: () => Error): void {
    this.#refusal = refusal
    queueMicrotask(() => {
      for (const { askAgain } of this.#open) askAgain()
      this.#open.clear()
    })
  }

  /** Passes the open calls to the next process. */
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

  /** An evaluation has no event. One without a key would be recorded again by the next process. */
  async #noteEvaluation(operation: object, answer: Promise<unknown>): Promise<void> {
    if (!('key' in operation)) return
    try {
      const { as, deduplicated } = (await answer) as { readonly as: string; readonly deduplicated?: boolean }
      if (as === 'recorded' && deduplicated === false) this.#count()
    } catch {
      // The caller gets the error.
    }
  }

  #noteRefusal(outcome: Writes['spawn']['outcome']): void {
    if (outcome.fenced === 'ok' && outcome.as === 'refused') this.#heard.refusedChild(outcome.receipt.taskId)
  }

  /** Once per commit, however many notifications it has: all of them come in one turn. */
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

/** Writes of callers, not of workers or handlers. */
const clientWrites: ReadonlySet<WriteKind> = new Set<WriteKind>([
  'submit',
  'fork',
  'retryMany',
  'cancel',
  'cancelMany',
  'prune',
  'foldLedger',
  'signal',
  'resolveApproval',
  'startChild',
  'restartChild',
  'answerBudget',
  'putSchedule',
  'pauseSchedule',
  'resumeSchedule',
  'removeSchedule',
  'triggerSchedule',
  'evaluate',
  'resume',
  'askDrain',
  'pauseQueue',
])

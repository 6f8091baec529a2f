import { Worker } from 'node:worker_threads'
import { StoreError, type Environment, type StoreInfo, type Timer } from '@ku0/agent-runtime-core'
import { StoreFront, type Line } from './front.ts'
import { CommitWatch } from './commit-watch.ts'
import type { Message } from '../engine/message.ts'
import { Outbox } from './outbox.ts'
import {
  beatWord,
  endMessage,
  heardWord,
  hintWord,
  othersWord,
  restWord,
  revived,
  signalBytes,
  unpack,
  wakeWord,
  type FromThread,
  type ThreadStart,
} from './thread-messages.ts'
import { SleepWatch } from './sleep-watch.ts'
import { errorOfThread, threadProgram } from './thread-program.ts'

/**
 * How often the process shows its store thread that its event loop lives: half of the silence that counts, so that a beat that comes in time
 * shows that there was none.
 */
const beatMs = 50
/** The same while it holds no lease, of which it could miss the end: an idle process wakes up less often. */
const restBeatMs = 250

/**
 * Opens a store in a thread of its own, behind the same port: fsync, waiting for locks, renewal and sweeping never wait for a
 * handler that hogs the event loop, nor it for them. Source: `docs/ARCHITECTURE.md`; `docs/semantics.md 4.8`.
 */
export async function openThreadStore(
  start: Omit<ThreadStart, 'signal'>,
  environment: Environment,
): Promise<StoreFront> {
  const front = new StoreFront()
  const signal = new SharedArrayBuffer(signalBytes)
  const program = threadProgram()
  const worker = new Worker(program, {
    workerData: { ...start, signal } satisfies ThreadStart,
    execArgv: [],
    name: 'ku0-store',
  })
  const info = await opened(worker, program)
  const line = new ThreadLine(worker, info, new Int32Array(signal), environment)
  worker.on('message', (message: FromThread) => {
    if (message.kind === 'turn') {
      const turn = unpack(message.turn)
      if (turn.claims.length > 0) line.attend()
      front.receive(turn)
    }
    if (message.kind === 'closed') line.closed()
  })
  const lost = (cause?: unknown) => {
    line.closed()
    front.fail(new StoreError('store_io', `the store's thread ended; start the process again`, { cause }))
  }
  worker.on('error', lost)
  worker.on('exit', () => (line.ending ? line.closed() : lost()))
  return front.connect(line)
}

class ThreadLine implements Line {
  readonly info: StoreInfo
  ending = false
  private readonly worker: Worker
  private readonly signal: Int32Array
  private readonly environment: Environment
  private readonly outbox = new Outbox()
  private beatTimer: Timer | undefined
  private readonly sleep: SleepWatch
  private seenAt: number
  /** When the next beat is to come. */
  private dueAt = 0
  /** Of a store on a file. */
  private readonly commits: CommitWatch | undefined
  private readonly whenClosed = Promise.withResolvers<void>()

  constructor(worker: Worker, info: StoreInfo, signal: Int32Array, environment: Environment) {
    this.worker = worker
    this.info = info
    this.signal = signal
    this.environment = environment
    this.sleep = new SleepWatch(environment.clock)
    this.seenAt = environment.clock.monotonic()
    if (info.kind === 'sqlite')
      this.commits = new CommitWatch({
        path: info.location,
        clock: environment.clock,
        onCommit: () => this.hint(),
      })
    this.beat()
  }

  /** What is sent in one turn of the event loop crosses as one message; of a long one the store begins with the first part. */
  send(message: Message): void {
    const isFirst = this.outbox.isEmpty
    this.outbox.put(message)
    if (isFirst) queueMicrotask(() => this.post())
    else if (this.outbox.isFull) this.post()
  }

  mayHaveSlept(): boolean {
    return this.sleep.isFresh(this.look())
  }

  timesSlept(): number {
    this.look()
    return this.sleep.times
  }

  end(): Promise<void> {
    if (!this.ending) {
      this.ending = true
      this.post()
      this.worker.postMessage(endMessage)
      this.wake()
    }
    return this.whenClosed.promise
  }

  closed(): void {
    this.beatTimer?.cancel()
    this.commits?.close()
    this.whenClosed.resolve()
  }

  private post(): void {
    if (this.outbox.isEmpty) return
    this.worker.postMessage(this.outbox.take())
    this.wake()
  }

  private wake(): void {
    Atomics.add(this.signal, wakeWord, 1)
    Atomics.notify(this.signal, wakeWord)
  }

  private hint(): void {
    Atomics.store(this.signal, heardWord, 1)
    Atomics.store(this.signal, hintWord, 1)
    this.wake()
  }

  /** A sign of life; there should be one with every beat. Gives the time. */
  private look(): number {
    this.seenAt = this.sleep.awake(Math.max(this.seenAt, this.dueAt - beatMs))
    return this.seenAt
  }

  private beat(): void {
    this.look()
    Atomics.add(this.signal, beatWord, 1)
    this.commits?.tell(Atomics.load(this.signal, othersWord) > 0)
    if (this.commits?.isOn !== true) Atomics.store(this.signal, heardWord, 0)
    this.beatIn(Atomics.load(this.signal, restWord) === 1 ? restBeatMs : beatMs)
  }

  /** It has leases from now on. */
  attend(): void {
    const now = this.look()
    if (this.dueAt <= now + beatMs) return
    this.beatTimer?.cancel()
    this.beatIn(beatMs)
  }

  private beatIn(ms: number): void {
    this.dueAt = this.environment.clock.monotonic() + ms
    this.beatTimer = this.environment.timers.after(ms, () => this.beat())
  }
}

/** The thread's first word: that the store is open, or why it is not. */
function opened(worker: Worker, program: string): Promise<StoreInfo> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      worker.off('message', heard).off('error', failed)
      act()
    }
    const heard = (message: FromThread) => {
      if (message.kind === 'opened') settle(() => resolve(message.info))
      if (message.kind === 'refused') settle(() => reject(revived(message.error)))
    }
    const failed = (error: Error) => settle(() => reject(errorOfThread(error, program)))
    worker.on('message', heard).on('error', failed)
  })
}

import {
  type Claim,
  describeError,
  type Interest,
  type LeaseNotice,
  type OutputChunk,
  type StoredEvent,
  type Timer,
  type WorkerDrain,
  type Write,
} from '@ku0/agent-runtime-core'
import {
  type DownFrame,
  type Hello,
  LINE_VERSION,
  pack,
  recordOf,
  type UpMessage,
} from '@ku0/agent-runtime-persistence/lines'
import { allows, type Caller } from '../access/caller.ts'
import type { LineConnection, LineEnd } from './connection.ts'
import { readFrame } from './frames.ts'
import { type HostEnd, type SessionEnd, silentMs } from './ends.ts'
import { OwnWork } from './own-work.ts'
import { assertReadAllowed, assertWriteAllowed, withinTypes } from './permission.ts'
import { reconcile } from './reconcile.ts'
import { leaseOf } from './rights.ts'
import { told, wrongFrame, wrongVersion } from './refusals.ts'
import { TurnBox } from './turn-box.ts'

/** One process on one connection. */
export class LineSession implements LineEnd, SessionEnd {
  /** The events that it asks for. */
  interest: Interest = { types: [], tasks: [] }
  /** The name of its line, once it has greeted. */
  name: string | undefined
  /** It was greeted back: it may ask. */
  isIn = false
  readonly caller: Caller
  readonly work = new OwnWork()
  readonly #host: HostEnd
  readonly #connection: LineConnection
  readonly #box: TurnBox
  /** Frames that wait until the greeting was dealt with, and demands of workers that are not registered yet. */
  readonly #early = { frames: [] as string[], demands: new Map<string, number>() }
  #isOver = false
  #open = 0
  #isHeld = false
  #heardAt: number
  #watch: Timer

  constructor(host: HostEnd, connection: LineConnection, caller: Caller) {
    this.#host = host
    this.#connection = connection
    this.caller = caller
    this.#heardAt = host.environment.clock.monotonic()
    this.#box = new TurnBox((turn) => {
      const text = pack(turn)
      // It stands in the frame as it is: a text within a text would be escaped and read twice.
      if (text !== undefined) this.#send(`{"turn":${text}}`)
    })
    this.#watch = this.#armWatch()
  }

  heard(text: string): void {
    if (this.#isOver) return
    this.#heardAt = this.#host.environment.clock.monotonic()
    if (!this.isIn && this.name !== undefined) {
      this.#early.frames.push(text)
      if (this.#early.frames.length > maxEarly) this.end()
      return
    }
    try {
      const frame = readFrame(text, this.#host.limits.maxLineFrameBytes)
      if ('hello' in frame) void this.#greet(frame.hello).catch((error: unknown) => this.refuse(error, false))
      else if (!this.isIn) this.refuse(wrongFrame('the first frame has to be a greeting'), true)
      else {
        this.#acked = Math.max(this.#acked, frame.acked)
        for (const message of frame.messages) this.#do(message)
      }
    } catch (error) {
      this.refuse(error, true)
    }
  }

  closed(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#watch.cancel()
    this.#host.left(this)
  }

  /** Ends the connection; the process may come back. */
  end(): void {
    if (this.#isOver) return
    this.closed()
    this.#connection.close()
  }

  /** Ends the connection and says why. */
  refuse(error: unknown, final: boolean): void {
    if (this.#isOver) return
    if (!final) this.#host.report(error)
    this.#say({ refused: recordOf(final && error instanceof Error ? error : told(error)), final })
    this.end()
  }

  claimed(claim: Claim): void {
    this.work.claimed(claim)
    this.#box.turn.claims.push(claim)
    this.#box.post()
  }

  noticed(notices: readonly LeaseNotice[]): void {
    const own = notices.filter(({ leaseId }) => this.work.hasLease(leaseId))
    if (own.length === 0) return
    this.#box.turn.notices.push(...own)
    this.#box.post()
  }

  published(events: readonly StoredEvent[]): void {
    const wanted = events.filter((event) => this.#hears(event))
    if (wanted.length === 0) return
    this.#box.turn.events.push(...wanted)
    this.#box.post()
  }

  emitted(chunks: readonly OutputChunk[]): void {
    const wanted = chunks.filter(({ taskId }) => this.interest.tasks.includes(taskId) && this.#maySee(taskId))
    if (wanted.length === 0) return
    this.#box.turn.chunks.push(...wanted)
    this.#box.post()
  }

  /** The events about workers of this line. */
  drained(drains: readonly WorkerDrain[]): void {
    const own = drains.filter(({ workerId }) => this.work.hasWorker(workerId))
    if (own.length === 0) return
    ;(this.#box.turn.drains ??= []).push(...own)
    this.#box.post()
  }

  schedulesDue(): void {
    this.#box.turn.schedulesDue = true
    this.#box.post()
  }

  #acked = 0

  #hears({ taskId, type, also }: StoredEvent): boolean {
    const { types, tasks } = this.interest
    const isNamed =
      types === 'all' || types.includes(type) || (also?.some((name) => types.includes(name)) ?? false)
    return (isNamed || tasks.includes(taskId)) && this.#maySee(taskId)
  }

  /** Without the scope `read` a process gets the events of the tasks that it runs or has run. */
  #maySee(taskId: string): boolean {
    return allows(this.caller, 'read') || this.work.hasTask(taskId)
  }

  async #greet(hello: Hello): Promise<void> {
    if (this.name !== undefined) throw wrongFrame('a connection is greeted once')
    if (hello.version !== LINE_VERSION) {
      this.refuse(wrongVersion(hello.version), true)
      return
    }
    this.name = this.#host.enter(this, hello.session)
    this.#setInterest(hello.interest)
    const notices = await reconcile(this.#host, this, hello)
    if (this.#isOver) return
    this.isIn = true
    // The greeting comes first: with it the process knows what it may send.
    this.#say({ welcome: this.#host.welcome() })
    this.#box.turn.notices.push(...notices)
    this.#box.open()
    for (const text of this.#early.frames.splice(0)) this.heard(text)
  }

  #setInterest(interest: Interest): void {
    this.interest = interest
    this.#host.stateInterest()
  }

  #do(message: UpMessage): void {
    const { lines } = this.#host
    switch (message.to) {
      case 'write': {
        const { call, operation, again } = message
        const from = {
          line: this.name as string,
          seq: call,
          acked: this.#acked,
          ...(again === true ? { again } : {}),
        }
        this.#answer(call, async () => {
          // In this turn, so that what the process sends next finds it done.
          assertWriteAllowed(this, this.#host, operation)
          const outcome = await lines.write(this.#asOwn(operation), from)
          this.#wrote(operation)
          return outcome
        })
        break
      }
      case 'read':
        this.#answer(message.call, async () => {
          await assertReadAllowed(this, this.#host, message.query)
          return lines.read(message.query)
        })
        break
      case 'demand':
        if (this.work.hasWorker(message.workerId)) lines.demand(message.workerId, message.credit)
        else if (this.#early.demands.size < maxEarly)
          this.#early.demands.set(message.workerId, message.credit)
        break
      case 'interest':
        this.#setInterest(message.interest)
        break
      case 'ping':
        this.#say({ pong: message.ping })
    }
  }

  /** Workers of a line belong to it from now on. The lease of another process is none here: whatever is written under it is stale. */
  #asOwn(operation: Write): Write {
    const leaseId = leaseOf(operation)
    if (typeof leaseId === 'string' && !this.work.hasLease(leaseId))
      return { ...operation, leaseId: NO_LEASE } as Write
    if (operation.kind === 'settle')
      return withinTypes(this.caller, operation, (error) => this.#host.report(error))
    if (operation.kind === 'drainWorkers' || operation.kind === 'removeWorkers') {
      const workerIds = operation.workerIds.filter((workerId) => this.work.hasWorker(workerId))
      return { ...operation, workerIds }
    }
    if (operation.kind === 'registerWorkers')
      for (const { workerId } of operation.workers) {
        this.work.addWorker(workerId)
        this.#host.own(this, workerId)
        const credit = this.#early.demands.get(workerId)
        this.#early.demands.delete(workerId)
        if (credit !== undefined) this.#host.lines.demand(workerId, credit)
      }
    return operation
  }

  #wrote(operation: Write): void {
    if (operation.kind !== 'removeWorkers') return
    for (const workerId of operation.workerIds) {
      this.work.removeWorker(workerId)
      this.#host.disown(workerId)
    }
  }

  /** While more calls are open than were agreed on, nothing more is read: who floods is slowed, and nobody else. */
  #answer(call: number, ask: () => Promise<unknown>): void {
    this.#open += 1
    this.#hold()
    ask()
      .then(
        (value) => ({ call, value }),
        (error: unknown) => {
          if (!isOwnError(error)) this.#host.report(error)
          return { call, error: told(error) }
        },
      )
      .then((answer) => {
        this.#open -= 1
        this.#hold()
        if (!this.#isOver) {
          this.#box.turn.answers.push(answer)
          this.#box.post()
        }
        return answer
      })
      .catch((error: unknown) => this.#host.report(error))
  }

  #hold(): void {
    const held = this.#open > this.#host.limits.maxLineCalls
    if (held === this.#isHeld || this.#isOver) return
    this.#isHeld = held
    this.#connection.hold(held)
  }

  #say(frame: DownFrame): void {
    this.#send(JSON.stringify(frame))
  }

  /** A process that does not read is cut off: it connects again, and gets the rest. One message by itself may be larger than the bound. */
  #send(text: string): void {
    if (this.#isOver) return
    if (this.#connection.waiting > this.#host.limits.maxLineBufferBytes) this.end()
    else this.#connection.send(text)
  }

  #armWatch(): Timer {
    const limit = silentMs(this.#host.lines.config.leaseTtlMs)
    const { clock, timers } = this.#host.environment
    const armedAt = clock.monotonic()
    return timers.after(limit, () => {
      const now = clock.monotonic()
      // A server that slept itself could not hear, nor could it while it held the line.
      if (now - armedAt > limit * 1.5 || this.#isHeld) this.#heardAt = now
      if (now - this.#heardAt >= limit) this.end()
      else this.#watch = this.#armWatch()
    })
  }
}

function isOwnError(error: unknown): boolean {
  return describeError(error).code !== 'internal'
}

const maxEarly = 64
/** No lease has this id. */
const NO_LEASE = 'none'

import {
  MAX_ARMED_MS,
  RuntimeError,
  StoreError,
  type Environment,
  type Read,
  type StoreInfo,
  type Timer,
} from '@ku0/agent-runtime-core'
import type { Turn } from '../engine/turn.ts'
import type { Line, StoreFront } from '../line/front.ts'
import type { Message } from '../engine/message.ts'
import { SleepWatch } from '../line/sleep-watch.ts'
import { revived, unpacked } from '../line/thread-messages.ts'
import { Calls, type Sized, sized } from './calls.ts'
import { Followed } from './followed.ts'
import { HeldWork } from './held-work.ts'
import {
  LINE_VERSION,
  type DownFrame,
  type Hello,
  type UpFrame,
  type UpMessage,
  type Welcome,
} from './protocol.ts'
import type { Dial, Transport } from './transport.ts'

/** The parts of a line. */
export interface RemoteLineParts {
  readonly url: string
  readonly processId: string
  /** A secret of this process. */
  readonly session: string
  readonly dial: Dial
  readonly environment: Environment
  readonly front: StoreFront
}

/**
 * The way to a store behind a server. It outlives its connections: what was not answered on one is asked again on the next, and the leases of
 * this process go on if it is back before they end. Source: `docs/remote-workers.md`, `docs/decisions/0036-remote-workers.md`.
 */
export class RemoteLine implements Line {
  private readonly it: RemoteLineParts
  private readonly calls = new Calls()
  private readonly work = new HeldWork()
  private readonly followed = new Followed()
  private readonly sleep: SleepWatch
  private readonly opening = Promise.withResolvers<void>()
  private readonly whenEnded = Promise.withResolvers<void>()
  private readonly whenAnswered: (() => void)[] = []
  /** The messages that are sent besides calls in this turn. */
  private said: UpMessage[] = []
  private welcome: Welcome | undefined
  private transport: Transport | undefined
  private isUp = false
  private isFlushing = false
  private isEnding = false
  private isOver = false
  private cuts = 0
  private tries = 0
  private backAt = Number.NEGATIVE_INFINITY
  private heardAt: number
  /** When what the server heard last from here was sent. */
  private confirmedAt: number
  private downAt: number
  /** When the connection was last asked for. */
  private dialedAt = 0
  private pings = 0
  /** It let the last beat pass without a word. */
  private isQuiet = false
  private pingedAt: { readonly ping: number; readonly at: number }[] = []
  private ticking: Timer | undefined
  private redialing: Timer | undefined
  private dueAt = Number.POSITIVE_INFINITY
  private lastOwn = 0
  private readonly own = new Map<number, (answer: unknown) => void>()

  constructor(it: RemoteLineParts) {
    this.it = it
    this.sleep = new SleepWatch(it.environment.clock)
    this.downAt = this.heardAt = this.confirmedAt = this.now()
  }

  /** Connects. Rejects where no server answers, or where it refuses this process. */
  open(): Promise<void> {
    this.dial()
    return this.opening.promise
  }

  get info(): StoreInfo {
    const { info } = this.known()
    return { ...info, location: this.it.url, processId: this.it.processId }
  }

  send(message: Message): void {
    switch (message.to) {
      case 'write':
      case 'read': {
        const given = sized(message)
        if (given.bytes > this.known().maxFrameBytes - frameRoom) {
          this.refuse(message.call, tooLarge(given.bytes, this.known().maxFrameBytes))
          return
        }
        this.calls.add(message, given, this.now())
        if (message.to === 'write') this.work.sent(message.operation)
        break
      }
      case 'demand':
        this.work.demand(message.workerId, message.credit)
        this.said.push({ to: 'demand', workerId: message.workerId, credit: message.credit })
        break
      case 'interest':
        this.followed.state(message.interest)
        this.said.push(message)
        break
      case 'absent':
      case 'held':
        throw new Error(`${message.to} is for the end of a line`)
    }
    this.flushSoon()
  }

  /** A line that is down, or was just now, may have kept news of a lease from its holder. */
  mayHaveSlept(): boolean {
    const now = this.look()
    return !this.isUp || now - this.backAt < newsMs || this.sleep.isFresh(now)
  }

  timesSlept(): number {
    this.look()
    return this.sleep.times + this.cuts
  }

  async end(): Promise<void> {
    if (!this.isEnding && !this.isOver) {
      this.isEnding = true
      this.flush()
      await this.answered()
      this.stop()
    }
    await this.whenEnded.promise
  }

  /** Ends the connection without a word, as a crash of the process would: for tests. */
  cut(): void {
    this.transport?.close()
    this.lost()
  }

  /** Whether something is under way that is not a timer's: for tests, which hold the time meanwhile. */
  get isBusy(): boolean {
    return this.isUp && (this.calls.size > 0 || this.said.length > 0)
  }

  private now(): number {
    return this.it.environment.clock.monotonic()
  }

  private known(): Welcome {
    if (this.welcome === undefined) throw new StoreError('store_closed', 'the line is not open')
    return this.welcome
  }

  private look(): number {
    const now = this.sleep.awake(this.dueAt)
    this.dueAt = Math.max(this.dueAt, now)
    return now
  }

  private dial(): void {
    let transport: Transport | undefined
    const isOurs = () => transport !== undefined && this.transport === transport && !this.isOver
    transport = this.it.dial({
      opened: () => {
        if (!isOurs()) return
        // The greeting says the newest of each.
        this.said = []
        this.transport?.send(JSON.stringify({ hello: this.hello() } satisfies UpFrame))
      },
      heard: (text) => {
        if (isOurs()) this.hear(text)
      },
      closed: (error, final) => {
        if (!isOurs()) return
        if (final) this.fail(error)
        else this.lost(error)
      },
    })
    this.transport = transport
    this.dialedAt = this.now()
  }

  private hello(): Hello {
    return {
      version: LINE_VERSION,
      session: this.it.session,
      processId: this.it.processId,
      workers: this.work.hello(),
      leases: this.work.held(),
      interest: this.followed.interest,
    }
  }

  private hear(text: string): void {
    this.heardAt = this.now()
    const frame = JSON.parse(text) as DownFrame
    if ('refused' in frame) {
      const error = revived(frame.refused)
      if (frame.final) this.fail(error)
      else {
        this.transport?.close()
        this.lost(error)
      }
      return
    }
    if ('pong' in frame) {
      const at = this.pingedAt.find(({ ping }) => ping === frame.pong)?.at
      this.pingedAt = this.pingedAt.filter(({ ping }) => ping > frame.pong)
      if (at !== undefined) this.confirmedAt = at
      return
    }
    if ('welcome' in frame) this.begin(frame.welcome)
    if (frame.turn !== undefined) this.take(unpacked(frame.turn))
  }

  /** The server knows this process: what waits is sent, what was not answered again. */
  private begin(welcome: Welcome): void {
    const isFirst = this.welcome === undefined
    this.welcome = welcome
    this.isUp = true
    this.tries = 0
    this.confirmedAt = this.now()
    if (!isFirst) this.backAt = this.confirmedAt
    this.pingedAt = []
    this.calls.cut()
    if (isFirst) this.opening.resolve()
    else this.catchUp()
    this.tick()
    this.flushSoon()
  }

  private take(turn: Turn): void {
    for (const claim of turn.claims) this.work.claimed(claim)
    // Of a lease with a write under way the answer will say more.
    const notices = turn.notices.filter(
      ({ verdict, leaseId }) => verdict !== 'lost' || !this.calls.isAbout(leaseId),
    )
    for (const notice of notices) this.work.noticed(notice)
    this.followed.heard(turn.events, turn.chunks)
    const answers = turn.answers.filter((answer) => {
      const message = this.calls.take(answer.call)
      if (message?.to === 'write' && 'value' in answer) this.work.answered(message.operation, answer.value)
      const own = this.own.get(answer.call)
      this.own.delete(answer.call)
      if ('value' in answer) own?.(answer.value)
      return own === undefined
    })
    this.it.front.receive({ ...turn, notices, answers })
    if (this.calls.size === 0) for (const wake of this.whenAnswered.splice(0)) wake()
    this.flushSoon()
  }

  /** The changes of followed tasks during the time when no events arrived. */
  private catchUp(): void {
    for (const { taskId, event, chunk } of this.followed.places()) {
      this.page(event, (after) => ({ kind: 'events', taskId, after, limit: pageSize }), 'events')
      this.page(chunk, (after) => ({ kind: 'output', taskId, after, limit: pageSize }), 'chunks')
    }
  }

  private page(after: number, query: (after: number) => Read, as: 'events' | 'chunks'): void {
    this.ask(query(after), (answer) => {
      const rows = (answer ?? []) as readonly { readonly seq: number }[]
      if (rows.length === 0) return
      const turn: Turn = { ...nothing, [as]: rows }
      this.followed.heard(turn.events, turn.chunks)
      this.it.front.receive(turn)
      if (rows.length === pageSize) this.page(rows.at(-1)?.seq ?? after, query, as)
    })
  }

  /** A question of the line's own. */
  private ask(query: Read, hear: (answer: unknown) => void): void {
    const call = --this.lastOwn
    this.own.set(call, hear)
    const message = { to: 'read', call, query } as const
    this.calls.add(message, sized(message), this.now())
  }

  private flushSoon(): void {
    if (this.isFlushing || !this.isUp) return
    this.isFlushing = true
    queueMicrotask(() => {
      this.isFlushing = false
      this.flush()
    })
  }

  /** All that waits travels together, as far as the frame and the server's bound on open calls allow. */
  private flush(): void {
    const { welcome, transport } = this
    if (!this.isUp || welcome === undefined || transport === undefined) return
    const room = welcome.maxFrameBytes - frameRoom
    let messages: string[] = []
    let bytes = 0
    const put = (it: Sized) => {
      messages.push(it.text)
      bytes += it.bytes + commaRoom
    }
    const post = () => {
      if (messages.length === 0) return
      transport.send(`{"acked":${this.calls.acked},"messages":[${messages.join(',')}]}`)
      messages = []
      bytes = 0
    }
    for (const message of this.said.splice(0)) put(sized(message))
    for (
      let it = this.calls.next(welcome.maxCalls);
      it !== undefined;
      it = this.calls.next(welcome.maxCalls)
    ) {
      if (bytes + it.bytes > room || messages.length >= frameMessages) post()
      put(it)
    }
    post()
  }

  /** Shows that it lives, looks whether the server does, and gives up leases that may have ended. */
  private tick(): void {
    this.ticking?.cancel()
    const welcome = this.welcome
    if (welcome === undefined || this.isOver) return
    const { dueAt } = this
    const now = this.look()
    // Who slept could not hear: the server has until the next beat to say how things stand.
    if (now - dueAt > welcome.pingMs) {
      this.heardAt = now
      this.confirmedAt = Math.max(this.confirmedAt, now - lapseAfter(welcome) + welcome.pingMs)
    }
    if (this.isUp && now - this.heardAt > welcome.silentMs && this.pingedAt.length > 0) {
      this.transport?.close()
      this.lost(new Error(`nothing was heard for ${Math.round(now - this.heardAt)} ms`))
    }
    // A greeting that a black hole took is never answered, and the leases do not wait. This try has waited long enough to need no pause.
    if (!this.isUp && this.transport !== undefined && now - this.dialedAt > 2 * welcome.pingMs) {
      this.transport.close()
      this.dial()
    }
    // Who holds nothing has nothing that could lapse, and shows itself half as often: most processes of a server are idle.
    this.isQuiet = this.work.isEmpty && this.calls.size === 0 && !this.isQuiet
    if (this.isUp && !this.isQuiet) {
      this.pings += 1
      this.pingedAt.push({ ping: this.pings, at: now })
      this.said.push({ to: 'ping', ping: this.pings })
      this.flush()
    }
    if (now - this.confirmedAt > lapseAfter(welcome) && !this.work.isEmpty)
      this.it.front.receive({ ...nothing, notices: this.work.lapse() })
    if (!this.isUp && now - this.downAt > patienceMs) this.giveUp(now - patienceMs)
    this.dueAt = now + welcome.pingMs
    this.ticking = this.it.environment.timers.after(Math.min(welcome.pingMs, MAX_ARMED_MS), () => this.tick())
  }

  /** Reads and writes that were never sent fail: the server is away, so that their callers can do something else. */
  private giveUp(before: number): void {
    for (const call of this.calls.undone(before)) {
      this.calls.take(call)
      if (this.own.delete(call)) continue
      this.refuse(
        call,
        new StoreError(
          'store_unavailable',
          `${this.it.url} has not answered for ${patienceMs} ms; check the server and the network`,
        ),
      )
    }
    if (this.calls.size === 0) for (const wake of this.whenAnswered.splice(0)) wake()
  }

  private refuse(call: number, error: Error): void {
    queueMicrotask(() => this.it.front.receive({ ...nothing, answers: [{ call, error }] }))
  }

  /** The connection is over. The next one is tried at once, then later and later. */
  private lost(cause?: Error): void {
    if (this.isOver) return
    this.transport = undefined
    if (this.welcome === undefined) {
      this.stop()
      this.opening.reject(
        cause instanceof RuntimeError
          ? cause
          : new StoreError(
              'store_unavailable',
              `no server answers at ${this.it.url} (${cause?.message ?? 'the connection was closed'}); check the URL, the server and the network`,
              { cause },
            ),
      )
      return
    }
    if (this.isUp) {
      this.isUp = false
      this.cuts += 1
      this.downAt = this.now()
      this.calls.cut()
    }
    const { random, timers } = this.it.environment
    const most = Math.min(longestPauseMs, firstPauseMs * 2 ** this.tries)
    this.tries = Math.min(this.tries + 1, 16)
    this.redialing?.cancel()
    this.redialing = timers.after(most / 2 + (random.next() * most) / 2, () => this.dial())
  }

  /** The server will not have this process: nothing that was asked is answered any more. */
  private fail(error: Error): void {
    const wasOpen = this.welcome !== undefined
    this.transport?.close()
    this.stop()
    if (wasOpen) this.it.front.fail(error)
    else this.opening.reject(error)
  }

  private answered(): Promise<void> {
    if (this.calls.size === 0 || this.isOver) return Promise.resolve()
    const over = Promise.withResolvers<void>()
    const timer = this.it.environment.timers.after(closingMs, over.resolve)
    this.whenAnswered.push(over.resolve)
    return over.promise.finally(() => timer.cancel())
  }

  private stop(): void {
    this.isOver = true
    this.isUp = false
    this.ticking?.cancel()
    this.redialing?.cancel()
    this.transport?.close()
    this.transport = undefined
    this.whenEnded.resolve()
  }
}

/** A lease that was last renewed for certain so long ago may end before the next chance to hear of it. */
function lapseAfter({ leaseTtlMs, heartbeatIntervalMs }: Welcome): number {
  return Math.max(leaseTtlMs / 2, leaseTtlMs - heartbeatIntervalMs - leaseTtlMs / 10)
}

function tooLarge(bytes: number, most: number): Error {
  return new RuntimeError(
    'payload_too_large',
    `the call has ${bytes} bytes, and the server takes ${most} at once; store large values elsewhere and pass their address, or raise maxLineFrameBytes of the server`,
  )
}

const nothing: Turn = { answers: [], claims: [], notices: [], events: [], chunks: [], schedulesDue: false }
const newsMs = 1_000
const frameRoom = 256
const frameMessages = 256
const commaRoom = 1
const pageSize = 1_000
const firstPauseMs = 50
const longestPauseMs = 5_000
/** Callers whose question or unsent write has waited for so long hear that the server is away. */
const patienceMs = 10_000
/** How long closing waits for answers. */
const closingMs = 5_000

import { createHash } from 'node:crypto'
import type {
  Claim,
  ExecutionStore,
  Interest,
  LeaseNotice,
  OutputChunk,
  StoredEvent,
} from '@ku0/agent-runtime-core'
import type { StoreLines, Welcome } from '@ku0/agent-runtime-persistence/lines'
import type { Caller } from '../access/caller.ts'
import type { TokenWatch } from '../access/token-watch.ts'
import type { ServerLimits } from '../limits.ts'
import { refusal } from '../problem/problem.ts'
import type { Surroundings } from '../system.ts'
import type { LineConnection, LineEnd } from './connection.ts'
import { type HostEnd, type SessionEnd, silentMs } from './ends.ts'
import { LineSession } from './line-session.ts'
import type { OwnWork } from './own-work.ts'

export interface LineHostParts {
  readonly store: ExecutionStore
  readonly lines: StoreLines
  readonly limits: ServerLimits
  readonly environment: Surroundings
  readonly watch: TokenWatch
  readonly report: (error: unknown) => void
}

/**
 * The ends of all lines of a server: each process that is connected, and which worker belongs to whom. The processes repeat after a restart of the server what it has forgotten. Source: `docs/decisions/0036-remote-workers.md`.
 */
export class LineHost implements HostEnd {
  readonly store: ExecutionStore
  readonly lines: StoreLines
  readonly limits: ServerLimits
  readonly environment: Surroundings
  readonly report: (error: unknown) => void
  readonly #watch: TokenWatch
  readonly #sessions = new Map<LineSession, Disposable>()
  readonly #byName = new Map<string, SessionEnd>()
  readonly #byWorker = new Map<string, SessionEnd>()
  readonly #listening: Disposable
  #interestStated = false
  #closed = false

  constructor({ store, lines, limits, environment, watch, report }: LineHostParts) {
    this.store = store
    this.lines = lines
    this.limits = limits
    this.environment = environment
    this.#watch = watch
    this.report = report
    this.#listening = store.listen({
      claimed: (claims) => this.#claimed(claims),
      noticed: (notices) => this.#noticed(notices),
      published: (events) => this.#published(events),
      emitted: (chunks) => this.#emitted(chunks),
      schedulesDue: () => this.#schedulesDue(),
      drained: (drains) => {
        for (const session of this.#sessions.keys()) session.drained(drains)
      },
    })
  }

  /** How many processes are connected. */
  get size(): number {
    return this.#sessions.size
  }

  /** The message to a process that is let in. */
  welcome(): Welcome {
    const { leaseTtlMs, heartbeatIntervalMs } = this.lines.config
    const { location: _, processId: __, ...info } = this.store.info
    return {
      info,
      leaseTtlMs,
      heartbeatIntervalMs,
      silentMs: silentMs(leaseTtlMs),
      pingMs: Math.max(1, Math.floor(leaseTtlMs / 10)),
      maxCalls: this.limits.maxLineCalls,
      maxFrameBytes: this.limits.maxLineFrameBytes,
    }
  }

  /** Throws a problem where no more connections are taken. */
  assertRoom(): void {
    if (this.#sessions.size >= this.limits.maxLines)
      throw refusal('too_many_requests', `${this.limits.maxLines} lines are open (maxLines)`, {
        'retry-after': '1',
      })
  }

  /** Takes a connection of a caller that may work. */
  accept(connection: LineConnection, caller: Caller): LineEnd {
    const session = new LineSession(this, connection, caller)
    if (this.#closed) session.end()
    // The process connects again, and is refused by name.
    else
      this.#sessions.set(
        session,
        this.#watch.add(caller, () => session.end()),
      )
    return session
  }

  /** A process that comes back on another connection leaves the one before. */
  enter(session: SessionEnd, secret: string): string {
    const name = createHash('sha256').update(secret).digest('hex')
    const before = this.#byName.get(name)
    this.#byName.set(name, session)
    before?.end()
    return name
  }

  /** The process of a worker; undefined if it has none. */
  ownerOf(workerId: string): OwnWork | undefined {
    return this.#byWorker.get(workerId)?.work
  }

  own(session: SessionEnd, workerId: string): void {
    this.#byWorker.set(workerId, session)
  }

  disown(workerId: string): void {
    this.#byWorker.delete(workerId)
  }

  /** It is gone: its workers are silent until it is back. */
  left(session: SessionEnd): void {
    const watched = this.#sessions.get(session as LineSession)
    if (watched === undefined) return
    watched[Symbol.dispose]()
    this.#sessions.delete(session as LineSession)
    const workers = [...this.#byWorker].flatMap(([workerId, owner]) => (owner === session ? [workerId] : []))
    for (const workerId of workers) this.#byWorker.delete(workerId)
    if (session.name !== undefined && this.#byName.get(session.name) === session)
      this.#byName.delete(session.name)
    if (workers.length > 0) this.lines.absent(workers)
    this.stateInterest()
  }

  /** The events that all of them ask for, once for all changes of one turn. */
  stateInterest(): void {
    if (this.#interestStated || this.#closed) return
    this.#interestStated = true
    queueMicrotask(() => {
      this.#interestStated = false
      const types = new Set<string>()
      const tasks = new Set<string>()
      let all = false
      for (const { interest } of this.#sessions.keys()) {
        if (interest.types === 'all') all = true
        else for (const type of interest.types) types.add(type)
        for (const task of interest.tasks) tasks.add(task)
      }
      const whole = { types: all ? 'all' : [...types], tasks: [...tasks] }
      this.lines.interest(whole as Interest)
    })
  }

  /** Ends every connection. The processes come back when a server is there again. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    for (const session of this.#sessions.keys()) session.end()
    this.#listening[Symbol.dispose]()
  }

  #claimed(claims: readonly Claim[]): void {
    for (const claim of claims) {
      const owner = this.#byWorker.get(claim.workerId)
      if (owner instanceof LineSession) owner.claimed(claim)
    }
  }

  #noticed(notices: readonly LeaseNotice[]): void {
    for (const session of this.#sessions.keys()) session.noticed(notices)
  }

  #published(events: readonly StoredEvent[]): void {
    for (const session of this.#sessions.keys()) session.published(events)
  }

  #emitted(chunks: readonly OutputChunk[]): void {
    for (const session of this.#sessions.keys()) session.emitted(chunks)
  }

  /** One of them fires the schedules; the store takes the first that does, and says it again as long as nobody has. */
  #schedulesDue(): void {
    for (const [session, watched] of this.#sessions) {
      if (!session.isIn) continue
      // Where it does not, the next one is asked.
      this.#sessions.delete(session)
      this.#sessions.set(session, watched)
      session.schedulesDue()
      return
    }
  }
}

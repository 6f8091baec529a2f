import { StoreError } from '@ku0/agent-runtime-core'
import type { Outcomes } from '../../engine/database.ts'
import type { CommitSession } from '../connection/commit-session.ts'
import type { Connections } from '../connection/connections.ts'
import { codeOf, isLost, isPassing, rowChanged, storeErrorOf } from '../connection/errors.ts'
import { storedOf, type Head } from './head.ts'

interface UnderWayParts {
  readonly connections: Connections
  readonly link: CommitSession
  /** The row of this process. */
  readonly writer: number
  /** Some were not stored: perhaps another process has committed. */
  readonly onMissing: () => void
}

/** The commits of a process that were sent, and the last one that stands. Source: `docs/decisions/0035-commits-under-way.md`. */
export class UnderWay implements Outcomes {
  /** As the last commit that stands left the head. */
  last: Head
  /** Where each that is not answered yet moves it, in their order. */
  sent: Head[] = []
  /** One of them failed: the server takes nothing more before it has been told to roll back. */
  isBroken = false
  /** Their connection is lost. Resolves with how many of them are stored. */
  private lost: PromiseWithResolvers<number> | undefined
  /** How many of those are stored whose connection was lost, once that is known. */
  private stored: number | undefined
  private readonly it: UnderWayParts

  constructor(last: Head, it: UnderWayParts) {
    this.last = last
    this.it = it
  }

  /** The head as the last commit that was sent leaves it. */
  get tip(): Head {
    return this.sent.at(-1) ?? this.last
  }

  /** It is not known of all that were sent whether they stand: their connection is lost, and the server could not be asked since. */
  get isUnknown(): boolean {
    return this.lost !== undefined && this.stored === undefined
  }

  /** The connection of those that were sent is lost. */
  get isLost(): boolean {
    return this.lost !== undefined
  }

  /** Whether a new connection may be used: all that was sent on the one before stands, or came to nothing. */
  get isSettled(): boolean {
    return this.sent.length === 0 || this.stored !== undefined
  }

  /** The first stands. True where nothing else is under way. */
  stands(): boolean {
    this.last = this.sent.shift() ?? this.last
    if (this.sent.length > 0) return false
    this.forget()
    return true
  }

  forget(): void {
    this.sent = []
    this.lost = undefined
    this.stored = undefined
  }

  /** One was answered with an error, or not at all: returns if it is stored, and throws if it did not come about. `lost`: that is not known yet. */
  async failed(to: Head, error: unknown, lost: () => void): Promise<void> {
    if (!isLost(error)) {
      // A transaction that fails in the middle is still open there.
      this.isBroken = true
      this.it.link.failed(error)
      // What no second try mends.
      throw codeOf(error) === rowChanged ? storeErrorOf(error, this.it.connections.place.location) : error
    }
    this.it.link.session.drop()
    this.lost ??= Promise.withResolvers()
    const place = this.sent.indexOf(to)
    lost()
    // Of all that were sent on this connection at once.
    if (place >= (await this.lost.promise)) throw error
  }

  async ask(): Promise<boolean> {
    const { connections, link, onMissing, writer } = this.it
    if (!(await link.connect())) return false
    const { last, lost, sent: heads } = this
    const { session } = link
    try {
      this.stored = await storedOf(session, { last, heads: [...heads], writer, connections })
      if (this.stored < heads.length) onMissing()
      lost?.resolve(this.stored)
    } catch (error) {
      session.drop()
      if (isPassing(error)) {
        link.failed(error)
        return false
      }
      this.stored = 0
      lost?.reject(error instanceof StoreError ? error : this.untold(error))
    }
    return true
  }

  /** The server is there, and cannot tell: nothing of what was sent may be done again. */
  private untold(cause: unknown): StoreError {
    const { location } = this.it.connections.place
    return new StoreError(
      'store_outcome_unknown',
      `${location}: the connection was lost during commit ${this.tip.number}, and the server cannot tell whether it is stored (${(cause as Error).message}); mend that, start the process again, and repeat the calls with their keys or request ids`,
      { cause },
    )
  }

  refusal(waitedMs: number): StoreError {
    const { location } = this.it.connections.place
    return new StoreError(
      'store_outcome_unknown',
      `${location}: the connection was lost during commit ${this.tip.number}, and the server could not be asked for ${waitedMs} ms whether it is stored; repeat the call with its key or request id once the server answers`,
    )
  }
}

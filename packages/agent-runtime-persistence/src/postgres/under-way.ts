import { StoreError, type Clock } from '@ku0/agent-runtime-core'
import type { CommitSession } from './commit-session.ts'
import type { Connections } from './connections.ts'
import { codeOf, isLost, isPassing, rowChanged, storeErrorOf } from './errors.ts'
import { storedOf, type Head } from './head.ts'

interface UnderWayParts {
  readonly connections: Connections
  readonly link: CommitSession
  readonly clock: Clock
  /** The row of this process. */
  readonly writer: number
  /** Some were not stored: perhaps another process has committed. */
  readonly onMissing: () => void
}

/** The commits of a process that were sent, and the last one that stands. Source: `docs/decisions/0035-commits-under-way.md`. */
export class UnderWay {
  /** As the last commit that stands left the head. */
  last: Head
  /** Where each that is not answered yet moves it, in their order. */
  sent: Head[] = []
  /** One of them failed: the server takes nothing more before it has been told to roll back. */
  isBroken = false
  /** How many of those are stored whose connection was lost. */
  lookup: Promise<number> | undefined
  private readonly it: UnderWayParts

  constructor(last: Head, it: UnderWayParts) {
    this.last = last
    this.it = it
  }

  /** The head as the last commit that was sent leaves it. */
  get tip(): Head {
    return this.sent.at(-1) ?? this.last
  }

  /** The connection is lost, and it is not being asked what has become of what was sent on it: so a new one is of no use yet. */
  get isUnknown(): boolean {
    return this.sent.length > 0 && this.lookup === undefined
  }

  /** The first stands. True where nothing else is under way. */
  stands(): boolean {
    this.last = this.sent.shift() ?? this.last
    if (this.sent.length > 0) return false
    this.lookup = undefined
    return true
  }

  forget(): void {
    this.sent = []
    this.lookup = undefined
  }

  /** One was answered with an error, or not at all. Returns if it is stored, and throws if it did not come about. */
  async failed(to: Head, error: unknown): Promise<void> {
    if (!isLost(error)) {
      // A transaction that fails in the middle is still open there.
      this.isBroken = true
      this.it.link.failed(error)
      // What no second try mends.
      throw codeOf(error) === rowChanged ? storeErrorOf(error, this.it.connections.place.location) : error
    }
    // Whether it was committed, the next connection tells; of all that were sent on this one at once.
    const place = this.sent.indexOf(to)
    this.lookup ??= this.lookUp()
    if (place >= (await this.lookup)) throw error
  }

  /** The connection was lost while commits were on their way: how many of them arrived is asked on a new one. */
  private async lookUp(): Promise<number> {
    const { clock, connections, link, onMissing, writer } = this.it
    const { last } = this
    const heads = [...this.sent]
    link.session.drop()
    // `lookup` is set before the first try to connect.
    await Promise.resolve()
    for (const until = clock.monotonic() + outcomeMs; clock.monotonic() < until && !link.isClosed;) {
      if (!(await link.connect())) {
        await connections.pause(link.retryMs)
        continue
      }
      const { session } = link
      try {
        const stored = await storedOf(session, { last, heads, writer, prelude: connections.prelude })
        if (stored < heads.length) onMissing()
        return stored
      } catch (error) {
        if (!isPassing(error)) throw error
        session.drop()
      }
    }
    throw new StoreError(
      'store_outcome_unknown',
      `${connections.place.location}: the connection was lost during commit ${heads.at(-1)?.number}, and the server could not be asked for ${outcomeMs} ms whether it is stored; repeat the calls with their keys once it answers`,
    )
  }
}

/** How long the server is asked whether a commit is stored. */
const outcomeMs = 60_000

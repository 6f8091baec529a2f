import { StoreError, type StoreReach } from '@ku0/agent-runtime-core'
import { codeOf, readOnly } from './errors.ts'
import type { Connections } from './connections.ts'
import type { Session } from './session.ts'

interface SessionParts {
  /** It was replaced, so it holds nothing of what the lost one held. */
  readonly onNew: () => void
  /** It could not be replaced at first, or has been since. */
  readonly onReach: (reach: StoreReach) => void
}

/** The connection on which a process commits. One that is lost is replaced: while the server cannot be reached, it is tried less and less often. */
export class CommitSession {
  /** The one that is used. It may be lost. */
  session: Session
  /** After this the server is tried again that could not be reached. */
  retryMs = 0
  isClosed = false
  /** The server takes no writes: perhaps another one has taken its place. */
  isReadOnly = false
  private readonly connections: Connections
  private readonly it: SessionParts
  private failure: Error | undefined
  private connecting: Promise<boolean> | undefined

  constructor(connections: Connections, session: Session, it: SessionParts) {
    this.connections = connections
    this.session = session
    this.it = it
  }

  get isLost(): boolean {
    return this.session.lost !== undefined
  }

  /** True once there is a connection. Whoever asks while one is made waits for that one. */
  async connect(): Promise<boolean> {
    if (!this.isLost) return true
    this.connecting ??= this.replace().finally(() => (this.connecting = undefined))
    return this.connecting
  }

  private async replace(): Promise<boolean> {
    try {
      this.session = await this.openPrimary()
      this.isReadOnly = false
      this.it.onNew()
      if (this.retryMs > 0) this.it.onReach({ isReached: true })
      this.retryMs = 0
      return true
    } catch (error) {
      this.failed(error)
      if (this.retryMs === 0) this.it.onReach({ isReached: false, reason: (error as Error).message })
      this.retryMs = Math.min(longestRetryMs, Math.max(firstRetryMs, this.retryMs * 2))
      return false
    }
  }

  /** An address may lead to a standby before that is promoted. There a transaction would only fail, so it is waited for here. */
  private async openPrimary(): Promise<Session> {
    const session = await this.connections.open('commit')
    try {
      const { rows } = await session.query("SELECT current_setting('transaction_read_only')")
      if (rows[0]?.[0] !== 'on') return session
    } catch (error) {
      session.drop()
      throw error
    }
    await session.end()
    throw Object.assign(new Error('it leads to a server that takes no writes, as a standby does'), {
      code: readOnly,
    })
  }

  /** Why no transaction could begin: callers who wait for too long are told. */
  failed(error: unknown): void {
    this.failure = error as Error
    if (codeOf(error) === readOnly) this.isReadOnly = true
  }

  refusal(waitedMs: number): Error {
    const { location } = this.connections.place
    const cause = this.failure
    if (!this.isLost || cause === undefined)
      return new StoreError(
        'store_busy',
        `${location} was held by another process for ${waitedMs} ms; try again`,
      )
    return new StoreError(
      'store_unavailable',
      `${location} could not be reached for ${waitedMs} ms (${cause.message}); check the server, then try again`,
      { cause },
    )
  }
}

const firstRetryMs = 20
const longestRetryMs = 1_000

import type { ExecutionStore, Interest } from '@ku0/agent-runtime-core'
import type { StoreLines, Welcome } from '@ku0/agent-runtime-persistence/lines'
import type { Caller } from '../access/caller.ts'
import type { ServerLimits } from '../limits.ts'
import type { Surroundings } from '../system.ts'
import type { OwnWork } from './own-work.ts'

/** One process on a line, as the rest of the server sees it. */
export interface SessionEnd {
  readonly caller: Caller
  readonly work: OwnWork
  readonly interest: Interest
  readonly name: string | undefined
  end(): void
}

/** The parts that all lines of a server share, as one of them sees them. */
export interface HostEnd {
  readonly store: ExecutionStore
  readonly lines: StoreLines
  readonly limits: ServerLimits
  readonly environment: Surroundings
  readonly report: (error: unknown) => void
  /** The message to a process that is let in. */
  welcome(): Welcome
  /** A process that comes back on another connection leaves the one before. Gives the name of its line. */
  enter(session: SessionEnd, secret: string): string
  /** The process of a worker; undefined if it has none. */
  ownerOf(workerId: string): OwnWork | undefined
  own(session: SessionEnd, workerId: string): void
  disown(workerId: string): void
  /** It is gone: its workers are silent until it is back. */
  left(session: SessionEnd): void
  stateInterest(): void
}

/** A connection on which nothing came for so long is over. */
export function silentMs(leaseTtlMs: number): number {
  return Math.max(1, Math.floor(leaseTtlMs / 3))
}

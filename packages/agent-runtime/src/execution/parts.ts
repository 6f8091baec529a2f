import type {
  Environment,
  EventType,
  ExecutionConfig,
  ExecutionStore,
  Submission,
} from '@ku0/agent-runtime-core'
import type { Warden } from '../durable/warden.ts'
import type { LeaseObservers } from '../workload/lease-observer.ts'
import type { Deadlines } from './deadlines.ts'
import type { SubmitItem } from './queue.ts'

/** What the rooms of one runtime share. */
export interface Parts {
  readonly store: ExecutionStore
  readonly config: ExecutionConfig
  readonly environment: Environment
  readonly deadlines: Deadlines
  readonly warden: Warden
  /** A submission, checked as far as this process knows its type. Throws `invalid_argument`. */
  readonly prepareChild: (
    item: SubmitItem,
    call: string,
    parentType: string,
  ) => Submission | Promise<Submission>
  readonly observers: LeaseObservers
  readonly log: LogLine
  /** Tells this process's listeners of something that is no row of the store. Builds nothing when nobody listens. */
  readonly announce: (
    type: EventType,
    taskId: string,
    seq: number,
    data: Readonly<Record<string, unknown>>,
  ) => void
}

/** Writes one line of the runtime's log: its own, or one that a handler wrote. Never throws, never waits. */
export type LogLine = (
  level: LogLevel,
  message: string,
  fields?: Readonly<Record<string, unknown>>,
  author?: 'handler',
) => void
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

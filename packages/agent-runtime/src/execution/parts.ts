import type { ExecutionStore } from '@ku0/agent-runtime-core'
import type { HostParts } from '../durable/host.ts'
import type { LeaseObservers } from '../lease/observers.ts'
import type { Deadlines } from '../lease/deadlines.ts'
import type { PassCheck } from './pass-check.ts'

/** The parts that one runtime shares. */
export interface Parts extends HostParts {
  readonly store: ExecutionStore
  readonly deadlines: Deadlines
  readonly observers: LeaseObservers
  /** Undefined where strict mode is off. */
  readonly strict?: PassCheck | undefined
}

import type { ExecutionStore } from '@ku0/agent-runtime-core'
import type { HostParts } from '../durable/host.ts'
import type { LeaseObservers } from '../lease/observers.ts'
import type { Deadlines } from '../lease/deadlines.ts'
import type { Guard } from './guard.ts'
import type { PassCheck } from './pass-check.ts'

/** What passes need of a store. */
export type HeldStore = Pick<ExecutionStore, 'read' | 'write' | 'info' | 'mayHaveSlept' | 'timesSlept'>

/** The parts that one runtime shares. */
export interface Parts extends HostParts {
  readonly store: HeldStore
  readonly deadlines: Deadlines
  readonly observers: LeaseObservers
  /** Undefined where strict mode is off. */
  readonly strict?: PassCheck | undefined
  /** Set where a pass is held to its limits from outside. */
  readonly guard?: Guard | undefined
  /** How long the handler may take to stop, where its supervisor says so. */
  readonly shutdownMs?: number | undefined
}

/** How long the handler may take to stop. Source: `docs/semantics.md 5.4`. */
export function timeToStop({ shutdownMs, config }: Parts): number {
  return shutdownMs ?? config.abortGraceMs
}

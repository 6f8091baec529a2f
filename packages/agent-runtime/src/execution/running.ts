import type { Claim } from '@ku0/agent-runtime-core'

/** A claim that is being run in this process, or on its behalf in a thread or process of its own. */
export interface Running {
  readonly claim: Claim
  /** How its pass was settled; undefined for one that waits, was stopped or gave its task back. */
  readonly settledAs: 'completed' | 'failed' | undefined
  /** Its handler has ended, and the store has not answered how it was settled. */
  readonly isUnsettled: boolean
  /** Why the handler may no longer act on behalf of its lease; undefined while it may. */
  readonly closedBy: Error | undefined
  /** Another task asked for the slot; the pass yields at its next step boundary. */
  yieldAsked: boolean
  /** The task was canceled, which is already committed. Source: `docs/semantics.md 5.1`. */
  cancel(reason?: string): void
  /** A notice or a stale write showed that the lease is lost. */
  lose(cause?: unknown): void
  /** The runtime has failed the task, which is already committed. Source: `docs/semantics.md 11.5`. */
  fail(reason: string): void
  /** Gives the task back because the process ends. Source: `docs/semantics.md 5.6`. */
  shutDown(): void
}

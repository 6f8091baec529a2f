import type { OversightMode, TaskState } from '@ku0/agent-runtime-core'
import type { Receipt } from './receipts.ts'

/**
 * What waits for a human, and the humans' verdicts; any process on the store may give one. Each throws what a closed runtime
 * throws, `store_*`, and `invalid_argument` for anything outside what it documents. Source: `docs/semantics.md 12.1-12.3`.
 */
export interface Approvals {
  /** What a verdict can be given on, of all tasks or one; what patience is over for is left out. As long as there is a `cursor` there may be more: hand it to the next call. */
  list(
    filter?: ApprovalFilter,
  ): Promise<{ readonly approvals: readonly PendingApproval[]; readonly cursor?: number }>
  /**
   * Gives the approval: the task goes on. Resolves once that is committed, with the task's state then. Throws
   * `already_resolved` when it was answered before, its patience is over or its task is; `not_found` for an id that never was.
   */
  approve(approvalId: string, verdict?: Verdict): Promise<VerdictReceipt>
  /** Refuses it; `feedback` tells the work that follows what to do better. Throws as {@link approve}. */
  reject(approvalId: string, verdict?: Verdict): Promise<VerdictReceipt>
  /** Everything that was ever asked of humans for this task, with how it ended, oldest first. Throws `not_found`. */
  trail(task: Receipt | string): Promise<readonly ApprovalEntry[]>
}

export interface ApprovalFilter {
  readonly task?: Receipt | string | undefined
  /** With `task`: also what is asked by its children, and theirs. False by default. */
  readonly children?: boolean | undefined
  /** Tasks whose requests one call gives, 1 to 1000; 100 by default. */
  readonly limit?: number | undefined
  readonly cursor?: number | undefined
}

/** An approval that nobody has given or refused yet. */
export interface PendingApproval {
  readonly approvalId: string
  readonly taskId: string
  /** The task's type. */
  readonly type: string
  readonly key: string
  readonly mode: OversightMode
  /** What is to be approved, as the handler gave it. */
  readonly artifact: unknown
  readonly requestedAt: number
  /** When patience for it ends. */
  readonly dueAt?: number
  /** How often the task was rejected since its last approval. */
  readonly rejections: number
}

/** What a reviewer says. */
export interface Verdict {
  /** Who says it, for the audit trail: 1 to 255 characters. */
  readonly by?: string | undefined
  readonly feedback?: string | undefined
  /** Something for the handler, a corrected artifact say; encoded like an input. */
  readonly value?: unknown
}

export interface VerdictReceipt {
  readonly approvalId: string
  readonly taskId: string
  /** Of the task, once the verdict is committed. */
  readonly state: TaskState
}

/** One request in a task's audit trail. */
export interface ApprovalEntry {
  readonly approvalId: string
  readonly key: string
  readonly mode: OversightMode
  readonly artifact: unknown
  readonly requestedAt: number
  /** Of a spot check that drew: below 0.3 it asked. */
  readonly draw?: number
  /**
   * `pending`: nobody has answered. `passed`: a spot check let it through. `timed_out`: nobody answered in time. `revoked`: the
   * task ended, or went another way, before anybody did.
   */
  readonly outcome: 'pending' | 'approved' | 'rejected' | 'passed' | 'timed_out' | 'revoked'
  readonly resolvedAt?: number
  readonly by?: string
  readonly feedback?: string
  readonly value?: unknown
}

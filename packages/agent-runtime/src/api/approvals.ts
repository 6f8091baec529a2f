import type { OversightMode, TaskState } from '@ku0/agent-runtime-core'
import type { ApprovalInput, ApprovalNames, Exchange } from './exchange.ts'
import type { Receipt, TaskId } from './receipts.ts'

/**
 * Lists what waits for a human, and records the humans' verdicts. Any process on the store may give one.
 * After the runtime was closed, each call throws `store_closed`. Each throws `store_*` when the store fails,
 * and `invalid_argument` for an argument it does not accept. Source: `docs/semantics.md 12.1-12.3`.
 */
export interface Approvals {
  /**
   * Lists the requests that can be answered now, of all tasks or of one; requests that timed out are left
   * out. While the page has a `cursor` there may be more: pass it to the next call. For the receipt of a task whose
   * type declares `approvals`, each `approvalId` carries the type of the value that belongs to its `key`.
   */
  list<X extends Exchange = Exchange>(
    filter?: ApprovalFilter<X>,
  ): Promise<{ readonly approvals: readonly PendingApproval<X>[]; readonly cursor?: number }>
  /**
   * Approves the request, and the task goes on. Resolves once the verdict is committed, with the task's state
   * at that time. Throws `already_resolved` if the request was already answered or timed out, or its task has
   * ended, and `not_found` for an unknown id. A `value` that does not fit the schema in `approvals` of the task
   * type is refused with `invalid_argument`, if this process knows the type; nothing is stored then.
   */
  approve<Value = unknown>(
    approvalId: ApprovalId<Value>,
    verdict?: Verdict<NoInfer<Value>>,
  ): Promise<VerdictReceipt>
  /** Rejects the request; `feedback` tells the handler what to do better. Throws as {@link approve} does. */
  reject(approvalId: string, verdict?: Verdict): Promise<VerdictReceipt>
  /** Every request that this task ever made, with how it ended, oldest first. Throws `not_found`. */
  trail(task: Receipt | string): Promise<readonly ApprovalEntry[]>
}

/** The id of a request for approval. Its type carries the type of the value that an approval may pass, where that is known. */
export type ApprovalId<Value = unknown> = string & { readonly [valueOf]?: Value }
declare const valueOf: unique symbol

export interface ApprovalFilter<X extends Exchange = Exchange> {
  readonly task?: Receipt<unknown, X> | TaskId<unknown, X> | undefined
  /** With `task`: include the requests of its children, and of their children. False by default. */
  readonly children?: boolean | undefined
  /** Number of tasks whose requests one call returns, 1 to 1000; 100 by default. */
  readonly limit?: number | undefined
  readonly cursor?: number | undefined
}

/** An approval that nobody has given or rejected yet. */
export type PendingApproval<X extends Exchange = Exchange> = {
  [Key in ApprovalNames<X>]: PendingRequest<Key, ApprovalInput<X, Key>>
}[ApprovalNames<X>]

/** One request: its key, and the type of the value that an approval may pass. */
export interface PendingRequest<Key extends string = string, Value = unknown> {
  readonly approvalId: ApprovalId<Value>
  readonly taskId: string
  /** The task's type. */
  readonly type: string
  readonly key: Key
  readonly mode: OversightMode
  /** The artifact to approve, as the handler gave it. */
  readonly artifact: unknown
  readonly requestedAt: number
  /** When the request times out, epoch ms. */
  readonly dueAt?: number
  /** How often the task was rejected since its last approval. */
  readonly rejections: number
}

/** The verdict of a reviewer. */
export interface Verdict<Value = unknown> {
  /** Name of the reviewer, for the audit trail: 1 to 255 characters. */
  readonly by?: string | undefined
  readonly feedback?: string | undefined
  /** A value for the handler, such as a corrected artifact; encoded like an input. */
  readonly value?: Value | undefined
}

export interface VerdictReceipt {
  readonly approvalId: string
  readonly taskId: string
  /** The task's state once the verdict is committed. */
  readonly state: TaskState
}

/** One request in a task's audit trail. */
export interface ApprovalEntry {
  readonly approvalId: string
  readonly key: string
  readonly mode: OversightMode
  readonly artifact: unknown
  readonly requestedAt: number
  /** The draw of a spot check: below 0.3 the check asked. */
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

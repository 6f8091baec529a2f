import type { OversightMode } from './oversight-mode.ts'

/** The effect of a rejection: the work since the last approval runs again, or the call throws. */
export const rejectionPolicies = ['rerun', 'throw'] as const
export type RejectionPolicy = (typeof rejectionPolicies)[number]

/** The treatment of a request that nobody answers in time. */
export const approvalTimeouts = ['throw', 'approve', 'reject', 'fail'] as const
export type ApprovalTimeout = (typeof approvalTimeouts)[number]

/** A handler's request to a human, in the form that the store gets. */
export interface ApprovalRequest {
  /** In the codec's form. */
  readonly artifact: string
  readonly mode: OversightMode
  /** False: a spot check let it through, and nobody is asked. */
  readonly asked: boolean
  /** The draw of a spot check: from 0, below 1. */
  readonly draw?: number
  /** Rejections since the last approval that are answered with another try. */
  readonly maxRetries: number
  readonly onReject: RejectionPolicy
  readonly onTimeout: ApprovalTimeout
  /** After more rejections than `maxRetries` a person is asked whether the task goes on. Source: `docs/semantics.md 14.3`. */
  readonly escalates?: true
}

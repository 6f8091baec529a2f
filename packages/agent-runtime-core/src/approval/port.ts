import type { PendingApproval, VerdictOutcome } from './approval.ts'

/** Writes about approvals. */
export interface ApprovalWrites {
  /**
   * A human's verdict on the request in the task's event `request`. It wakes the task, or is kept until the
   * running pass asks for it. The first verdict counts. Source: `docs/semantics.md 12.2, 12.3`.
   */
  resolveApproval: {
    fields: {
      readonly taskId: string
      readonly request: number
      readonly verdict: 'approved' | 'rejected'
      /** The reviewer's verdict, in the codec's form. */
      readonly value: string
    }
    outcome: VerdictOutcome
  }
}

/** Reads about approvals. */
export interface ApprovalReads {
  /**
   * Approvals that a verdict can be given on: nobody has answered, and patience for them is not over. They are those of all tasks, or of one and with `children` of all below it; by task; `after` is the `cursor` of the page before.
   */
  approvals: {
    fields: {
      readonly taskId?: string
      readonly children?: boolean
      readonly limit: number
      readonly after?: number
    }
    answer: { readonly approvals: readonly PendingApproval[]; readonly cursor?: number }
  }
}

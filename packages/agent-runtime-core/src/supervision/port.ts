import type { ChildRecord } from '../child/schema.ts'
import type { Receipt, Submission } from '../submit/submission.ts'
import type { ChildRestart, SupervisedChild, SupervisorTerms } from './supervision.ts'
import type { TaskState } from '../task/states.ts'

/** Writes about supervisors; a supervisor's own children are those that its handler spawns. */
export interface SupervisionWrites {
  /** One more child for a supervisor that supervises. Source: `docs/semantics.md 14.2`. */
  startChild: {
    fields: {
      readonly taskId: string
      readonly id: string
      readonly restart: ChildRestart
      readonly submission: Omit<Submission, 'idempotencyKey' | 'forkOf' | 'parentId'>
    }
    outcome:
      | { readonly as: 'started'; readonly child: ChildRecord }
      /** A child of this id has not ended. */
      | { readonly as: 'already_started'; readonly child: ChildRecord }
      /** One of this id has ended, and can be started again. */
      | { readonly as: 'already_present'; readonly child: ChildRecord }
      | { readonly as: 'refused'; readonly receipt: Receipt & { accepted: false } }
      /** It has `maxChildren` that have not ended. */
      | { readonly as: 'full' }
      | NoSupervisor
  }
  /** Starts a child that has ended once more. Source: `docs/semantics.md 14.2`. */
  restartChild: {
    fields: { readonly taskId: string; readonly id: string }
    outcome:
      | { readonly as: 'started'; readonly child: ChildRecord }
      | { readonly as: 'running'; readonly child: ChildRecord }
      | { readonly as: 'unknown_child' }
      | NoSupervisor
  }
}

/** The task is unknown, has ended, or supervises nothing now. */
interface NoSupervisor {
  readonly as: 'no_supervisor'
}

/** Questions about supervisors. */
export interface SupervisionReads {
  supervisor: { fields: { readonly taskId: string }; answer: SupervisorRecord | undefined }
  /** A page of the supervisors, newest first. `before`: the cursor of the page before; `supervising`: only those that supervise now. */
  supervisors: {
    fields: {
      readonly limit: number
      readonly before?: number | undefined
      readonly supervising?: boolean | undefined
    }
    answer: { readonly supervisors: readonly SupervisorSummary[]; readonly cursor?: number }
  }
}

/** A supervisor in a list. */
export interface SupervisorSummary {
  readonly taskId: string
  /** Its task type. */
  readonly type: string
  readonly state: TaskState
  /** Absent once it supervises no more. */
  readonly terms?: SupervisorTerms
  /** How many children it has; temporary ones that ended are left out. */
  readonly children: ChildCounts
  /** How many restarts count now: those of the last `periodMs`. */
  readonly restarts: number
}

/** How many children a supervisor has. */
export interface ChildCounts {
  /** All that its record lists. */
  readonly total: number
  /** The children that have not ended. */
  readonly open: number
  /** The children that a worker runs now. */
  readonly running: number
}

/** A supervisor and its children. */
export interface SupervisorRecord {
  readonly taskId: string
  /** Absent once it supervises no more. */
  readonly terms?: SupervisorTerms
  /** When it started children again, as far as that counts now; epoch ms. */
  readonly restartedAt: readonly number[]
  /** In the order in which they were started first; temporary ones that ended are left out. */
  readonly children: readonly (SupervisedChild & {
    readonly taskId: string
    readonly type: string
    readonly state: TaskState
    readonly attempt: number
    /** The time that it has to stop, ms, as it or its supervisor was given one. Absent: `abortGraceMs` of its task type decides. */
    readonly shutdownMs?: number
  })[]
}

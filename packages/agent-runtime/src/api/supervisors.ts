import type {
  ChildCounts,
  ChildRestart,
  SupervisorRecord,
  SupervisorSummary,
  SupervisorTerms,
  TaskState,
} from '@ku0/agent-runtime-core'
import type { NodeOptions } from './graphs.ts'
import type { Receipt } from './receipts.ts'
import type { TaskType } from './task-type.ts'

/** How a supervisor treats its children. Source: `docs/semantics.md 14.1, 14.2`. */
export interface SupervisorSettings {
  /**
   * Which children start again with one that failed: that one (`one_for_one`, the default), all (`one_for_all`), or it and those that
   * were started after it (`rest_for_one`).
   */
  readonly strategy?: SupervisorTerms['strategy'] | undefined
  /** So many restarts within `periodMs` are done, 0 to 1000; one more fails the supervisor. 5 by default. */
  readonly maxRestarts?: number | undefined
  /** 1 to 1e12; 60 000 by default. */
  readonly periodMs?: number | undefined
  /** When it is done: when no child is left (`children`, the default), or only when it is canceled. */
  readonly endsWith?: SupervisorTerms['endsWith'] | undefined
  /**
   * How long a child may take to stop, ms, at most a day: after that it counts as leaked or, in `isolation`, is ended. The `abortGraceMs` of the child's
   * task type by default, which is 30 000 by default.
   */
  readonly shutdownMs?: number | undefined
}

/** The settings of a child besides its task and input. */
export interface SupervisedOptions extends NodeOptions {
  /**
   * When it starts again: after it has failed (`transient`, the default), after it has completed, too (`permanent`), or never
   * (`temporary`). A child that is canceled never does.
   */
  readonly restart?: ChildRestart | undefined
  /** How long it may take to stop, ms, at most a day: that of the supervisor by default. */
  readonly shutdownMs?: number | undefined
}

/** A supervisor and its children. */
export type SupervisorView = SupervisorRecord

export type { ChildCounts, SupervisorSummary }

/** Which supervisors to list. */
export interface SupervisorPage {
  /** 1 to 1000, 100 by default. */
  readonly limit?: number | undefined
  /** The `cursor` of the page before. */
  readonly cursor?: number | undefined
  /** Only those that supervise now; false by default, which lists those that ended, too. */
  readonly supervising?: boolean | undefined
}

/** The outcome of a stop. */
export interface StopReceipt {
  /** Whether this call ended the child. */
  readonly stopped: boolean
  readonly taskId: string
  readonly state: TaskState
}

/**
 * Supervisors that run, and their children. Any process on the store may ask. After the runtime was closed, each call throws `store_closed`.
 * Each throws `store_*`, `not_found` for a task that is no supervisor or for a child that it does not have, and `invalid_argument` for an
 * argument it does not accept. Source: `docs/supervision.md`.
 */
export interface Supervisors {
  /**
   * The supervisors of the store, newest first: what each is, its children in numbers, and how many of its restarts count now. While the
   * page has a `cursor` there are more. One that was submitted and has not begun is not among them.
   */
  list(
    page?: SupervisorPage,
  ): Promise<{ readonly supervisors: readonly SupervisorSummary[]; readonly cursor?: number }>
  /** The children of a supervisor, in the order in which they were started first. */
  which(supervisor: Receipt | string): Promise<SupervisorView>
  count(supervisor: Receipt | string): Promise<ChildCounts>
  /**
   * Starts one more child. Throws `already_exists` if there is one of this id: use {@link restart} for one that has ended. Throws
   * `TaskRejected` if the store takes no more tasks, and `invalid_argument` if the supervisor supervises no more.
   */
  start<Input, Output>(
    supervisor: Receipt | string,
    id: string,
    task: TaskType<string, Input, Output>,
    input: NoInfer<Input>,
    options?: SupervisedOptions,
  ): Promise<{ readonly taskId: string }>
  start(
    supervisor: Receipt | string,
    id: string,
    task: string,
    input: unknown,
    options?: SupervisedOptions,
  ): Promise<{ readonly taskId: string }>
  /** Cancels a child; its supervisor does not start it again, and it can be started with {@link restart}. */
  stop(supervisor: Receipt | string, id: string): Promise<StopReceipt>
  /**
   * Starts a child that has ended once more, with the same input, as a new task without recorded steps. Throws `already_exists` if it has not
   * ended, and `invalid_argument` if the supervisor supervises no more.
   */
  restart(supervisor: Receipt | string, id: string): Promise<{ readonly taskId: string }>
}

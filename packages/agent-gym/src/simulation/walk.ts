import type { TaskState } from './stored-rows.ts'

/** A task on its way through its events. */
export interface Walk extends TaskState {
  /** The lease was granted in the commit that is looked at. */
  isFresh: boolean
  before: number | null
}

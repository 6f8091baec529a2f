import type { ChildPolicy } from './child.ts'

/** A child, under the key that its parent gave it. */
export interface ChildRow {
  readonly parent: number
  readonly key: string
  readonly task: number
  readonly position: number
  readonly policy: ChildPolicy
  /** The event that is the memo. */
  readonly seq: number
  /**
   * `open`: its end has to be reported to the parent. `dropped`: its branch was stopped, and the key is free
   * again.
   */
  readonly state: 'open' | 'closed' | 'dropped'
}

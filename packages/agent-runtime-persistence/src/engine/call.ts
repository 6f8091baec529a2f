import type { Write } from '@ku0/agent-runtime-core'
import type { LineCall } from './line-answers.ts'

/** An operation, and the number under which its caller waits for the answer. */
export interface Call {
  readonly call: number
  readonly operation: Write
  readonly from: LineCall | undefined
  /** When it came, if another process held the lock by then. */
  readonly foundBusyAt: number | undefined
}

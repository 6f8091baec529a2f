import type { ErrorRecord, TaskRecord } from '@ku0/agent-runtime-core'

/**
 * The current status of a task, by state, with decoded values: a failed task has an error, a queued one has
 * none.
 */
export type TaskStatus = {
  [S in TaskRecord['state']]: Decoded<Extract<TaskRecord, { state: S }>>
}[TaskRecord['state']]

type Decoded<R> = Omit<R, 'input' | 'output' | 'error'> & { readonly input?: unknown } & (R extends {
    output: string
  }
    ? { readonly output: unknown }
    : unknown) &
  (R extends { error: string } ? { readonly error: ErrorRecord } : unknown)

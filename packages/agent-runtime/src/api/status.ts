import type { ErrorRecord, TaskRecord } from '@ku0/agent-runtime-core'

/** A task as it stands, by state, its values decoded: a failed one has an error, a queued one has none. */
export type TaskStatus = {
  [S in TaskRecord['state']]: Decoded<Extract<TaskRecord, { state: S }>>
}[TaskRecord['state']]

type Decoded<R> = Omit<R, 'input' | 'output' | 'error'> & { readonly input?: unknown } & (R extends {
    output: string
  }
    ? { readonly output: unknown }
    : unknown) &
  (R extends { error: string } ? { readonly error: ErrorRecord } : unknown)

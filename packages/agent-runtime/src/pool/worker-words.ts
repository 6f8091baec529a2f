import type { ErrorRecord, ExecutionConfigInput, Lane } from '@ku0/agent-runtime-core'
import type { Tally } from './crew.ts'

/** What a pool says to a worker process. */
export type ToWorker =
  | ({ readonly kind: 'start' } & WorkerStart)
  | { readonly kind: 'stop'; readonly drain: boolean; readonly graceMs?: number | undefined }

export interface WorkerStart {
  readonly store: string
  /** The URL of the module that exports the task definitions. */
  readonly module: string
  readonly capacity?: number | undefined
  readonly types?: readonly string[] | undefined
  readonly lanes?: readonly Lane[] | undefined
  readonly durability?: 'full' | 'normal' | undefined
  readonly config?: ExecutionConfigInput | undefined
}

/** What a worker process says to its pool. */
export type FromWorker =
  | { readonly kind: 'ready'; readonly workerId: string; readonly types: readonly string[] }
  | { readonly kind: 'refused'; readonly error: ErrorRecord }
  | ({ readonly kind: 'work' } & WorkerWork)
  | { readonly kind: 'stopped'; readonly drained: boolean; readonly released: number }

/** What a worker runs, and has run. */
export interface WorkerWork extends Tally {
  readonly inFlight: number
  readonly currentTask: string | null
  /** It was drained from outside. */
  readonly drainAsked: boolean
}

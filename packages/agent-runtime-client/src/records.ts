import type {
  CheckpointRecord,
  ErrorRecord,
  EventType,
  ExecutionLease,
  Lane,
  RejectionReason,
  StepRecord,
  TaskRecord,
  TaskState,
  BudgetOptions,
} from '@ku0/agent-runtime-core'

/** A task as it stands, by state, as the runtime's `status` has it: times are epoch ms. */
export type TaskStatus = {
  [S in TaskRecord['state']]: WithValues<Extract<TaskRecord, { state: S }>>
}[TaskRecord['state']]

type WithValues<R> = Omit<R, 'input' | 'output' | 'error'> & { readonly input?: unknown } & (R extends {
    output: string
  }
    ? { readonly output: unknown }
    : unknown) &
  (R extends { error: string } ? { readonly error: ErrorRecord } : unknown)

/** A task with what belongs to it. */
export interface TaskDetails {
  readonly task: TaskStatus
  /** The last, live and ended; each has the attempt that it ran. */
  readonly leases: readonly ExecutionLease[]
  /** Whether other leases came before these. */
  readonly hasOlderLeases: boolean
  /** The first, in the order of their records. `task.steps` counts all that were recorded. */
  readonly steps: readonly StoredStep[]
  /** There may be more steps: the `after` of `steps`. */
  readonly stepsCursor?: number
  /** The newest, without their inputs and outputs: `list({ parent })` has all, with both. */
  readonly children: readonly TaskStatus[]
  /** There may be more children: the `cursor` of `list({ parent })`. */
  readonly childrenCursor?: string
}

/** The newest checkpoint of a task, with its data. */
export interface StoredCheckpoint extends Omit<CheckpointRecord, 'data'> {
  readonly data: unknown
}

/** A recorded step with its result. */
export interface StoredStep extends Omit<StepRecord, 'result'> {
  readonly result: unknown
}

/** The answer to a submission. `Output` is the type of the task's result. */
export type Receipt<Output = unknown> =
  | {
      readonly accepted: true
      readonly taskId: string
      /** Exists only for the compiler. */
      readonly [result]?: Output
      readonly sequence: number
      readonly deduplicated: boolean
    }
  | {
      readonly accepted: false
      readonly taskId: string
      /** Exists only for the compiler. */
      readonly [result]?: Output
      readonly sequence: number
      readonly reason: RejectionReason
      readonly message: string
      /** With the present settings the task can never be accepted. */
      readonly forGood?: true
      /** When the server said to come back, ms from then. */
      readonly retryAfterMs?: number
    }

export declare const result: unique symbol

/** Options of a submission, as in the runtime. */
export interface SubmitOptions {
  readonly lane?: Lane | undefined
  readonly taskId?: string | undefined
  readonly idempotencyKey?: string | undefined
  readonly client?: string | undefined
  readonly model?: string | undefined
  readonly tools?: readonly string[] | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly dueAt?: Date | number | undefined
  readonly delayMs?: number | undefined
  readonly timeoutMs?: number | undefined
  readonly tokens?: number | undefined
  readonly cost?: number | undefined
  readonly budget?: BudgetOptions | undefined
  /** The name of an agreement that the server knows: `agreements.list()`. */
  readonly agreement?: string | undefined
}

/** A task type: its name, or what `defineTask` or `defineContract` returned. */
export type TaskName = string | { readonly type: string }

/** One submission of several. */
export interface SubmitItem {
  readonly task: TaskName
  readonly input: unknown
  readonly options?: SubmitOptions | undefined
}

/** An event of a task, as the runtime publishes it. */
export interface RuntimeEvent {
  readonly type: EventType
  readonly taskId: string
  readonly seq: number
  /** Epoch ms. */
  readonly at: number
  readonly data: Readonly<Record<string, unknown>>
  readonly hash?: string
  readonly elsewhere?: boolean
}

/** A value that a task emits. */
export type OutputItem =
  | {
      readonly type: 'chunk'
      readonly seq: number
      readonly attempt: number
      readonly at: number
      readonly data: unknown
    }
  | { readonly type: 'attempt.restarted'; readonly attempt: number; readonly seq: number }

/** Which tasks to list. */
export interface ListFilter {
  readonly states?: readonly (TaskState | 'cancelled')[] | undefined
  readonly types?: readonly string[] | undefined
  readonly lanes?: readonly Lane[] | undefined
  readonly parent?: string | undefined
  readonly client?: string | undefined
  /** All have to hold. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** A part of the id, the type, the client, a label or the error, in any case. */
  readonly text?: string | undefined
  /** Whether tasks come with their inputs and outputs, which may be large. True by default. */
  readonly values?: boolean | undefined
  /** 1 to 1000, 100 by default. */
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

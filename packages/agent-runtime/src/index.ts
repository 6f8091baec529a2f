export {
  createRuntime,
  type RuntimeLogger,
  type RuntimeOptions,
  type WorkerOptions,
} from './create-runtime.ts'
export type { LeakedHandler, SubmitOptions, WorkerSpec } from './execution/index.ts'
export type { Accepted, Receipt, Rejected, TaskId } from './receipts.ts'
export type {
  CancelOptions,
  FollowOptions,
  ForkOptions,
  ItemsOf,
  ListFilter,
  OutputItem,
  ReceiptsOf,
  RetryOptions,
  Runtime,
  RuntimeStats,
  SignalReceipt,
  StopOptions,
  StopReport,
  WaitOptions,
} from './runtime.ts'
export type { EventOf, RuntimeEvent } from './runtime-event.ts'
export { MAX_WORKERS } from './runtime-options.ts'
export type { InputOf, OutputOf, Schema } from './schema.ts'
export { exitCodes } from './signals.ts'
export type {
  AllResults,
  Branches,
  ChildTask,
  ChildWaitOptions,
  CleanupHook,
  CleanupReason,
  ExecOptions,
  ExecResult,
  RaceResult,
  SignalWaitOptions,
  SpawnOptions,
  StepHandle,
  StepOptions,
  TaskContext,
  TaskLog,
} from './task-context.ts'
export {
  defineTask,
  type ResultOf,
  type TaskDefinition,
  type TaskDefinitionOptions,
} from './task-definition.ts'
export { TaskFailed, TaskRejected, TimeoutError } from './task-errors.ts'
export type { TaskStatus } from './task-status.ts'
export { LeaseLost, NonRetryableError, RuntimeError, TaskCanceled } from '@ku0/agent-runtime-core'

export {
  createRuntime,
  type RuntimeLogger,
  type RuntimeOptions,
  type WorkerOptions,
} from './create-runtime.ts'
export type { LeakedHandler, SubmitOptions, WorkerSpec } from './execution/index.ts'
export type { Accepted, Receipt, Rejected, TaskId } from './receipts.ts'
export type {
  FollowOptions,
  ItemsOf,
  ListFilter,
  OutputItem,
  ReceiptsOf,
  Runtime,
  RuntimeStats,
  StopOptions,
  StopReport,
  WaitOptions,
} from './runtime.ts'
export type { EventOf, RuntimeEvent } from './runtime-event.ts'
export type { InputOf, OutputOf, Schema } from './schema.ts'
export { exitCodes } from './signals.ts'
export type {
  CleanupHook,
  CleanupReason,
  ExecOptions,
  ExecResult,
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

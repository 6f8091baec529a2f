export {
  createRuntime,
  type RuntimeLogger,
  type RuntimeOptions,
  type WorkerOptions,
} from './create-runtime.ts'
export type { LeakedHandler, SubmitOptions, WorkerSpec } from './execution/index.ts'
export {
  type Agent,
  compose,
  type Composition,
  edge,
  type Edge,
  type EdgeOptions,
  identityEdge,
  type Metadata,
  passThrough,
} from './composition/compose.ts'
export { type CompositionOptions, defineComposition } from './composition/define-composition.ts'
export {
  defineGraph,
  type DefinedNode,
  type GraphDefinition,
  type GraphResults,
  type GraphTasks,
} from './graph/define-graph.ts'
export type {
  Graph,
  GraphNode,
  GraphNodes,
  GraphOutput,
  GraphSettings,
  NodeOptions,
  NodesWithin,
} from './graph/graph.ts'
export { GraphFailed } from './graph/run-graph.ts'
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

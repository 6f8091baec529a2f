/** @module @ku0/agent-runtime-client */

export { createHttpClient } from './create-http-client.ts'
export {
  ApiError,
  type ProblemBody,
  ServerUnreachable,
  TaskCanceled,
  TaskDiverged,
  TaskFailed,
  TaskRejected,
  TimeoutError,
} from './errors.ts'
export type { Agents, Evaluation, Evaluations } from './agents.ts'
export type {
  Bulk,
  BulkAction,
  BulkFilter,
  BulkOptions,
  CanceledMany,
  ExpectOptions,
  Many,
  RetriedMany,
} from './bulk.ts'
export type {
  Care,
  StoreFault,
  StoreInspection,
  StoreSeal,
  StoreVerification,
  VerifyStoreOptions,
} from './care.ts'
export type { FollowOptions } from './follow.ts'
export type { AgainOptions, HttpClient, PageOptions } from './http-client.ts'
export type { TaskLike } from './task-id.ts'
export type {
  AccessTokens,
  ApprovalEntry,
  Approvals,
  BudgetReceipt,
  Budgets,
  Clients,
  AgreementRecord,
  Agreements,
  Credits,
  Operations,
  PendingApproval,
  Pruned,
  Schedules,
  ScheduleStatus,
  Supervisors,
  ServerInfo,
  TokenRecord,
  TokenTerms,
  Verdict,
  VerdictReceipt,
} from './operations.ts'
export type { Pipeline, PipelineEvent, PipelineEventsOptions, Pipelines } from './pipelines.ts'
export type { InputOf, Json, ResultOf } from './typed.ts'
export type { Watched, WatchOptions } from './watch.ts'
export type { CallOptions, HttpClientOptions } from './options.ts'
export type {
  ListFilter,
  OutputItem,
  Receipt,
  RuntimeEvent,
  StoredCheckpoint,
  StoredStep,
  SubmitItem,
  SubmitOptions,
  TaskDetails,
  TaskName,
  TaskStatus,
} from './records.ts'

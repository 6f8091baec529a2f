export type {
  ApprovalEntry,
  ApprovalFilter,
  Approvals,
  PendingApproval,
  Verdict,
  VerdictReceipt,
} from './approvals.ts'
export type { Clients, ClientSettings } from './clients.ts'
export type { BudgetFilter, BudgetReceipt, Budgets, ContinueOptions } from './budgets.ts'
export { type AgentView, toAgentView } from './agents/agent-view.ts'
export {
  type AgentDefinition,
  type AgentOptions,
  type AgentProfile,
  defineAgent,
} from './agents/define-agent.ts'
export { checkDeploy, type DeployCheck, type DeployProblem, type DeployReport } from './check-deploy.ts'
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
export type { HistoryEnd } from './execution/replay-watch.ts'
export type { ReplayOptions } from './replay/replay-task.ts'
export type { ReplayReport, ReplayVerdict } from './replay/report.ts'
export type { EventOf, RuntimeEvent } from './runtime-event.ts'
export { MAX_WORKERS } from './runtime-options.ts'
export type { InputOf, OutputOf, Schema } from './schema.ts'
export type {
  CronTiming,
  IntervalTiming,
  ScheduleOptions,
  Schedules,
  ScheduleStatus,
  Timing,
} from './schedules.ts'
export type {
  Drift,
  DriftOptions,
  EvaluationOptions,
  EvaluationPage,
  Evaluations,
  EvaluationSettings,
  RecordedEvaluation,
  ScoresInput,
  SimilarOptions,
  WeightsInput,
} from './evaluations.ts'
export { exitCodes } from './signals.ts'
export type {
  AllResults,
  Approval,
  ApprovalOptions,
  Branches,
  ChildTask,
  BranchesOptions,
  ChildWaitOptions,
  CleanupHook,
  CleanupReason,
  ExecOptions,
  ExecResult,
  Feedback,
  InDoubtAnswer,
  InDoubtPolicy,
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
  type ErrorClass,
  type ResultOf,
  type TaskDefinition,
  type TaskDefinitionOptions,
} from './task-definition.ts'
export { ApprovalRejected, StepInDoubt, TaskFailed, TaskRejected, TimeoutError } from './task-errors.ts'
export type { TaskStatus } from './task-status.ts'
export type {
  AdmissionVerdict,
  Explanation,
  QueueReason,
  StartEstimate,
  WaitCount,
  WaitHistogram,
} from '@ku0/agent-runtime-core'
export type { ClientRecord, ClientTier, SharesConfig, Usage } from '@ku0/agent-runtime-core'
export type { Divergence, DivergenceKind, Doubt } from '@ku0/agent-runtime-core'
export type {
  Dimension,
  EvaluationRecord,
  ReputationRecord,
  Scores,
  SimilarAgent,
  Weights,
} from '@ku0/agent-runtime-core'
export type { Heartbeat } from './workload/heartbeat.ts'
export type { LeaseEnding, LeaseObserver } from './workload/lease-observer.ts'
export type { ProfileSetting } from './workload/profile-setting.ts'
export type { RouteOptions, RouteStatus, RouteVerdict } from './workload/routes.ts'
export type {
  AgentAccount,
  AgentSettings,
  HeldAgentOptions,
  Swarm,
  SwarmOptions,
  TaskAgentOptions,
} from './workload/swarm.ts'
export type { LeaseHeartbeat, LeaseOutcome, StartTaskOptions, TaskLease } from './workload/task-lease.ts'
export type { UsageProbe } from './workload/usage-probe.ts'
export type {
  ProfileConfig,
  ResourceBudget,
  ResourceLimits,
  SwarmRecord,
  WorkloadProfile,
  WorkTelemetry,
} from '@ku0/agent-runtime-core'
export type { BudgetField, BudgetLimits, BudgetOptions, BudgetRecord } from '@ku0/agent-runtime-core'
export {
  LeaseLost,
  NonRetryableError,
  type RateLimit,
  RateLimited,
  RuntimeError,
  TaskCanceled,
} from '@ku0/agent-runtime-core'
export {
  type AgentState,
  agentState,
  compareOversight,
  type OversightMode,
  oversightModes,
} from '@ku0/agent-runtime-core'

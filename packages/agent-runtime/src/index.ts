/** @module @ku0/agent-runtime */

// Programs: a client, a worker, a runtime and their options
export { createClient } from './create-client.ts'
export { createWorker } from './create-worker.ts'
export { createRuntime } from './create-runtime.ts'
export type {
  ClientOptions,
  RuntimeOptions,
  StoreOptions,
  WorkerOptions,
  WorkerProcessOptions,
} from './options.ts'
export { MAX_WORKERS } from './pool/limits.ts'
export type {
  CanceledMany,
  CancelFilter,
  QueueSelection,
  CancelManyOptions,
  CancelOptions,
  Client,
  FollowOptions,
  ForkOptions,
  ItemsOf,
  ListFilter,
  OutputCheck,
  OutputItem,
  OutputOptions,
  OutputPage,
  Pruned,
  PruneOptions,
  ReceiptsOf,
  RetriedMany,
  RetryFilter,
  RetryManyOptions,
  RetryOptions,
  SignalReceipt,
  SignalValue,
  StoredPage,
  StoredCheckpoint,
  StoredStep,
  WaitOptions,
} from './api/client.ts'
export type { LeakedHandler, RuntimeStats, Worker } from './api/worker.ts'
export type { StopOptions, StopReport } from './api/stop.ts'
export type { Runtime } from './api/runtime.ts'
export { createPool } from './create-pool.ts'
export type {
  Pool,
  PoolChange,
  PoolLimits,
  PoolOptions,
  PoolSettings,
  PoolStats,
  PoolWorkerStats,
  ProcessPool,
} from './api/pool.ts'
export type { RuntimeLogger } from './api/logger.ts'
export { exitCodes } from './process-signals.ts'

// Task types: definitions, contracts, schemas, agents, compositions, graphs
export {
  type AgentState,
  agentState,
  compareOversight,
  NonRetryableError,
  type OversightMode,
  oversightModes,
  type RateLimit,
  RateLimited,
  type AdmissionVerdict,
  type Divergence,
  type DivergenceKind,
  type Doubt,
  type Explanation,
  LeaseLost,
  type QueueReason,
  RuntimeError,
  type StartEstimate,
  TaskCanceled,
  type LatencyPromise,
  type MissingCredits,
  type WaitCount,
  type WaitHistogram,
  type Series,
  type SeriesFilter,
  type SeriesPoint,
} from '@ku0/agent-runtime-core'
export { combineRecovery, defineDomain } from './terms/recovery-policy.ts'
export { defineContract, defineTask } from './terms/task-definition.ts'
export { typedTaskId } from './terms/typed-task-id.ts'
export type { ErrorClass, TaskContract, TaskDefinitionOptions, TaskType } from './api/task-type.ts'
export type {
  ApprovalInput,
  ApprovalNames,
  ApprovalOf,
  ChunkOf,
  Declarations,
  Emitted,
  Exchange,
  ExchangeOf,
  Schemas,
  SignalInput,
  SignalNames,
  SignalOf,
} from './api/exchange.ts'
export type { ContextOf } from './api/context-of.ts'
export type { Codec, PayloadCodec, StoredClasses } from './api/codecs.ts'
export { defineCodec } from './terms/value-codec.ts'
export type { NotStorable, Storable } from './api/storable.ts'
export type { KnownStore, NotAStoreUrl, StoreUrl } from './api/store-url.ts'
export type { RateLimitRule } from './api/rate-limit-rule.ts'
export type { Domain, Fallback, RecoverySetting, TaskFailure } from './api/recovery.ts'
export type { BackoffSetting, RetrySetting } from './api/retry-setting.ts'
export type { ResultOf, TaskDefinition } from './api/task-definition.ts'
export type { InputOf, OutputOf, Schema } from './api/schema.ts'
export {
  type AgentDefinition,
  type AgentOptions,
  type AgentProfile,
  defineAgent,
} from './agents/define-agent.ts'
export { type AgentMetrics, type AgentSources, type AgentView, toAgentView } from './agents/agent-view.ts'
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
  type DefinedNode,
  defineGraph,
  type GraphDefinition,
  type GraphResults,
  type GraphTasks,
} from './graph/define-graph.ts'
export { definePipeline, type DefinedStage, type PipelineDefinition } from './pipeline/define-pipeline.ts'
export type {
  Pipeline,
  PipelineEvent,
  EventToPublish,
  PipelineEventOf,
  PipelineEventsOptions,
  PipelinePage,
  PipelineView,
  PipelineViolation,
  PublishOptions,
  ReceiveOptions,
} from './api/pipelines.ts'
export { defineMarketplace, type MarketplaceDefinition } from './market/define-marketplace.ts'
export type { MarketplaceStages, StagesFor } from './market/market.ts'
export type {
  ContractedJob,
  DecomposedJob,
  Decomposition,
  ExecutedJob,
  Job,
  JobContract,
  JobEvaluation,
  JobMeasures,
  JobPart,
  JobResult,
  Negotiation,
  Proposal,
  RankedProposal,
  RankingSettings,
} from './api/markets.ts'
export {
  type DefinedChild,
  defineSupervisor,
  type SupervisedTasks,
  type SupervisorDefinition,
  type SupervisorOutput,
} from './supervision/define-supervisor.ts'
export type {
  ChildCounts,
  StopReceipt,
  SupervisedOptions,
  SupervisorPage,
  Supervisors,
  SupervisorSettings,
  SupervisorSummary,
  SupervisorView,
} from './api/supervisors.ts'
export { GraphFailed } from './graph/run-graph.ts'
export type {
  Graph,
  GraphNode,
  GraphNodes,
  GraphOutput,
  GraphSettings,
  NodeOptions,
  NodesWithin,
} from './api/graphs.ts'

// What a handler works with
export type {
  AllResults,
  Approval,
  ApprovalOptions,
  Branches,
  BranchesOptions,
  ChildTask,
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
  ToStorable,
  TaskContext,
  TaskLog,
} from './api/task-context.ts'

// Submissions and tasks: receipts, status, events, errors, replay
export type { SubmitOptions } from './api/submissions.ts'
export type { Accepted, Receipt, Rejected, TaskId } from './api/receipts.ts'
export type { TaskStatus } from './api/status.ts'
export type { EventOf, EventPattern, RuntimeEvent } from './api/events.ts'
export {
  ApprovalRejected,
  StepInDoubt,
  TaskDiverged,
  TaskFailed,
  TaskRejected,
  TimeoutError,
} from './api/errors.ts'
export type { HistoryEnd, ReplayOptions, ReplayReport, ReplayVerdict } from './api/replay.ts'
export { findStuck, type StuckView } from './watchdog/find-stuck.ts'
export type { StuckLimits, StuckReport, StuckSettings, StuckTask, WatchdogSettings } from './api/watchdog.ts'
export { checkDeploy, type DeployCheck, type DeployProblem, type DeployReport } from './check-deploy.ts'

// Approvals, schedules, evaluations
export type {
  Dimension,
  EvaluationRecord,
  ReputationRecord,
  Scores,
  SimilarAgent,
  Weights,
  BudgetField,
  BudgetLimits,
  BudgetOptions,
  BudgetRecord,
  ClientRecord,
  CreditBalance,
  CreditRequest,
  LedgerEntry,
  ClientTier,
  ProfileConfig,
  ResourceBudget,
  ResourceLimits,
  SharesConfig,
  SwarmRecord,
  Usage,
  WorkloadProfile,
  WorkTelemetry,
} from '@ku0/agent-runtime-core'
export type {
  ApprovalEntry,
  ApprovalFilter,
  ApprovalId,
  Approvals,
  PendingApproval,
  PendingRequest,
  Verdict,
  VerdictReceipt,
} from './api/approvals.ts'
export type {
  CronTiming,
  IntervalTiming,
  ScheduleOptions,
  Schedules,
  ScheduleStatus,
  Timing,
  TriggerOptions,
} from './api/schedules.ts'
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
} from './api/evaluations.ts'

// Limits: budgets, clients, profiles, leases, routes, swarms
export type { BudgetFilter, BudgetReceipt, Budgets, ContinueOptions } from './api/budgets.ts'
export type { AccessTokens, AccessTokenTerms } from './api/access-tokens.ts'
export type { Clients, ClientSettings } from './api/clients.ts'
export { createAgentRegistry, type AgentFilter, type AgentRegistry } from './agents/registry.ts'
export { defineAgreement } from './terms/agreement.ts'
export type { Agreement, Agreements, AgreementTerms } from './api/agreements.ts'
export type { Credits, EntriesPage, Purchase, PurchaseOptions } from './api/credits.ts'
export type { Heartbeat, ProfileSetting, UsageProbe } from './api/profiles.ts'
export type {
  LeaseEnding,
  LeaseHeartbeat,
  LeaseObserver,
  LeaseOutcome,
  StartTaskOptions,
  TaskLease,
} from './api/leases.ts'
export type { RouteOptions, RouteStatus, RouteVerdict } from './api/routes.ts'
export type {
  AgentAccount,
  AgentSettings,
  HeldAgentOptions,
  Swarm,
  SwarmOptions,
  TaskAgentOptions,
} from './api/swarms.ts'

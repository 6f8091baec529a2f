// Tasks: submissions, states, leases, steps, waits, children, approvals
export {
  approvalName,
  type ApprovalTerms,
  isVoid,
  outlivesRejection,
  type PendingApproval,
  type Rejection,
  SPOT_CHECK_SHARE,
} from './approval/approval.ts'
export {
  type ApprovalRequest,
  type ApprovalTimeout,
  approvalTimeouts,
  rejectionPolicies,
  type RejectionPolicy,
} from './approval/request.ts'
export {
  compareOversight,
  defaultOversightMode,
  type OversightMode,
  oversightModes,
} from './approval/oversight-mode.ts'
export { childKeyOf, childName, childPolicies, type ChildPolicy, patienceKey } from './child/child.ts'
export type { ChildRecord } from './child/schema.ts'
export { describeDivergence } from './history/divergence.ts'
export type { Divergence } from './history/divergence-schema.ts'
export { type DivergenceKind } from './history/divergence-kinds.ts'
export {
  type Claim,
  type Fenced,
  type LeaseEndReason,
  leaseEndReasons,
  type LeaseNotice,
} from './lease/lease.ts'
export type { ExecutionLease } from './lease/schema.ts'
export { type Doubt, doubtKey, type StartedStep } from './step/doubt.ts'
export { keyText } from './step/key-text.ts'
export type { CheckpointRecord } from './step/port.ts'
export type { StepRecord } from './step/schema.ts'
export { idempotencyKey } from './submit/idempotency.ts'
export { LATENCY_LABEL, type LatencyPromise, accountPromise, promiseIn } from './submit/promise.ts'
export type { Receipt, Submission } from './submit/submission.ts'
export type { AdmissionVerdict, Objection, QuotaLimitName } from './submit/verdict.ts'
export {
  addedAgentMoves,
  type AgentCase,
  type AgentState,
  agentState,
  agentStates,
  canAgentMove,
  paperAgentMoves,
  refusedAgentMoves,
} from './task/agent-state.ts'
export { isLane, type Lane, laneFor, laneRank, lanes, type Trigger } from './task/lane.ts'
export type { TaskFilter } from './task/port.ts'
export type { TaskRecord } from './task/schema.ts'
export type { Settlement } from './task/settlement.ts'
export {
  type FinalState,
  isFinal,
  type LeaseState,
  leaseStates,
  type TaskState,
  taskStates,
} from './task/states.ts'
export {
  RESERVED,
  type WaitKind,
  waitKinds,
  type WaitOutcome,
  type WaitRequest,
  type WaitReason,
  waitReasons,
} from './wait/wait.ts'
export type { OpenWait, WaitRecord } from './wait/schema.ts'
export {
  decideReplacement,
  isQuickDeath,
  decideScaling,
  MAX_QUICK_DEATHS,
  type PoolLimits,
  type PoolMember,
  type PoolView,
  type Replacement,
  type Scaling,
} from './pool/scaling.ts'
export type { WorkerStatus } from './worker/schema.ts'

export {
  marketKey,
  type MarketStage,
  marketStageAfter,
  marketStageIn,
  marketTaskKey,
} from './market/market.ts'
export {
  defaultRankWeights,
  type Proposal,
  type RankedProposal,
  type Ranking,
  rankProposals,
  type RankCandidate,
  type RankTerm,
  rankTerms,
  type RankWeights,
} from './market/rank.ts'
export { checkStages, type StageViolation, violationsText } from './pipeline/check.ts'
export type { HeldBack, HeldBackBy } from './pipeline/held-back.ts'
export { type SlotShortage, slotShortage, slotShortageText } from './pipeline/slots.ts'
export type { PipelineRecord, StageRecord, StageRefusal, StageTaskRecord } from './pipeline/port.ts'
export {
  type LogRange,
  isPipelineMemo,
  KEY_HASHES,
  keyHash,
  MAX_PARTITIONS,
  partitionFor,
  partsOf,
  PIPELINE_KEY,
  type PipelineTerms,
  publicationKey,
  receiptKey,
  STAGE_WAIT_NAME,
  stageCallText,
  stageKey,
  type StagePart,
  stagePartText,
  type StageTerms,
  type StageWait,
  stageWaitIn,
  stageWaitKey,
  type TakenEvents,
} from './pipeline/pipeline.ts'
export type { ChildCounts, SupervisorRecord, SupervisorSummary } from './supervision/port.ts'
export {
  afterKey,
  type ChildRestart,
  childRestarts,
  READY_KEY,
  RESTART_NAME,
  type Sibling,
  type SiblingState,
  siblingStates,
  type SupervisedChild,
  supervisedIn,
  supervisedKey,
  supervisionStrategies,
  type SupervisionStrategy,
  SUPERVISOR_NAME,
  type SupervisorEnd,
  supervisorEnds,
  supervisorKey,
  type SupervisorTerms,
  supervisorTerms,
} from './supervision/supervision.ts'

export { labelsWithShutdown, MAX_SHUTDOWN_MS, SHUTDOWN_LABEL, shutdownIn } from './supervision/shutdown.ts'

// Events and histories
export { EventBus, type EventsMatching, type Unsubscribe } from './event/event-bus.ts'
export {
  type ChildEnd,
  eventCatalogue,
  type EventData,
  type EventType,
  type OutputChunk,
  type PaperEvent,
  paperEvents,
  type RejectionReason,
  rejectionReasons,
  type RequeueReason,
  type StoredEvent,
} from './event/event.ts'
export { type FailureKind, failureKinds } from './task/failure-kind.ts'
export { foldEvents } from './history/fold-events.ts'
export {
  CHAIN_START,
  chainText,
  foldRunOrder,
  type HistoryEvent,
  type HistoryOrder,
  type OrderedEvent,
  orderHash,
  orderOfHistory,
} from './history/hash.ts'
export { divergenceOfFault, historyEdited, type HistoryFault } from './history/history-fault.ts'

// Limits and profiles: quotas, shares, budgets, routes, swarms; schedules and evaluations
export {
  addUse,
  budgetAmount,
  budgetAmounts,
  type BudgetField,
  budgetFields,
  type BudgetLimits,
  type BudgetOptions,
  budgetProblems,
  budgetRaise,
  type BudgetSum,
  type BudgetTerms,
  budgetTerms,
  type BudgetUse,
  noUse,
} from './budget/budget.ts'
export type { BudgetRecord } from './budget/schema.ts'
export {
  addUsage,
  MICRO,
  type Usage,
  usageOf,
  type UsageSum,
  usageSum,
  type UsedAmounts,
} from './budget/usage.ts'
export {
  type Dimension,
  dimensions,
  domainWeights,
  type EvaluationRecord,
  type ReputationRecord,
  type Scores,
  type SimilarAgent,
  type Weights,
} from './evaluation/evaluation.ts'
export {
  type LimitedAmount,
  limitedAmounts,
  needsAbortController,
  profileConfigs,
  type ResourceBudget,
  type ResourcesLeft,
  softAboveHard,
  type UsageSample,
  type WorkTelemetry,
} from './profile/profile.ts'
export { MAX_AGENTS, type WorkloadProfile, workloadProfiles } from './profile/classes.ts'
export type {
  ProfileConfig,
  ProfileTerms,
  ResourceLimit,
  ResourceLimits,
  SwarmTerms,
} from './profile/schema.ts'
export { profileConfigRules, resourceLimitRules } from './profile/rules.ts'
export {
  type BackOff,
  type QuotaConfig,
  quotaKeysOf,
  type QuotaLimit,
  type QuotaNames,
} from './quota/quota.ts'
export { httpLimitIn } from './quota/http-limit.ts'
export { type RateLimit, RateLimited, rateLimitIn } from './quota/rate-limited.ts'
export type { RetentionConfig } from './retention/schema.ts'
export { countedGroups, dueGroups, newestOf } from './retention/retention.ts'
export type { LedgerPlace } from './ledger/row.ts'
export type {
  PerState,
  RetentionCount,
  RetentionCutoff,
  RetentionDue,
  RetentionGroup,
} from './retention/row.ts'
export { prunableStates } from './retention/row.ts'
export type { RouteRecord } from './route/port.ts'
export type { ScheduleFilter } from './schedule/port.ts'
export {
  type CatchUp,
  catchUps,
  type Overlap,
  overlaps,
  runKeyOf,
  type ScheduleDefinition,
  type ScheduledRun,
  type ScheduleRecord,
  type ScheduleTiming,
} from './schedule/schedule.ts'
export {
  type ClientRecord,
  type ClientTier,
  clientTiers,
  type CreditRequest,
  defaultCredits,
  type OutOfCredits,
  outOfCreditsChoices,
} from './share/client.ts'
export type { SharesConfig } from './share/schema.ts'
export { MAX_CREDITS, type CreditBalance, type LedgerEntry } from './ledger/entry.ts'
export { entryKinds, type EntryKind } from './ledger/entry-kinds.ts'
export type { ShareEntry, ShareTree } from './share/share-tree.ts'
export type { AgentRecord, SwarmRecord } from './swarm/port.ts'

// Decisions: pure functions over plain data
export {
  distanceBetween,
  type Judgement,
  nearestTo,
  type RawReadingOptions,
  type ReadingOptions,
  readNormalised,
  readRaw,
  readWeights,
} from './evaluation/judgement.ts'
export { effectiveWeight, nextReputation } from './evaluation/reputation.ts'
export {
  type CallKind,
  callOf,
  decideAtDecision,
  decideDivergence,
  decideReplay,
  type FrontierCase,
  goesBeyond,
  isAmong,
  isInternal,
  isRetryWait,
  branchLimitKey,
  PATCH_KEY,
  type RecordedCall,
  type Replay,
  type ReplayCase,
  RETRY_KEY,
} from './history/replay.ts'
export {
  normalize,
  pressureOf,
  type PressureVector,
  resistanceOf,
  scalarPressure,
} from './profile/pressure.ts'
export { aheadByLane, aheadByShares, type Asking, type QueuedStream, type Standing } from './queue/ahead.ts'
export { Heap } from './queue/heap.ts'
export {
  differencesAmong,
  typeDifferences,
  type TypeDifference,
  type TypeSettings,
} from './worker/type-settings.ts'
export type { QueuePause } from './queue/port.ts'
export { pauseOf } from './queue/pause.ts'
export { runsType, takesLane } from './queue/placement.ts'
export { suspectFrom } from './queue/quarantine.ts'
export type { QuotaCounters } from './quota/room.ts'
export { quotaObstacle, type QuotaState, quotaStateOf, type QuotaWindow } from './quota/state.ts'
export { type CircuitState, circuitStates } from './route/circuit.ts'
export { type CatchUpCase, type CaughtUp, decideCatchUp } from './schedule/catch-up.ts'
export { agedRank, shareIncrement, tierWeights } from './share/fairness.ts'
export { type Admission, type AdmissionCase, decideAdmission, wantsRoom } from './submit/admission.ts'
export { categoriesOf, categoryOfKind } from './recovery/categories.ts'
export { type Recovered } from './recovery/decide.ts'
export { decisionOfPast, errorOfPast, escalationWait } from './recovery/answered.ts'
export {
  chainRefusal,
  decideChain,
  HANDED_OVER_LABEL,
  handOverKey,
  handOverLabels,
  isHandOver,
  MAX_HAND_OVERS,
} from './recovery/hand-over.ts'
export { type Escalation, escalationKey, isEscalation } from './recovery/escalation.ts'
export {
  type HandedOver,
  type PastFailure,
  pastFailure,
  type PastFailures,
  workedOnBy,
} from './recovery/past-failure.ts'
export { decidePassStart, type PassStart, type PassStartCase } from './recovery/pass-start.ts'
export {
  defaultRecoveryTable,
  failureCategories,
  type FailureCategory,
  type RecoveryChoice,
  type RecoveryPolicy,
  recoveryStrategies,
  type RecoveryStrategy,
  type RecoveryTable,
  strongestRecovery,
} from './recovery/recovery.ts'
export { type Backoff, decideBackoff, defaultBackoff } from './task/backoff.ts'
export {
  decideOutcome,
  type HandlerEnd,
  isFinalError,
  type Outcome,
  type OutcomeCase,
  type RetryPolicy,
  waitFor,
} from './task/outcome.ts'

// Values, errors, and checks of what users hand in
export { hasMethods, isA, isList, isReadable } from './check/readable.ts'
export {
  type FamiliarNames,
  assertFields,
  assertIsOptions,
  assertOptions,
  delayRule,
  fits,
  flagRule,
  functionRule,
  hasAll,
  instead,
  invalid,
  isAmount,
  isName,
  isOneOf,
  isRecord,
  isWithinOne,
  limitRule,
  listOf,
  nameRule,
  namesRule,
  problemsIn,
  type Rule,
  type Rules,
  signalRule,
  wholeNumber,
} from './check/rules.ts'
export { firstLines, show, textOf } from './check/show.ts'
export { meantText, suggestionFor } from './check/suggestion.ts'
export { type Given, withoutUndefined } from './check/without-undefined.ts'
export {
  canonical,
  decode,
  encode,
  type EncodeOptions,
  plainValues,
  type ValueCodec,
  valueCodec,
} from './codec/codec.ts'
export { type RegisteredCodec, type Seal } from './codec/class-codec.ts'
export { parseJson } from './codec/parse-json.ts'
export { type ErrorCode, errorCodes, isErrorCode, type StoreErrorCode } from './error/codes.ts'
export {
  ConfigError,
  type ConfigProblem,
  DuplicateStepKey,
  type ErrorDetails,
  InvalidTransition,
  LeaseLost,
  NonRetryableError,
  PayloadTooLarge,
  RuntimeError,
  StepNotSerializable,
  StoreError,
  TaskCanceled,
} from './error/errors.ts'
export type { HttpFacts } from './error/http.ts'
export { describeError, type ErrorLimits, type ErrorRecord, toRuntimeError } from './error/record.ts'

// The store port, its settings and surroundings
export {
  assertDelay,
  type Clock,
  type Digest,
  type Environment,
  type Ids,
  isEnvironment,
  MAX_ARMED_MS,
  type Random,
  type Timer,
  type Timers,
} from './config/environment.ts'
export type { ExecutionConfig, ExecutionConfigInput } from './config/schema.ts'
export type { ConfigWarning } from './config/relations.ts'
export { defaultConfig, readPlainConfig, settingNames } from './config/whole-config.ts'
export {
  type ConfigurationRecord,
  type ConfigurationRow,
  type ConfigurationVerdict,
  decideConfiguration,
  type SettingDifference,
  settingDifferences,
  settingsAmong,
  statedSettings,
  storeSettings,
  type StoreSettings,
  storeSettingsOf,
  withSettings,
} from './config/in-force.ts'
export type { AcceptedLoss, DataLoss } from './store/data-loss.ts'
export type {
  CanceledBy,
  ErrorSummary,
  Explanation,
  FailureReason,
  OpenChildren,
  Placement,
  MissingCredits,
  QueuePlace,
  QueueReason,
  Requeues,
  StartEstimate,
  StepFailure,
  WaitCount,
  WaitHistogram,
} from './store/explanation.ts'
export { createIdCodec, type IdCodec, type PastIncarnation } from './store/ids.ts'
export type {
  ExecutionStore,
  Interest,
  OutcomeOf,
  Read,
  ReadKind,
  Reads,
  StoreInfo,
  StoreListener,
  StoreReach,
  WorkerDrain,
  Write,
  WriteKind,
  Writes,
} from './store/port.ts'
export {
  MAX_SERIES_RUNS,
  type Series,
  type SeriesFilter,
  type SeriesPoint,
  type SeriesRun,
  type SeriesWorker,
} from './store/series.ts'
export { mergedSeries, type Past } from './series/merged.ts'
export { type RefusedSubmission, withRefused } from './series/refused.ts'
export type { NumberedRun } from './series/port.ts'
export {
  type Depth,
  HOUR_MS,
  MINUTE_MS,
  rolledUp,
  type Sample,
  sampleAges,
  samplesOf,
  WAIT_CLASSES,
} from './series/sample.ts'
export { type AccessScope, accessScopes } from './access/access-scope.ts'
export { type AccessTokenRecord, ENDED_TOKEN_MS, MAX_ACCESS_TOKENS } from './access/access-token.ts'
export type { StoreStats, Totals } from './store/stats.ts'
export type { StoreFault, StoreSeal, StoreVerification } from './store/verification.ts'

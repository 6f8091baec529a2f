export {
  takeSnapshot,
  violationsIn,
  type InvariantCase,
  type StoreSnapshot,
  type TaskSnapshot,
} from './invariants.ts'
export { countedKeys, holdOf } from './model/quotas.ts'
export type { ModelFork, ModelForked } from './model/forks.ts'
export type {
  ModelAgent,
  ModelConfig,
  ModelEffect,
  ModelLease,
  ModelReceipt,
  ModelRequest,
  ModelSchedule,
  ModelSettlement,
  ModelSpawn,
  ModelSubmission,
  ModelTask,
  ModelWorker,
  ModelClient,
} from './model/records.ts'
export { BUDGET_ERROR, lineOf } from './model/budgets.ts'
export { increment, newModelClient, settleCharge } from './model/shares.ts'
export { doubtsOf, inOrder, pendingApprovals, rejectionsSinceApproval, startsOf } from './model/waits.ts'
export { BLOCK_MS, ReferenceModel } from './model/reference-model.ts'
export {
  Scene,
  storeSuite,
  submission,
  suiteSections,
  type Matchers,
  type Opening,
  type OpenStore,
  type TestTools,
  type SceneSetting,
  type Time,
} from './store-suite.ts'
export { hold, termsOf } from './store-suite/workload.ts'

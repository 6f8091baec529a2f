export { beginBudgets, promoteBudgets } from './budgets.ts'
export { ClaimRound, mergeHeads, type Demander, type Grant } from './claim.ts'
export { CALLER } from './caller.ts'
export { swarmRoute } from './circuits.ts'
export { clientRecordOf } from './clients.ts'
export { evaluationRecordOf, reputationRecordOf } from './evaluations.ts'
export { flushRank, fold, lastRank } from './fold.ts'
export { leftOf } from './left.ts'
export { toReserve } from './quotas.ts'
export * from './rows.ts'
export {
  gone,
  newClient,
  poolAmong,
  ShareBook,
  shareOrderOf,
  type ShareOrder,
  type Placed,
} from './share-book.ts'
export { OPEN, type SharePool } from './share-pools.ts'
export { groupOf } from './queue.ts'
export { scheduleRecordOf } from './schedules.ts'
export { checkpointText } from './steps.ts'
export { shareOf } from './agents.ts'
export { promote, renew, sweep, takeOver } from './upkeep.ts'
export {
  blobReference,
  childKey,
  evaluationKey,
  WorkingSet,
  type Base,
  type Heads,
  type Instant,
  type Surroundings,
} from './working-set.ts'

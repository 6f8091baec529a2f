export { endsWithRejection } from './approval/approval.ts'
export { isChildName } from './child/child.ts'
export { exceeds } from './codec/text-size.ts'
export { isLimit } from './history/replay.ts'
export { labelQuotaKey, limitOfKey } from './quota/quota.ts'
export { beginBudgets, promoteBudgets } from './budget/answer.ts'
export { ClaimRound, mergeHeads, type Demander, type Grant } from './queue/claim.ts'
export { CALLER } from './lease/caller.ts'
export { type BudgetFound, budgetRecordOf } from './budget/view.ts'
export { cancelReason, errorSummary, failureReason } from './explain/ended.ts'
export { retriedIn, sinceText, waitingText } from './explain/words.ts'
export { routeRecords } from './route/view.ts'
export { swarmRecordOf } from './swarm/view.ts'
export { swarmRoute } from './route/observe.ts'
export { wantsCredits } from './ledger/afford.ts'
export { ledgerEntryOf } from './ledger/entry.ts'
export { isFold } from './ledger/fold-ledger.ts'
export { clientRecordOf } from './share/put-client.ts'
export { evaluationRecordOf, reputationRecordOf } from './evaluation/evaluate.ts'
export { flushRank, fold, foldOrder } from './transition/fold.ts'
export { settledFailures, type PassEvent } from './history/settled-failures.ts'
export { memoSeqs, standing, standingMemos, verdictsOf } from './history/standing.ts'
export { startsIn } from './step/starts.ts'
export { leftOf } from './profile/left.ts'
export { NeedsRound } from './transition/needs-round.ts'
export { toReserve } from './quota/hold.ts'
export { accessTokenRecordOf } from './access/access-token.ts'
export * from './access/row.ts'
export * from './approval/row.ts'
export * from './budget/row.ts'
export * from './child/row.ts'
export * from './evaluation/row.ts'
export * from './event/row.ts'
export * from './history/row.ts'
export * from './lease/row.ts'
export * from './ledger/row.ts'
export * from './pipeline/row.ts'
export { hasRoom, partOf, unreadCounts } from './pipeline/log.ts'
export { logOf, storedLog, type StoredLog } from './pipeline/stored.ts'
export * from './profile/row.ts'
export * from './queue/row.ts'
export * from './quota/row.ts'
export * from './retention/row.ts'
export * from './route/row.ts'
export * from './schedule/row.ts'
export * from './share/row.ts'
export * from './step/row.ts'
export * from './submit/row.ts'
export * from './swarm/row.ts'
export * from './task/row.ts'
export * from './wait/row.ts'
export * from './worker/row.ts'
export { noTotals, type TotalsRow } from './store/totals.ts'
export {
  dominantOf,
  gone,
  heldByClient,
  type HeldByTask,
  poolAmong,
  shareOrderOf,
} from './share/share-book.ts'
export { newClient } from './share/new-client.ts'
export type { Placed, ShareOrder, SharePool, Shares } from './share/shares.ts'
export type { Amounts } from './share/dominant.ts'
export { tablesThatAre, type TableName } from './transition/tables.ts'
export { OPEN } from './share/open-pool.ts'
export { groupOf } from './queue/stream.ts'
export { scheduleRecordOf } from './schedule/transitions.ts'
export { checkpointText } from './step/record.ts'
export { shareOf } from './swarm/agents.ts'
export { settleSupervisors } from './supervision/settle-supervisors.ts'
export { renew, sweep, takeOver } from './lease/upkeep.ts'
export { removeGone } from './worker/registry.ts'
export { isSilent, isTakenForGone } from './worker/worker.ts'
export { promote } from './queue/promote.ts'
export type {
  Counted,
  Duties,
  FoldableWanted,
  Kind,
  Kinds,
  Loaded,
  PrunableWanted,
  Wanted,
} from './transition/wanted.ts'
export {
  blobReference,
  childKey,
  entryKey,
  evaluationKey,
  type WorkingSet,
  type Base,
  type Heads,
  type Instant,
  type Surroundings,
} from './transition/working-set.ts'
export { openWorkingSet } from './transition/open-working-set.ts'
export { isPauseRow, pausesIn } from './queue/pause.ts'
export { isOwn } from './worker/is-own.ts'

export { ClaimRound, mergeHeads, type Demander, type Grant } from './claim.ts'
export { flushRank, fold } from './fold.ts'
export { toReserve } from './quotas.ts'
export * from './rows.ts'
export { scheduleRecordOf } from './schedules.ts'
export { promote, renew, sweep, takeOver } from './upkeep.ts'
export {
  blobReference,
  childKey,
  WorkingSet,
  type Base,
  type Heads,
  type Instant,
  type Surroundings,
} from './working-set.ts'

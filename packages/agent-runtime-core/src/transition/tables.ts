import type { Base } from './working-set.ts'

/**
 * How long what a store has loaded of a table counts: `lookedUp` for one flush, `kept` until another process writes, `told` until
 * another process changes the task, in a store that records which tasks those are. A store knows every row of a table that is `whole`, and reads its
 * changes after another process has written.
 */
type Lifetime = 'lookedUp' | 'kept' | 'told' | 'whole'

/** The tables below a flush, by their names in {@link Base}. */
export type TableName = {
  [K in keyof Base]: Base[K] extends ReadonlyMap<never, unknown> ? K : never
}[keyof Base]

/** Every table, named once. */
const lifetimes: Readonly<Record<TableName, Lifetime>> = {
  tasks: 'told',
  leases: 'told',
  streams: 'whole',
  streamsByKey: 'whole',
  streamsByClient: 'whole',
  clients: 'whole',
  workers: 'kept',
  workersNamed: 'lookedUp',
  quotas: 'kept',
  keys: 'lookedUp',
  explicitIds: 'lookedUp',
  heads: 'told',
  memos: 'told',
  outputs: 'kept',
  waits: 'lookedUp',
  signals: 'lookedUp',
  verdicts: 'lookedUp',
  children: 'lookedUp',
  childKeys: 'lookedUp',
  histories: 'lookedUp',
  naming: 'lookedUp',
  blobs: 'lookedUp',
  events: 'lookedUp',
  prunable: 'lookedUp',
  foldable: 'lookedUp',
  schedules: 'lookedUp',
  accessTokens: 'lookedUp',
  budgets: 'lookedUp',
  parked: 'lookedUp',
  evaluations: 'lookedUp',
  entries: 'lookedUp',
  pipelines: 'lookedUp',
  circuits: 'kept',
  usages: 'kept',
  swarms: 'kept',
}

/** The tables of one lifetime. */
export function tablesThatAre(lifetime: Lifetime): readonly TableName[] {
  return (Object.keys(lifetimes) as TableName[]).filter((name) => lifetimes[name] === lifetime)
}

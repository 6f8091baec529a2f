import type { LeaseRow, TaskRow } from '@ku0/agent-runtime-core/transition'
import type { Kept, KeptWanted } from '../engine/database.ts'
import type { Load } from './load.ts'
import type { StoredTables } from './stored-tables.ts'

/** Reads what the engine keeps between flushes. */
export function prepareKeep({ load }: StoredTables, owners: readonly number[]): (wanted: KeptWanted) => Kept {
  return (wanted) => {
    const leases = owners.flatMap((process) => load.running(process))
    const tasks = leases.flatMap(({ task }) => load.task(task) ?? [])
    return keptOf(readsOf(load, owners, wanted), { touched: undefined, leases, tasks })
  }
}

/** What is kept of running tasks. */
interface Running {
  readonly touched: ReadonlySet<number> | undefined
  readonly leases: readonly LeaseRow[]
  readonly tasks: readonly TaskRow[]
}

/** How all but running tasks is read. */
type Reads = { readonly [K in Exclude<keyof Kept, keyof Running>]: () => Kept[K] }

/** `owners`: the processes whose workers are kept. None of the readings builds on another one. */
export function readsOf(
  load: Load,
  owners: readonly number[],
  { since, shares, dominant = false }: KeptWanted,
): Reads {
  return {
    streams: () => (since === undefined ? load.streams() : load.streamsSince(since)),
    clients: () => (shares ? (since === undefined ? load.clients() : load.clientsSince(since)) : []),
    runningByStream: () => (shares ? load.runningByStream() : []),
    heldByStream: () => (dominant ? load.heldByStream() : []),
    quotas: load.quotas,
    circuits: load.work.circuits,
    usages: load.work.usages,
    swarms: load.work.swarms,
    workers: () => owners.flatMap((process) => load.workers(process)),
    totals: load.totals,
    configuration: load.configurations.last,
    scheduleAt: load.nextSchedule,
    budgetAt: load.nextBudget,
    next: () => {
      const [task, lease, stream, worker] = load.next()
      return {
        task: (task ?? 0) + 1,
        lease: (lease ?? 0) + 1,
        stream: (stream ?? 0) + 1,
        worker: (worker ?? 0) + 1,
        client: shares ? load.nextClient() : 1,
      }
    },
  }
}

export function keptOf(reads: Reads, running: Running): Kept {
  const { next, totals, workers, streams, clients, runningByStream, heldByStream } = reads
  const { quotas, circuits, usages, swarms, scheduleAt, budgetAt, configuration } = reads
  return {
    ...running,
    streams: streams(),
    clients: clients(),
    runningByStream: runningByStream(),
    heldByStream: heldByStream(),
    quotas: quotas(),
    circuits: circuits(),
    usages: usages(),
    swarms: swarms(),
    workers: workers(),
    totals: totals(),
    configuration: configuration(),
    scheduleAt: scheduleAt(),
    budgetAt: budgetAt(),
    next: next(),
  }
}

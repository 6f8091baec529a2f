import type { LeaseRow } from '@ku0/agent-runtime-core/transition'
import type { Kept, KeptWanted } from '../engine/database.ts'
import type { StoredTables } from './stored-tables.ts'

/** Reads what the engine keeps between flushes. */
export function prepareKeep({ load }: StoredTables, owners: readonly number[]): (wanted: KeptWanted) => Kept {
  return ({ since, shares }) => {
    const leases = owners.flatMap((process) => load.running(process))
    const [task, lease, stream, worker] = load.next()
    return {
      streams: since === undefined ? load.streams() : load.streamsSince(since),
      clients: shares ? (since === undefined ? load.clients() : load.clientsSince(since)) : [],
      runningByStream: shares ? load.runningByStream() : [],
      quotas: load.quotas(),
      circuits: load.work.circuits(),
      usages: load.work.usages(),
      swarms: load.work.swarms(),
      workers: owners.flatMap((process) => load.workers(process)),
      leases,
      tasks: leases.flatMap((it: LeaseRow) => load.task(it.task) ?? []),
      totals: load.totals(),
      scheduleAt: load.nextSchedule(),
      budgetAt: load.nextBudget(),
      next: {
        task: (task ?? 0) + 1,
        lease: (lease ?? 0) + 1,
        stream: (stream ?? 0) + 1,
        worker: (worker ?? 0) + 1,
        client: shares ? load.nextClient() : 1,
      },
    }
  }
}

import {
  lanes,
  quotaStateOf,
  type ClientRecord,
  type Lane,
  type Read,
  type Reads,
  type ScheduleFilter,
  type StoreStats,
  type WorkerStatus,
} from '@ku0/agent-runtime-core'
import {
  type Amounts,
  clientRecordOf,
  dominantOf,
  heldByClient,
  isPauseRow,
  isSilent,
  isTakenForGone,
  pausesIn,
  readWorkerFlags,
  scheduleRecordOf,
} from '@ku0/agent-runtime-core/transition'
import { REMOTE } from '../process-identity.ts'
import { storedList, storedObject } from '../sqlite/stored.ts'
import type { ReadContext } from './read-context.ts'

/** Answers what is asked of a store as a whole: its workers, counters, schedules and clients. */
export function prepareStoreRecords(context: ReadContext) {
  const { db, tables } = context
  const { load, ids } = tables
  const allWorkers = db.prepare<
    [],
    {
      id: number
      worker_id: string
      process: number
      capacity: number
      draining: number
      types: string
      settings: string | null
      last_seen_at: number
      in_flight: number
    }
  >(
    // Column by column: a later program may add some, and a statement that the server keeps must not change its rows.
    'SELECT id, worker_id, process, capacity, draining, types, settings, last_seen_at, (SELECT count(*) FROM lease WHERE lease.worker = worker.id AND lease.state = 0) AS in_flight FROM worker WHERE registered = 1 ORDER BY worker_id, id',
  )
  const streamsOf = db.prepare<[string, string], { id: number; depth: number }>(
    "SELECT id, depth FROM stream WHERE client = ? AND client <> '' UNION ALL SELECT id, depth FROM stream WHERE client = '' AND ? = ''",
  )

  return { workers, stats, schedules, clients }

  function workers(): WorkerStatus[] {
    const { leaseAt } = context.now()
    const { leaseTtlMs } = context.config
    return allWorkers.all().flatMap((row) => {
      const processId = context.processId(row.process) ?? String(row.process)
      if (processId === REMOTE && isTakenForGone(row.last_seen_at, leaseAt, leaseTtlMs)) return []
      const { draining, drainAsked, lanes: own } = readWorkerFlags(row.draining)
      return {
        workerId: row.worker_id,
        state:
          draining || drainAsked
            ? 'draining'
            : isSilent(row.last_seen_at, leaseAt, leaseTtlMs)
              ? 'silent'
              : row.in_flight > 0
                ? 'busy'
                : 'idle',
        capacity: row.capacity,
        inFlight: row.in_flight,
        lastSeenAt: row.last_seen_at,
        types: storedList<string>(row.types, 'worker.types'),
        ...(own === undefined ? {} : { lanes: [...own] }),
        ...(row.settings === null
          ? {}
          : {
              settings: storedObject(row.settings, 'worker.settings') as NonNullable<
                WorkerStatus['settings']
              >,
            }),
        processId,
      }
    })
  }

  function stats(): StoreStats {
    const depth = { interactive: 0, normal: 0, batch: 0 }
    let delayed = 0
    for (const stream of load.streams()) {
      depth[lanes[stream.laneRank] as Lane] += stream.depth
      delayed += stream.delayed
    }
    const { running, waiting, rejectedPruned: _, ...totals } = load.totals()
    const { at } = context.now()
    const rows = load.quotas()
    const quotas = rows
      .filter((row) => !isPauseRow(row))
      .map((row) => quotaStateOf(context.config.quotaConfig, row, at))
    const paused = pausesIn(rows)
    const deleted = load.retired()
    const configurations = load.configurations.records()
    return {
      depth,
      delayed,
      running,
      waiting,
      totals,
      deleted,
      quotas,
      paused,
      ...(configurations.length === 0 ? {} : { configurations }),
      ...context.local(),
    }
  }

  function schedules({ name, after = '', dueBy, limit = 100 }: ScheduleFilter): Reads['schedules']['answer'] {
    const most = Math.min(1000, Math.max(1, limit))
    const one = name === undefined ? undefined : load.schedule(name)
    const rows =
      name !== undefined
        ? one === undefined
          ? []
          : [one]
        : dueBy === undefined
          ? load.schedulesAfter(after, most)
          : load.schedulesDue(dueBy, most)
    return rows.map((row) => scheduleRecordOf(row, (task) => ids.task(task)))
  }

  function clients({ name, after, limit = 100 }: Read<'clients'>): readonly ClientRecord[] {
    const one = name === undefined ? undefined : load.client(name)
    const most = Math.min(1000, Math.max(1, limit))
    const rows = name === undefined ? load.clientsAfter(after, most) : one === undefined ? [] : [one]
    const inUse = new Map(load.runningByStream())
    const { shares } = context.config
    const held = heldNow()
    return rows.map((row) => {
      const streams = streamsOf.all(row.name, row.name)
      const queued = streams.reduce((sum, { depth }) => sum + depth, 0)
      const running = streams.reduce((sum, { id }) => sum + (inUse.get(id) ?? 0), 0)
      const dominantShare = shares && dominantOf({ ...row, holds: held.get(row.name) ?? {} }, shares)
      return {
        ...clientRecordOf(
          { ...row, queued, running },
          (task) => load.task(task)?.explicitId ?? ids.task(task),
        ),
        ...(dominantShare === undefined ? {} : { dominantShare }),
      }
    })
  }

  /** What the running tasks of each client hold, where dominant shares order clients. */
  function heldNow(): ReadonlyMap<string, Amounts> {
    const { shares } = context.config
    if (shares?.dominant === undefined) return new Map()
    const streams = new Map(load.streams().map((stream) => [stream.id, stream]))
    return heldByClient(load.heldByStream(), shares, (stream) => streams.get(stream))
  }
}

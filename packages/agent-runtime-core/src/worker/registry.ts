import { type Lane, lanes } from '../task/lane.ts'
import type { LeaseRow } from '../lease/row.ts'
import type { Write } from '../store/port.ts'
import { release } from '../task/settle.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { isOwn } from './is-own.ts'
import type { WorkerRow } from './row.ts'
import { isTakenForGone } from './worker.ts'

/** Workers of this process enter the registry, or state a new capacity. Source: Track AA, AA1; `docs/semantics.md 3.2`. */
export function registerWorkers(ws: WorkingSet, it: Write<'registerWorkers'>): boolean {
  const { process, remote } = ws.base
  for (const { workerId, capacity, types, lanes: named, settings } of it.workers) {
    const known = ownWorker(ws, workerId)
    const row: WorkerRow = {
      id: known?.id ?? ws.nextWorker++,
      workerId,
      process: it.remote === true && remote !== undefined ? remote : process,
      capacity: Math.min(capacity, ws.config.maxInFlightPerWorker),
      types,
      ...lanesOf(named),
      ...(settings === undefined ? {} : { settings }),
      draining: false,
      drainAsked: known?.drainAsked ?? false,
      lastSeenAt: ws.now.leaseAt,
      registered: true,
    }
    ws.workers.put(row.id, row)
  }
  return true
}

/** From this commit on the workers are given nothing. Source: `docs/semantics.md 3.2`. */
export function drainWorkers(ws: WorkingSet, it: Write<'drainWorkers'>): boolean {
  for (const workerId of it.workerIds) {
    const row = ownWorker(ws, workerId)
    if (row !== undefined) ws.workers.put(row.id, { ...row, draining: true })
  }
  return true
}

/**
 * Drains workers from outside, or takes that back: those that have this name, in every process. Returns how many there are. A worker whose
 * owner drains it stays drained. Source: `docs/semantics.md 8.10`.
 */
export function askDrain(ws: WorkingSet, { workerId, draining }: Write<'askDrain'>): number {
  const known = [...ws.workers.all(), ...(ws.base.workersNamed.get(workerId) ?? [])]
  const ids = new Set(known.filter((row) => row.workerId === workerId).map(({ id }) => id))
  let count = 0
  for (const id of ids) {
    const row = ws.workers.get(id) ?? known.find((it) => it.id === id)
    if (row?.registered !== true) continue
    count += 1
    if (row.drainAsked !== draining) ws.workers.put(id, { ...row, drainAsked: draining })
  }
  return count
}

/** The workers leave the registry; what they still hold goes back to the queue. Source: `docs/semantics.md` C6, 5.6. */
export function removeWorkers(
  ws: WorkingSet,
  it: Write<'removeWorkers'>,
  running: Iterable<LeaseRow>,
): boolean {
  const leases = [...running]
  for (const workerId of it.workerIds) {
    const row = ownWorker(ws, workerId)
    if (row === undefined) continue
    for (const lease of leases)
      if (lease.worker === row.id && ws.isHeld(lease))
        release(ws, { leaseId: ws.ids.lease(lease.id), reason: 'drained' })
    ws.workers.put(row.id, { ...row, registered: false })
  }
  return true
}

/**
 * Workers on lines leave the registry that were silent for so long that they are taken for gone: nobody sees their death. One that holds a live lease stays until
 * that has ended. Source: `docs/semantics.md` C6.
 */
export function removeGone(ws: WorkingSet, running: Iterable<LeaseRow>): void {
  const { now, config, base } = ws
  const gone = [...ws.workers.all()].filter(
    ({ process, registered, lastSeenAt }) =>
      process === base.remote && registered && isTakenForGone(lastSeenAt, now.leaseAt, config.leaseTtlMs),
  )
  if (gone.length === 0) return
  const holding = new Set<number>()
  for (const lease of running) if (ws.isHeld(lease)) holding.add(lease.worker)
  for (const row of gone) if (!holding.has(row.id)) ws.workers.put(row.id, { ...row, registered: false })
}

/** The lanes that a worker names, in their order, unless it names all. */
function lanesOf(named: readonly Lane[] | undefined): Pick<WorkerRow, 'lanes'> {
  const own = lanes.filter((lane) => named?.includes(lane) !== false)
  return own.length === lanes.length ? {} : { lanes: own }
}

/** The registered worker of this process with this name. */
export function ownWorker(ws: WorkingSet, workerId: string): WorkerRow | undefined {
  for (const row of ws.workers.all())
    if (row.workerId === workerId && isOwn(ws.base, row.process) && row.registered) return row
  return undefined
}

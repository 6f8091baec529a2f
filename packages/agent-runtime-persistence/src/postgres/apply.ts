import { StoreError } from '@ku0/agent-runtime-core'
import type { WorkingSet } from '@ku0/agent-runtime-core/transition'
import {
  blobs,
  checkpoints,
  events,
  keys,
  leases,
  quotas,
  streams,
  tasks,
  totals,
  workers,
} from './tables.ts'
import type { Connection } from './table.ts'
import { unwritten } from './unwritten.ts'

/** Writes what a flush decided, each final row once, one statement a table. */
export async function applyChanges(on: Connection, ws: WorkingSet): Promise<void> {
  refuseUnwritten(ws)
  await streams.put(on, [...ws.streams.changed.values()])
  const changed = [...ws.tasks.changed.values()]
  const isNew = ({ id }: { readonly id: number }) => ws.base.tasks.get(id) === undefined
  await tasks.insert(on, changed.filter(isNew))
  const moved = changed.filter((row) => !isNew(row))
  // A row that moved on since it was read is never overwritten.
  const same = await tasks.update(
    on,
    moved,
    'EXISTS (SELECT FROM unnest($2::bigint[], $3::integer[]) AS before (id, seq) WHERE before.id = old.id AND before.seq = old.seq)',
    [moved.map(({ id }) => id), moved.map(({ id }) => ws.base.tasks.get(id)?.seq)],
  )
  if (same !== moved.length) throw movedOn('task')
  const held = [...ws.leases.changed.values()]
  const isGranted = ({ id }: { readonly id: number }) => ws.base.leases.get(id) === undefined
  await leases.insert(on, held.filter(isGranted))
  const touched = held.filter((row) => !isGranted(row))
  const live = await leases.update(on, touched, "(old.state = 'running' OR old.state = new.state)", [])
  if (live !== touched.length) throw movedOn('lease')
  await events.insert(on, ws.events)
  await blobs.insert(
    on,
    [...ws.blobs.changed].map(([sha256, data]) => ({ sha256, data })),
    'ON CONFLICT DO NOTHING',
  )
  await keys.insert(on, [...ws.keys.changed.values()])
  await checkpoints.put(on, [...ws.checkpoints.values()])
  await quotas.put(on, [...ws.quotas.changed.values()])
  await workers.put(on, [...ws.workers.changed.values()])
  if (ws.totals !== ws.base.totals) await totals.put(on, [{ id: 1, ...ws.totals }])
}

function refuseUnwritten(ws: WorkingSet): void {
  const kinds: readonly (readonly [what: string, changes: { readonly size: number } | readonly unknown[]])[] =
    [
      ['waits', ws.waits.changed],
      ['signals', ws.signals.changed],
      ['children', ws.childRows.changed],
      ['budgets', ws.budgets.changed],
      ['schedules', ws.schedules.changed],
      ['clients', ws.clients.changed],
      ['evaluations', ws.evaluations],
      ['circuits', ws.circuits.changed],
      ['usages', ws.usages.changed],
      ['swarms', ws.swarms.changed],
      ['outputs', ws.outputs],
    ]
  for (const [what, changes] of kinds)
    if (('size' in changes ? changes.size : changes.length) > 0) throw unwritten(`writing ${what}`)
}

function movedOn(what: string): StoreError {
  return new StoreError(
    'store_corrupt',
    `a ${what} has changed since it was read; another program writes this database`,
  )
}

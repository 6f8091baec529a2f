import { leaseStates } from '@ku0/agent-runtime-core'
import type { LeaseRow, WorkingSet } from '@ku0/agent-runtime-core/transition'
import {
  accountText,
  changesClient,
  clientRows,
  codes,
  movedColumns,
  movedOf,
  rareOf,
  taskRow,
} from '../../sqlite/changed-rows.ts'
import { type Statement, statement } from '../connection/statement.ts'
import { deleted, inserted, type Row, updated } from './write.ts'

export function clientsOf(ws: WorkingSet, commit: number): Statement[] {
  const { rows, gone } = clientRows(ws, commit)
  const counted = statement(
    "UPDATE meta SET value = (value::bigint + $1::bigint)::text WHERE key = 'clients_removed'",
    [gone.length],
  )
  return [
    ...deleted(
      'client',
      ['name'],
      gone.map((name) => [name]),
    ),
    ...(gone.length === 0 ? [] : [counted]),
    ...inserted('client', rows, changesClient),
  ]
}

/** `seq` is the row's version: a row that moved on since it was read is never overwritten. */
export function tasksOf({ tasks, base }: WorkingSet): Statement[] {
  const fresh: Row[] = []
  const moved: Row[] = []
  for (const row of tasks.changed.values()) {
    const before = base.tasks.get(row.id)
    if (before !== undefined) moved.push([row.id, before.seq, ...movedOf(row), row.stream, accountText(row)])
    else if (row.id >= base.next.task) fresh.push([...taskRow(row), ...rareOf(row)])
    else throw new Error(`task ${row.id} was changed without having been loaded`)
  }
  return [
    ...inserted('task', fresh),
    ...updated({
      table: 'task',
      key: 'id',
      before: 'seq',
      set: [...movedColumns, 'stream', 'account'],
      rows: moved,
    }),
  ]
}

const heldColumns = [
  'state',
  'expires_at',
  'last_heartbeat_at',
  'ended_at',
  'end_reason',
  'end_seq',
  'yield_asked_at',
  'abort_acknowledged_at',
  'abort_grace_expired_at',
  'progress',
  'progress_at',
] as const

const leaseCode = codes(leaseStates)

/** One that has ended meanwhile is never ended again, nor renewed. */
export function leasesOf({ leases, base }: WorkingSet): Statement[] {
  const granted: Row[] = []
  const held: Row[] = []
  for (const row of leases.changed.values()) {
    const before = base.leases.get(row.id)
    const state = leaseCode[row.state]
    if (before === undefined)
      granted.push([
        row.id,
        row.task,
        row.worker,
        row.process,
        row.attempt,
        row.fence,
        state,
        row.acquiredAt,
        row.expiresAt,
        row.lastHeartbeatAt,
        ...endOf(row),
      ])
    else
      held.push([row.id, leaseCode[before.state], state, row.expiresAt, row.lastHeartbeatAt, ...endOf(row)])
  }
  return [
    ...inserted('lease', granted),
    ...updated({ table: 'lease', key: 'id', before: 'state', set: heldColumns, rows: held }),
  ]
}

function endOf(row: LeaseRow): Row {
  return [
    row.endedAt,
    row.endReason,
    row.endSeq,
    row.yieldAskedAt,
    row.abortAcknowledgedAt,
    row.abortGraceExpiredAt,
    row.progress,
    row.progressAt,
  ]
}

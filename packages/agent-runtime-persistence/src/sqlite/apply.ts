import type { Base, LeaseRow, TaskRow, WorkingSet } from '@ku0/agent-runtime-core/transition'
import { leaseStates, StoreError } from '@ku0/agent-runtime-core'
import type { RunResult } from 'better-sqlite3'
import {
  accountText,
  changedRows,
  changesClient,
  clientRows,
  codes,
  movedColumns,
  movedOf,
  type PlainTable,
  plainTables,
  rareOf,
  streamRow,
  taskRow,
  totalsRow,
} from './changed-rows.ts'
import { excessEvaluations } from './evaluations.ts'
import { prepareLedgerApply } from './ledger.ts'
import { prepareInsert } from './insert.ts'
import { endedTokensUpTo } from './access-tokens.ts'
import { MAX_DELETED, outdated } from './samples.ts'
import { preparePrune } from './prune.ts'
import type { Statements } from './statements.ts'
import { insertInto, into, putInto } from './put.ts'
import { prepareUpdate } from './update.ts'

/** Writes what a flush decided, each final row once. Runs inside the flush's transaction. */
export function prepareApply(db: Statements) {
  // Most tasks have no parent, no account and no budget, and a value that is not bound costs nothing.
  const newTasks = prepareInsert(db, into('task'), [...bound(19), 'NULL', 'NULL', 'NULL'])
  const newRareTasks = prepareInsert(db, into('task'), bound(22))
  // `seq` is the row's version: a row that moved on since it was read is never overwritten.
  const updateTask = db.prepare(
    `UPDATE task SET ${movedColumns.map((name) => `${name} = ?`).join(', ')} WHERE id = ? AND seq = ?`,
  )
  // The two moves of every task, without the columns that only rarer moves change and their indexes.
  const ofTask = { table: 'task', where: { id: '?', seq: '?' }, missed: movedOn } as const
  const startTasks = prepareUpdate(db, {
    ...ofTask,
    set: { state: '1', fence: '?', lease: '?', seq: '?', tail: '?', started_at: '?' },
  })
  const finishTasks = prepareUpdate(db, {
    ...ofTask,
    set: { state: '3', lease: 'NULL', seq: '?', tail: '?', finished_at: '?' },
  })
  const putAccount = db.prepare('UPDATE task SET account = ? WHERE id = ?')
  const moveTask = db.prepare('UPDATE task SET stream = ? WHERE id = ?')
  // Leaves the indexes alone: a step costs no more than its event and this.
  const advanceTasks = prepareUpdate(db, { ...ofTask, set: { steps: '?', seq: '?', tail: '?' } })
  const newLeases = prepareInsert(
    db,
    'lease (id, task, worker, process, attempt, fence, state, acquired_at, expires_at, last_heartbeat_at)',
    [...bound(6), '0', ...bound(3)],
  )
  const endLease = db.prepare(
    'UPDATE lease SET state = ?, ended_at = ?, end_reason = ?, end_seq = ? WHERE id = ? AND state = 0',
  )
  const completeLeases = prepareUpdate(db, {
    table: 'lease',
    set: { state: '1', ended_at: '?', end_reason: "'completed'", end_seq: '?' },
    where: { id: '?', state: '0' },
    missed: ([, , id]) => endedBefore(id),
  })
  const touchLease = db.prepare(
    'UPDATE lease SET expires_at = ?, last_heartbeat_at = ?, yield_asked_at = ?, abort_acknowledged_at = ?, abort_grace_expired_at = ?, progress = ?, progress_at = ? WHERE id = ?',
  )
  const newEvents = prepareInsert(db, 'event (task, seq, type, at, data, hash)', bound(6))
  const insertEvent = db.prepare(insertInto('event'))
  const insertStream = db.prepare(insertInto('stream'))
  const updateStream = db.prepare(
    'UPDATE stream SET depth = ?, delayed = ?, head = ?, place = ?, changed = ? WHERE id = ?',
  )
  const putClient = db.prepare(`${insertInto('client')} ${changesClient}`)
  const deleteClient = db.prepare('DELETE FROM client WHERE name = ?')
  const countRemoval = db.prepare("UPDATE meta SET value = value + 1 WHERE key = 'clients_removed'")
  const plain = preparePlain(db)
  const deleteEvaluations = db.prepare('DELETE FROM evaluation WHERE agent = ? AND seq <= ?')
  const deleteSamples = db.prepare(
    'DELETE FROM sample WHERE (step_ms, type, at, lane_rank) IN (SELECT step_ms, type, at, lane_rank FROM sample WHERE step_ms = ? AND at <= ? ORDER BY at LIMIT ? + 0)',
  )
  const deleteTokens = db.prepare('DELETE FROM access_token WHERE revoked_at <= ? OR expires_at <= ?')
  const insertBlob = db.prepare(`${insertInto('blob')} ON CONFLICT DO NOTHING`)
  const putTotals = db.prepare(
    'UPDATE totals SET submitted = ?, rejected = ?, rejected_pruned = ?, completed = ?, failed = ?, canceled = ?, requeued = ?, expired = ?, preempted = ?, running = ?, waiting = ?',
  )
  const oldestRejected = db
    .prepare<[number], number>('SELECT id FROM task WHERE state = 6 ORDER BY id LIMIT ? + 0')
    .pluck()
  const applyLedger = prepareLedgerApply(db)
  const deleteTask = db.prepare('DELETE FROM task WHERE id = ?')
  const deleteEvents = db.prepare('DELETE FROM event WHERE task = ?')
  const keepHash = db.prepare(
    'INSERT INTO pruned (task, hash, until) SELECT task, hash, ? FROM event WHERE task = ? AND seq = 1',
  )
  const prune = preparePrune(db)

  /** `commit`: the number of the journal's next row, by which other processes find what has changed. */
  return function apply(ws: WorkingSet, commit: number): void {
    // What a flush that failed left behind is not this one's.
    const several = [
      newTasks,
      newRareTasks,
      newLeases,
      newEvents,
      startTasks,
      finishTasks,
      advanceTasks,
      completeLeases,
    ]
    for (const rows of several) rows.drop()
    for (const row of ws.streams.changed.values()) {
      if (ws.base.streams.has(row.id))
        updateStream.run(row.depth, row.delayed, row.head, row.place, commit, row.id)
      else insertStream.run(...streamRow(row, commit))
    }
    const clients = clientRows(ws, commit)
    for (const name of clients.gone) {
      deleteClient.run(name)
      countRemoval.run()
    }
    for (const row of clients.rows) putClient.run(...row)
    for (const row of ws.tasks.changed.values()) writeTask(ws.base, row)
    for (const row of ws.leases.changed.values()) writeLease(ws.base, row)
    for (const row of ws.events) {
      if (row.blob === null) newEvents.add(row.task, row.seq, row.type, row.at, row.data, row.hash)
      else insertEvent.run(row.task, row.seq, row.type, row.at, row.data, row.blob, row.hash)
    }
    for (const rows of several) rows.flush()
    for (const [sha256, data] of ws.blobs.changed) insertBlob.run(sha256, data)
    for (const { table, rows, gone } of changedRows(ws)) {
      const { write, remove } = plain[table]
      for (const key of gone) remove.run(...key)
      for (const row of rows) write.run(...row)
    }
    for (const [agent, upTo] of excessEvaluations(ws)) deleteEvaluations.run(agent, upTo)
    applyLedger(ws)
    for (const [stepMs, upTo] of outdated(ws.samples)) deleteSamples.run(stepMs, upTo, MAX_DELETED)
    const endedUpTo = endedTokensUpTo(ws)
    if (endedUpTo !== undefined) deleteTokens.run(endedUpTo, endedUpTo)
    pruneRejected(ws, commit)
    prune(ws, commit)
    if (ws.totals !== ws.base.totals) putTotals.run(...totalsRow(ws))
  }

  function writeTask(base: Base, row: TaskRow): void {
    const before = base.tasks.get(row.id)
    if (before === undefined && row.id >= base.next.task) {
      if (row.parent === null && row.account === null && row.budget === null) newTasks.add(...taskRow(row))
      else newRareTasks.add(...taskRow(row), ...rareOf(row))
      return
    }
    if (before === undefined) throw new Error(`task ${row.id} was changed without having been loaded`)
    update(before, row)
    if (before.account !== row.account) putAccount.run(accountText(row), row.id)
    if (before.stream !== row.stream) moveTask.run(row.stream, row.id)
  }

  function update(before: TaskRow, row: TaskRow): void {
    const isStep = before.state === 'running' && row.state === 'running' && before.lease === row.lease
    if (before.waits !== row.waits) updateAll(before, row)
    else if (isStep) advanceTasks.add(row.steps, row.seq, row.tail, row.id, before.seq)
    else if (
      before.state === 'queued' &&
      row.state === 'running' &&
      before.dueAt === null &&
      row.seq === before.seq + 1
    )
      startTasks.add(row.fence, row.lease, row.seq, row.tail, row.startedAt, row.id, before.seq)
    else if (before.state === 'running' && row.state === 'completed' && row.steps === before.steps)
      finishTasks.add(row.seq, row.tail, row.finishedAt, row.id, before.seq)
    else updateAll(before, row)
  }

  function updateAll(before: TaskRow, row: TaskRow): void {
    assertMoved(updateTask.run(...movedOf(row), row.id, before.seq), before)
  }

  function writeLease(base: Base, row: LeaseRow): void {
    const before = base.leases.get(row.id)
    if (before === undefined) {
      if (row.state !== 'running' || row.yieldAskedAt !== null || row.progress !== null)
        throw new Error(`lease ${row.id} was granted and changed in one flush`)
      newLeases.add(
        row.id,
        row.task,
        row.worker,
        row.process,
        row.attempt,
        row.fence,
        row.acquiredAt,
        row.expiresAt,
        row.lastHeartbeatAt,
      )
      return
    }
    if (before.state === 'running' && row.state !== 'running') {
      if (row.endReason === 'completed') completeLeases.add(row.endedAt, row.endSeq, row.id)
      else if (
        endLease.run(leaseCode[row.state], row.endedAt, row.endReason, row.endSeq, row.id).changes !== 1
      )
        throw endedBefore(row.id)
    }
    if (isTouched(before, row))
      touchLease.run(
        row.expiresAt,
        row.lastHeartbeatAt,
        row.yieldAskedAt,
        row.abortAcknowledgedAt,
        row.abortGraceExpiredAt,
        row.progress,
        row.progressAt,
        row.id,
      )
  }

  /** Rejected records are bounded: the oldest go when there are more than `maxRejectedKept`. */
  function pruneRejected(ws: WorkingSet, commit: number): void {
    const { rejected, rejectedPruned } = ws.totals
    const excess = rejected - rejectedPruned - ws.config.maxRejectedKept
    if (excess <= 0) return
    const ids = oldestRejected.all(Math.min(excess, 1000))
    for (const id of ids) {
      // The journal is gone through by it, when its event is no more.
      keepHash.run(commit, id)
      deleteEvents.run(id)
      deleteTask.run(id)
    }
    ws.count('rejectedPruned', ids.length)
  }
}

/** How rows of tables are written and deleted that are written whole. */
function preparePlain(db: Statements) {
  const prepared = (Object.keys(plainTables) as PlainTable[]).map((table) => {
    const { key, isFixed } = plainTables[table]
    const isIt = key.map((name) => `${name} = ?`).join(' AND ')
    return [
      table,
      {
        write: db.prepare(isFixed ? insertInto(table) : putInto(table, key)),
        remove: db.prepare(`DELETE FROM ${table} WHERE ${isIt}`),
      },
    ] as const
  })
  return Object.fromEntries(prepared) as Readonly<Record<PlainTable, (typeof prepared)[number][1]>>
}

function assertMoved({ changes }: RunResult, { id, seq }: TaskRow): void {
  if (changes !== 1) throw movedOn([id, seq])
}

/** `given` ends with the task and where it was to stand. */
function movedOn(given: readonly unknown[]): StoreError {
  const [id, seq] = given.slice(-2)
  return new StoreError(
    'store_corrupt',
    `task ${String(id)} is not at seq ${String(seq)} any more; something else writes this database`,
  )
}

function endedBefore(lease: unknown): StoreError {
  return new StoreError(
    'store_corrupt',
    `lease ${String(lease)} is not running any more; something else writes this database`,
  )
}

/** Values of a row that are all bound. */
function bound(columns: number): string[] {
  return Array.from({ length: columns }, () => '?')
}

const leaseCode = codes(leaseStates)

function isTouched(before: LeaseRow, row: LeaseRow): boolean {
  return (
    before.expiresAt !== row.expiresAt ||
    before.yieldAskedAt !== row.yieldAskedAt ||
    before.abortAcknowledgedAt !== row.abortAcknowledgedAt ||
    before.abortGraceExpiredAt !== row.abortGraceExpiredAt ||
    before.progress !== row.progress ||
    before.progressAt !== row.progressAt
  )
}

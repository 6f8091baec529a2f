import type {
  Base,
  BudgetRow,
  ChildRow,
  ClientRow,
  LeaseRow,
  ScheduleRow,
  SignalRow,
  TaskRow,
  WaitRow,
  WorkingSet,
} from '@ku0/agent-runtime-core/transition'
import { storedLog, workerFlags } from '@ku0/agent-runtime-core/transition'
import {
  canonical,
  childPolicies,
  clientTiers,
  leaseStates,
  StoreError,
  taskStates,
  waitKinds,
} from '@ku0/agent-runtime-core'
import type { RunResult } from 'better-sqlite3'
import { prepareEvaluationApply } from './evaluations.ts'
import { prepareLedgerApply } from './ledger.ts'
import { prepareInsert } from './insert.ts'
import { prepareAccessTokenApply } from './access-tokens.ts'
import { prepareSampleApply } from './samples.ts'
import { preparePrune } from './prune.ts'
import type { Statements } from './statements.ts'
import { insertInto, into, putInto } from './put.ts'
import { prepareUpdate } from './update.ts'
import { prepareWorkApply } from './work.ts'

/** Writes what a flush decided, each final row once. Runs inside the flush's transaction. */
export function prepareApply(db: Statements) {
  // Most tasks have no parent, no account and no budget, and a value that is not bound costs nothing.
  const newTasks = prepareInsert(db, into('task'), [...bound(19), 'NULL', 'NULL', 'NULL'])
  const newRareTasks = prepareInsert(db, into('task'), bound(22))
  // `seq` is the row's version: a row that moved on since it was read is never overwritten.
  const updateTask = db.prepare(
    'UPDATE task SET state = ?, attempt = ?, fence = ?, lease = ?, crashes = ?, steps = ?, waits = ?, seq = ?, tail = ?, due_at = ?, queued_at = ?, started_at = ?, finished_at = ?, wait_reason = ? WHERE id = ? AND seq = ?',
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
  // By its name: a number that another client has is a fault, and takes nobody's row.
  const putClient = db.prepare(`${insertInto('client')}
    ON CONFLICT (name) DO UPDATE SET credits = excluded.credits, tier = excluded.tier, time = excluded.time,
      floor = excluded.floor, spent = excluded.spent, changed = excluded.changed, reserved = excluded.reserved,
      entries = excluded.entries`)
  const deleteClient = db.prepare('DELETE FROM client WHERE name = ?')
  const countRemoval = db.prepare("UPDATE meta SET value = value + 1 WHERE key = 'clients_removed'")
  const putWorker = db.prepare(putInto('worker', 'id'))
  const putQuota = db.prepare(putInto('quota', 'key'))
  const insertKey = db.prepare(insertInto('idempotency'))
  const putCheckpoint = db.prepare(putInto('checkpoint', 'task'))
  const insertOutput = db.prepare(insertInto('output'))
  const insertWait = db.prepare(insertInto('wait'))
  const deleteWait = db.prepare('DELETE FROM wait WHERE task = ? AND key = ?')
  const insertSignal = db.prepare(insertInto('signal'))
  const deleteSignal = db.prepare('DELETE FROM signal WHERE task = ? AND seq = ?')
  const putSchedule = db.prepare(putInto('schedule', 'name'))
  const putPipeline = db.prepare(putInto('pipeline', 'task'))
  const putBudget = db.prepare(putInto('budget', 'task'))
  const deleteSchedule = db.prepare('DELETE FROM schedule WHERE name = ?')
  const putChild = db.prepare(putInto('child', 'parent', 'key'))
  const deleteChild = db.prepare('DELETE FROM child WHERE parent = ? AND key = ?')
  const applyWork = prepareWorkApply(db)
  const insertBlob = db.prepare(`${insertInto('blob')} ON CONFLICT DO NOTHING`)
  const putTotals = db.prepare(
    'UPDATE totals SET submitted = ?, rejected = ?, rejected_pruned = ?, completed = ?, failed = ?, canceled = ?, requeued = ?, expired = ?, preempted = ?, running = ?, waiting = ?',
  )
  const oldestRejected = db
    .prepare<[number], number>('SELECT id FROM task WHERE state = 6 ORDER BY id LIMIT ? + 0')
    .pluck()
  const applyEvaluations = prepareEvaluationApply(db)
  const applyLedger = prepareLedgerApply(db)
  const applySamples = prepareSampleApply(db)
  const applyAccessTokens = prepareAccessTokenApply(db)
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
      else
        insertStream.run(
          row.id,
          row.key,
          row.laneRank,
          row.type,
          JSON.stringify(row.quotaKeys),
          row.depth,
          row.delayed,
          row.client,
          row.head,
          row.place,
          commit,
        )
    }
    for (const [name, row] of ws.clients.changed)
      if (row === undefined) {
        deleteClient.run(name)
        countRemoval.run()
      } else if (isChanged(ws.base.clients.get(name), row))
        putClient.run(
          row.id,
          row.name,
          row.credits,
          clientTiers.indexOf(row.tier),
          row.time,
          row.floor,
          row.spent,
          commit,
          row.reserved,
          row.entries,
        )
    for (const row of ws.tasks.changed.values()) writeTask(ws.base, row)
    for (const row of ws.leases.changed.values()) writeLease(ws.base, row)
    for (const row of ws.events) {
      if (row.blob === null) newEvents.add(row.task, row.seq, row.type, row.at, row.data, row.hash)
      else insertEvent.run(row.task, row.seq, row.type, row.at, row.data, row.blob, row.hash)
    }
    for (const rows of several) rows.flush()
    for (const [sha256, data] of ws.blobs.changed) insertBlob.run(sha256, data)
    for (const row of ws.keys.changed.values()) insertKey.run(row.key, row.task, row.payloadHash)
    for (const row of ws.checkpoints.values()) putCheckpoint.run(row.task, row.seq, row.data, row.at)
    for (const row of ws.outputs)
      insertOutput.run(row.task, row.seq, row.attempt, row.at, row.data, row.round)
    for (const [name, row] of ws.schedules.changed) writeSchedule(name, row)
    for (const row of ws.budgets.changed.values()) writeBudget(row)
    for (const { task, terms, log } of ws.pipelines.changed.values())
      putPipeline.run(task, canonical(terms), canonical(storedLog(log)))
    for (const [task, rows] of ws.waits.changed) writeWaits(ws.base, task, rows)
    for (const [task, rows] of ws.signals.changed) writeSignals(ws.base, task, rows)
    for (const row of ws.childRows.changed.values()) writeChild(row)
    if (ws.circuits.changed.size + ws.usages.changed.size + ws.swarms.changed.size > 0) applyWork(ws)
    for (const row of ws.quotas.changed.values())
      putQuota.run(
        row.key,
        row.queued,
        row.running,
        row.windowStart,
        row.windowCount,
        row.windowTokens,
        row.blockedUntil,
      )
    for (const row of ws.workers.changed.values())
      putWorker.run(
        row.id,
        row.workerId,
        row.process,
        row.capacity,
        workerFlags(row),
        JSON.stringify(row.types),
        row.lastSeenAt,
        Number(row.registered),
        row.settings === undefined ? null : JSON.stringify(row.settings),
      )
    applyEvaluations(ws)
    applyLedger(ws)
    if (ws.samples.length > 0) applySamples(ws)
    if (ws.accessTokens.changed.size > 0) applyAccessTokens(ws)
    pruneRejected(ws, commit)
    prune(ws, commit)
    if (ws.totals !== ws.base.totals) {
      const t = ws.totals
      putTotals.run(
        t.submitted,
        t.rejected,
        t.rejectedPruned,
        t.completed,
        t.failed,
        t.canceled,
        t.requeued,
        t.expired,
        t.preempted,
        t.running,
        t.waiting,
      )
    }
  }

  function writeTask(base: Base, row: TaskRow): void {
    const before = base.tasks.get(row.id)
    if (before === undefined && row.id >= base.next.task) {
      const values = [
        row.id,
        row.stream,
        stateCode[row.state],
        row.attempt,
        row.fence,
        row.lease,
        row.crashes,
        row.steps,
        row.waits,
        row.seq,
        row.tail,
        row.submittedAt,
        row.dueAt,
        row.queuedAt,
        row.startedAt,
        row.finishedAt,
        row.waitReason,
        row.tokens,
        row.explicitId,
      ]
      if (row.parent === null && row.account === null && row.budget === null) newTasks.add(...values)
      else newRareTasks.add(...values, row.parent, accountText(row), row.budget)
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
    const done = updateTask.run(
      stateCode[row.state],
      row.attempt,
      row.fence,
      row.lease,
      row.crashes,
      row.steps,
      row.waits,
      row.seq,
      row.tail,
      row.dueAt,
      row.queuedAt,
      row.startedAt,
      row.finishedAt,
      row.waitReason,
      row.id,
      before.seq,
    )
    assertMoved(done, before)
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

  function writeSchedule(name: string, row: ScheduleRow | undefined): void {
    if (row === undefined) {
      deleteSchedule.run(name)
      return
    }
    putSchedule.run(
      name,
      canonical(row.definition),
      Number(row.paused),
      row.createdAt,
      row.changedAt,
      row.nextAt,
      row.lastAt,
      row.lastDueAt,
      row.lastTask,
      row.runs,
      row.rejected,
      row.missed,
      row.skipped,
    )
  }

  function writeBudget(row: BudgetRow): void {
    putBudget.run(
      row.task,
      row.above,
      JSON.stringify(row.limits),
      JSON.stringify(row.soft),
      JSON.stringify(row.used),
      JSON.stringify(row.own),
      row.startedAt,
      row.dueAt,
      row.asked === null ? null : JSON.stringify(row.asked),
      row.asks,
    )
  }

  /** A wait never changes: it opens and it ends. */
  function writeWaits(base: Base, task: number, rows: readonly WaitRow[]): void {
    const before = new Set((base.waits.get(task) ?? []).map(({ key }) => key))
    for (const { key, position, kind, name, dueAt, terms } of rows)
      if (!before.delete(key))
        insertWait.run(
          task,
          key,
          position,
          waitKinds.indexOf(kind),
          name,
          dueAt,
          terms === null ? null : JSON.stringify(terms),
        )
    for (const key of before) deleteWait.run(task, key)
  }

  function writeSignals(base: Base, task: number, rows: readonly SignalRow[]): void {
    const before = new Set((base.signals.get(task) ?? []).map(({ seq }) => seq))
    for (const { seq, name } of rows) if (!before.delete(seq)) insertSignal.run(task, seq, name)
    for (const seq of before) deleteSignal.run(task, seq)
  }

  function writeChild({ parent, key, task, position, policy, seq, state }: ChildRow): void {
    if (state === 'dropped') deleteChild.run(parent, key)
    else
      putChild.run(parent, key, task, position, childPolicies.indexOf(policy), seq, Number(state === 'open'))
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

/** How many tasks it has is told from other rows. */
function isChanged(before: ClientRow | undefined, row: ClientRow): boolean {
  return (
    before === undefined ||
    before.time !== row.time ||
    before.floor !== row.floor ||
    before.credits !== row.credits ||
    before.spent !== row.spent ||
    before.reserved !== row.reserved ||
    before.entries !== row.entries ||
    before.tier !== row.tier
  )
}

function accountText({ account }: TaskRow): string | null {
  return account === null ? null : JSON.stringify(account)
}

/** Values of a row that are all bound. */
function bound(columns: number): string[] {
  return Array.from({ length: columns }, () => '?')
}

const stateCode = codes(taskStates)
const leaseCode = codes(leaseStates)

/** The number that stands for each state. */
function codes<State extends string>(states: readonly State[]): Readonly<Record<State, number>> {
  return Object.fromEntries(states.map((state, code) => [state, code])) as Record<State, number>
}

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

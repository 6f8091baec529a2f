import {
  canonical,
  childPolicies,
  circuitStates,
  clientTiers,
  dimensions,
  leaseStates,
  type Scores,
  taskStates,
  waitKinds,
} from '@ku0/agent-runtime-core'
import type { ClientRow, LeaseRow, TaskRow, WorkingSet } from '@ku0/agent-runtime-core/transition'
import { prunedTasksOf } from './prune.ts'
import { deleted, inserted, put, type Row, type Statement, updated } from './write.ts'

/**
 * What a flush decided as statements, one or two a table, each final row once. `commit`: the number of the journal's next row, by which
 * other processes find what has changed.
 */
export function statementsOf(ws: WorkingSet, commit: number): readonly Statement[] {
  return [
    ...streamsOf(ws, commit),
    ...clientsOf(ws, commit),
    ...tasksOf(ws),
    ...leasesOf(ws),
    ...inserted(
      'event',
      ws.events.map((it) => [it.task, it.seq, it.type, it.at, it.data, it.blob, it.hash]),
    ),
    ...inserted('blob', [...ws.blobs.changed], 'ON CONFLICT DO NOTHING'),
    ...inserted(
      'idempotency',
      Array.from(ws.keys.changed.values(), (it) => [it.key, it.task, it.payloadHash]),
    ),
    ...put(
      'checkpoint',
      ['task'],
      Array.from(ws.checkpoints.values(), (it) => [it.task, it.seq, it.data, it.at]),
    ),
    ...inserted(
      'output',
      ws.outputs.map((it) => [it.task, it.seq, it.attempt, it.at, it.data, it.round]),
    ),
    ...schedulesOf(ws),
    ...budgetsOf(ws),
    ...waitsOf(ws),
    ...signalsOf(ws),
    ...childrenOf(ws),
    ...workOf(ws),
    ...put(
      'quota',
      ['key'],
      Array.from(ws.quotas.changed.values(), (it) => [
        it.key,
        it.queued,
        it.running,
        it.windowStart,
        it.windowCount,
        it.windowTokens,
        it.blockedUntil,
      ]),
    ),
    ...put(
      'worker',
      ['id'],
      Array.from(ws.workers.changed.values(), (it) => [
        it.id,
        it.workerId,
        it.process,
        it.capacity,
        Number(it.draining),
        JSON.stringify(it.types),
        it.lastSeenAt,
        Number(it.registered),
      ]),
    ),
    ...evaluationsOf(ws),
    ...prunedOf(ws, commit),
    ...prunedTasksOf(ws, commit),
    ...totalsOf(ws),
  ]
}

function streamsOf(ws: WorkingSet, commit: number): Statement[] {
  const rows = Array.from(ws.streams.changed.values(), (it) => [
    it.id,
    it.key,
    it.laneRank,
    it.type,
    JSON.stringify(it.quotaKeys),
    it.depth,
    it.delayed,
    it.client,
    it.head,
    it.place,
    commit,
  ])
  return put('stream', ['id'], rows)
}

function clientsOf({ clients, base }: WorkingSet, commit: number): Statement[] {
  const rows: Row[] = []
  const gone: Row[] = []
  for (const [name, row] of clients.changed)
    if (row === undefined) gone.push([name])
    else if (isChanged(base.clients.get(name), row))
      rows.push([
        row.id,
        row.name,
        row.credits,
        clientTiers.indexOf(row.tier),
        row.time,
        row.floor,
        row.spent,
        commit,
      ])
  const counted = {
    text: "UPDATE meta SET value = (value::bigint + $1::bigint)::text WHERE key = 'clients_removed'",
    values: [gone.length],
  }
  return [
    ...deleted('client', ['name'], gone),
    ...(gone.length === 0 ? [] : [counted]),
    // By its name: a number that another client has is a fault, and takes nobody's row.
    ...inserted(
      'client',
      rows,
      `ON CONFLICT (name) DO UPDATE SET credits = excluded.credits, tier = excluded.tier, time = excluded.time,
         floor = excluded.floor, spent = excluded.spent, changed = excluded.changed`,
    ),
  ]
}

/** How many tasks it has is told from other rows. */
function isChanged(before: ClientRow | undefined, row: ClientRow): boolean {
  return (
    before === undefined ||
    before.time !== row.time ||
    before.floor !== row.floor ||
    before.credits !== row.credits ||
    before.spent !== row.spent ||
    before.tier !== row.tier
  )
}

const movedColumns = [
  'stream',
  'state',
  'attempt',
  'fence',
  'lease',
  'crashes',
  'steps',
  'waits',
  'seq',
  'tail',
  'due_at',
  'queued_at',
  'started_at',
  'finished_at',
  'wait_reason',
  'account',
] as const

/** `seq` is the row's version: a row that moved on since it was read is never overwritten. */
function tasksOf({ tasks, base }: WorkingSet): Statement[] {
  const fresh: Row[] = []
  const moved: Row[] = []
  for (const row of tasks.changed.values()) {
    const before = base.tasks.get(row.id)
    if (before !== undefined)
      moved.push([
        row.id,
        before.seq,
        row.stream,
        taskStates.indexOf(row.state),
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
        accountText(row),
      ])
    else if (row.id >= base.next.task)
      fresh.push([
        row.id,
        row.stream,
        taskStates.indexOf(row.state),
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
        row.parent,
        accountText(row),
        row.budget,
      ])
    else throw new Error(`task ${row.id} was changed without having been loaded`)
  }
  return [
    ...inserted('task', fresh),
    ...updated({ table: 'task', key: 'id', before: 'seq', set: movedColumns, rows: moved }),
  ]
}

function accountText({ account }: TaskRow): string | null {
  return account === null ? null : JSON.stringify(account)
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
] as const

/** One that has ended meanwhile is never ended again, nor renewed. */
function leasesOf({ leases, base }: WorkingSet): Statement[] {
  const granted: Row[] = []
  const held: Row[] = []
  for (const row of leases.changed.values()) {
    const before = base.leases.get(row.id)
    const state = leaseStates.indexOf(row.state)
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
      held.push([
        row.id,
        leaseStates.indexOf(before.state),
        state,
        row.expiresAt,
        row.lastHeartbeatAt,
        ...endOf(row),
      ])
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
  ]
}

function schedulesOf({ schedules }: WorkingSet): Statement[] {
  const rows: Row[] = []
  const gone: Row[] = []
  for (const [name, row] of schedules.changed)
    if (row === undefined) gone.push([name])
    else
      rows.push([
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
      ])
  return [...deleted('schedule', ['name'], gone), ...put('schedule', ['name'], rows)]
}

function budgetsOf({ budgets }: WorkingSet): Statement[] {
  const rows = Array.from(budgets.changed.values(), (it) => [
    it.task,
    it.above,
    JSON.stringify(it.limits),
    JSON.stringify(it.soft),
    JSON.stringify(it.used),
    JSON.stringify(it.own),
    it.startedAt,
    it.dueAt,
    it.asked === null ? null : JSON.stringify(it.asked),
    it.asks,
  ])
  return put('budget', ['task'], rows)
}

/** A wait never changes: it opens and it ends. */
function waitsOf({ waits, base }: WorkingSet): Statement[] {
  const opened: Row[] = []
  const ended: Row[] = []
  for (const [task, rows] of waits.changed) {
    const before = new Set((base.waits.get(task) ?? []).map(({ key }) => key))
    for (const { key, position, kind, name, dueAt, terms } of rows)
      if (!before.delete(key))
        opened.push([
          task,
          key,
          position,
          waitKinds.indexOf(kind),
          name,
          dueAt,
          terms === null ? null : JSON.stringify(terms),
        ])
    for (const key of before) ended.push([task, key])
  }
  return [...deleted('wait', ['task', 'key'], ended), ...inserted('wait', opened)]
}

function signalsOf({ signals, base }: WorkingSet): Statement[] {
  const came: Row[] = []
  const taken: Row[] = []
  for (const [task, rows] of signals.changed) {
    const before = new Set((base.signals.get(task) ?? []).map(({ seq }) => seq))
    for (const { seq, name } of rows) if (!before.delete(seq)) came.push([task, seq, name])
    for (const seq of before) taken.push([task, seq])
  }
  return [...deleted('signal', ['task', 'seq'], taken), ...inserted('signal', came)]
}

function childrenOf({ childRows }: WorkingSet): Statement[] {
  const rows: Row[] = []
  const dropped: Row[] = []
  for (const { parent, key, task, position, policy, seq, state } of childRows.changed.values())
    if (state === 'dropped') dropped.push([parent, key])
    else
      rows.push([parent, key, task, position, childPolicies.indexOf(policy), seq, Number(state === 'open')])
  return [...deleted('child', ['parent', 'key'], dropped), ...put('child', ['parent', 'key'], rows)]
}

function workOf({ circuits, usages, swarms }: WorkingSet): Statement[] {
  const circuitRows: Row[] = []
  const usageRows: Row[] = []
  const swarmRows: Row[] = []
  const gone = { circuit: [] as Row[], usage: [] as Row[], swarm: [] as Row[] }
  for (const [route, row] of circuits.changed)
    if (row === undefined) gone.circuit.push([route])
    else
      circuitRows.push([
        route,
        circuitStates.indexOf(row.state),
        row.scar,
        row.scarAt,
        row.openedAt,
        row.probeAt,
        Number(row.unhealthy),
        row.probe,
      ])
  for (const [number, row] of usages.changed) {
    if (row === undefined) {
      gone.usage.push([number])
      continue
    }
    const { task, route, swarm, agent, lease, ...data } = row
    usageRows.push([task, route, swarm, agent, lease, canonical(data)])
  }
  for (const [name, row] of swarms.changed)
    if (row === undefined) gone.swarm.push([name])
    else swarmRows.push([name, canonical(row.terms), row.spentUs, row.spawned, row.createdAt])
  return [
    ...deleted('circuit', ['route'], gone.circuit),
    ...put('circuit', ['route'], circuitRows),
    ...deleted('usage', ['task'], gone.usage),
    ...put('usage', ['task'], usageRows),
    ...deleted('swarm', ['name'], gone.swarm),
    ...put('swarm', ['name'], swarmRows),
  ]
}

/** What is more than `maxEvaluationsKept` of an agent goes, the oldest first. */
function evaluationsOf(ws: WorkingSet): Statement[] {
  const rows = ws.evaluations.map((it) => [
    it.agent,
    it.seq,
    it.at,
    it.domain,
    scoresText(it.scores),
    JSON.stringify(it.missing),
    it.composite,
    it.reputation,
    it.distance,
    it.change,
    it.taskId,
    it.key,
  ])
  const standing: Row[] = []
  const excess: Row[] = []
  for (const it of ws.reputations.values()) {
    standing.push([
      it.agent,
      it.reputation,
      it.evaluations,
      scoresText(it.average),
      scoresText(it.latest),
      it.lastAt,
    ])
    const most = it.evaluations - ws.config.maxEvaluationsKept
    if (most > 0) excess.push([it.agent, most])
  }
  return [
    ...inserted('evaluation', rows),
    ...put('reputation', ['agent'], standing),
    ...deleted('evaluation', ['agent', 'seq'], excess, '<='),
  ]
}

function scoresText(scores: Scores): string {
  return JSON.stringify(dimensions.map((dimension) => scores[dimension]))
}

/** Rejected records are bounded: the oldest go when there are more than `maxRejectedKept`. */
function prunedOf(ws: WorkingSet, commit: number): Statement[] {
  const { rejected, rejectedPruned } = ws.totals
  const excess = Math.min(rejected - rejectedPruned - ws.config.maxRejectedKept, 1000)
  if (excess <= 0) return []
  ws.count('rejectedPruned', excess)
  const oldest = '(SELECT id FROM task WHERE state = 6 ORDER BY id LIMIT $1::bigint)'
  return [
    // The journal is gone through by it, when its event is no more.
    {
      text: `INSERT INTO pruned SELECT task, hash, $2::bigint FROM event WHERE task IN ${oldest} AND seq = 1`,
      values: [excess, commit],
    },
    { text: `DELETE FROM event WHERE task IN ${oldest}`, values: [excess] },
    {
      text: `WITH done AS (DELETE FROM task WHERE id IN ${oldest} RETURNING 1) SELECT must_be((SELECT count(*) FROM done), $1::bigint, 'task')`,
      values: [excess],
    },
  ]
}

function totalsOf({ totals, base }: WorkingSet): Statement[] {
  if (totals === base.totals) return []
  const t = totals
  return put(
    'totals',
    ['id'],
    [
      [
        1,
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
      ],
    ],
  )
}

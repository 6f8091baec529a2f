import {
  canonical,
  childPolicies,
  circuitStates,
  clientTiers,
  taskStates,
  waitKinds,
} from '@ku0/agent-runtime-core'
import {
  type ClientRow,
  storedLog,
  type StreamRow,
  type TaskRow,
  workerFlags,
  type WorkingSet,
} from '@ku0/agent-runtime-core/transition'
import { accessTokenRow } from './access-tokens.ts'
import type { ColumnOf, TableName } from './columns.ts'
import { scoresText } from './evaluations.ts'
import { sampleRow } from './samples.ts'

/** Values in the order of the columns of a table, or of its key. */
type Values = readonly unknown[]

/** What a flush changed in a table: rows as they are now, each once, and the keys of those that are gone. */
export interface ChangedRows {
  readonly table: PlainTable
  readonly rows: readonly Values[]
  readonly gone: readonly Values[]
}

/** The tables whose rows are written whole, with the columns of their keys. Rows that are fixed never change: they come and they go. */
export const plainTables = {
  access_token: { key: ['name'], isFixed: false },
  budget: { key: ['task'], isFixed: false },
  checkpoint: { key: ['task'], isFixed: false },
  child: { key: ['parent', 'key'], isFixed: false },
  circuit: { key: ['route'], isFixed: false },
  evaluation: { key: ['agent', 'seq'], isFixed: true },
  idempotency: { key: ['key'], isFixed: true },
  output: { key: ['task', 'seq'], isFixed: true },
  pipeline: { key: ['task'], isFixed: false },
  quota: { key: ['key'], isFixed: false },
  reputation: { key: ['agent'], isFixed: false },
  sample: { key: ['step_ms', 'type', 'at', 'lane_rank'], isFixed: false },
  schedule: { key: ['name'], isFixed: false },
  signal: { key: ['task', 'seq'], isFixed: true },
  swarm: { key: ['name'], isFixed: false },
  usage: { key: ['task'], isFixed: false },
  wait: { key: ['task', 'key'], isFixed: true },
  worker: { key: ['id'], isFixed: false },
} as const satisfies {
  readonly [T in TableName]?: { readonly key: readonly ColumnOf<T>[]; readonly isFixed: boolean }
}

export type PlainTable = keyof typeof plainTables

/** The rows of {@link plainTables} that a flush changed, for either database. */
export function changedRows(ws: WorkingSet): readonly ChangedRows[] {
  const all = [
    put('idempotency', ws.keys.changed.values(), (it) => [it.key, it.task, it.payloadHash]),
    put('checkpoint', ws.checkpoints.values(), (it) => [it.task, it.seq, it.data, it.at]),
    put('output', ws.outputs, (it) => [it.task, it.seq, it.attempt, it.at, it.data, it.round]),
    kept('schedule', ws.schedules.changed, (it, name) => [
      name,
      canonical(it.definition),
      Number(it.paused),
      it.createdAt,
      it.changedAt,
      it.nextAt,
      it.lastAt,
      it.lastDueAt,
      it.lastTask,
      it.runs,
      it.rejected,
      it.missed,
      it.skipped,
    ]),
    put('budget', ws.budgets.changed.values(), (it) => [
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
    ]),
    put('pipeline', ws.pipelines.changed.values(), ({ task, terms, log }) => [
      task,
      canonical(terms),
      canonical(storedLog(log)),
    ]),
    ofTasks('wait', {
      now: ws.waits.changed,
      before: ws.base.waits,
      key: ({ key }) => key,
      values: ({ key, position, kind, name, dueAt, terms }) => [
        key,
        position,
        waitKinds.indexOf(kind),
        name,
        dueAt,
        terms === null ? null : JSON.stringify(terms),
      ],
    }),
    ofTasks('signal', {
      now: ws.signals.changed,
      before: ws.base.signals,
      key: ({ seq }) => seq,
      values: ({ seq, name }) => [seq, name],
    }),
    children(ws),
    kept('circuit', ws.circuits.changed, (it, route) => [
      route,
      circuitStates.indexOf(it.state),
      it.scar,
      it.scarAt,
      it.openedAt,
      it.probeAt,
      Number(it.unhealthy),
      it.probe,
    ]),
    kept('usage', ws.usages.changed, ({ task, route, swarm, agent, lease, ...data }) => [
      task,
      route,
      swarm,
      agent,
      lease,
      canonical(data),
    ]),
    kept('swarm', ws.swarms.changed, (it, name) => [
      name,
      canonical(it.terms),
      it.spentUs,
      it.spawned,
      it.createdAt,
    ]),
    put('quota', ws.quotas.changed.values(), (it) => [
      it.key,
      it.queued,
      it.running,
      it.windowStart,
      it.windowCount,
      it.windowTokens,
      it.blockedUntil,
    ]),
    put('worker', ws.workers.changed.values(), (it) => [
      it.id,
      it.workerId,
      it.process,
      it.capacity,
      workerFlags(it),
      JSON.stringify(it.types),
      it.lastSeenAt,
      Number(it.registered),
      it.settings === undefined ? null : JSON.stringify(it.settings),
    ]),
    put('evaluation', ws.evaluations, (it) => [
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
    ]),
    put('reputation', ws.reputations.values(), (it) => [
      it.agent,
      it.reputation,
      it.evaluations,
      scoresText(it.average),
      scoresText(it.latest),
      it.lastAt,
    ]),
    samples(ws),
    put('access_token', ws.accessTokens.changed.values(), accessTokenRow),
  ]
  return all.filter(({ rows, gone }) => rows.length > 0 || gone.length > 0)
}

function put<Row>(table: PlainTable, rows: Iterable<Row>, values: (row: Row) => Values): ChangedRows {
  return { table, rows: Array.from(rows, values), gone: [] }
}

/** Rows of which some are dropped. */
function kept<Key, Row>(
  table: PlainTable,
  changed: ReadonlyMap<Key, Row | undefined>,
  values: (row: Row, key: Key) => Values,
): ChangedRows {
  const rows: Values[] = []
  const gone: Values[] = []
  for (const [key, row] of changed)
    if (row === undefined) gone.push([key])
    else rows.push(values(row, key))
  return { table, rows, gone }
}

interface OfTask<Row> {
  readonly now: ReadonlyMap<number, readonly Row[]>
  readonly before: ReadonlyMap<number, readonly Row[]>
  /** What a row has besides its task, the rest of the key first. */
  readonly values: (row: Row) => Values
  readonly key: (row: Row) => unknown
}

/** Rows that a task has several of, and that never change: they come and they go. */
function ofTasks<Row>(table: PlainTable, { now, before, values, key }: OfTask<Row>): ChangedRows {
  const rows: Values[] = []
  const gone: Values[] = []
  for (const [task, own] of now) {
    const others = new Set((before.get(task) ?? []).map(key))
    for (const row of own) if (!others.delete(key(row))) rows.push([task, ...values(row)])
    for (const it of others) gone.push([task, it])
  }
  return { table, rows, gone }
}

function children({ childRows }: WorkingSet): ChangedRows {
  const rows: Values[] = []
  const gone: Values[] = []
  for (const { parent, key, task, position, policy, seq, state } of childRows.changed.values())
    if (state === 'dropped') gone.push([parent, key])
    else
      rows.push([parent, key, task, position, childPolicies.indexOf(policy), seq, Number(state === 'open')])
  return { table: 'child', rows, gone }
}

/** Of the same step, type and lane the last one counts. */
function samples({ samples: given }: WorkingSet): ChangedRows {
  const rows = new Map(given.map((it) => [`${it.stepMs} ${it.at} ${it.lane} ${it.type}`, sampleRow(it)]))
  return { table: 'sample', rows: [...rows.values()], gone: [] }
}

/** The sums of a store, in the order of their columns after the first. */
export function totalsRow({ totals: it }: WorkingSet): Values {
  return [
    it.submitted,
    it.rejected,
    it.rejectedPruned,
    it.completed,
    it.failed,
    it.canceled,
    it.requeued,
    it.expired,
    it.preempted,
    it.running,
    it.waiting,
  ]
}

/** A task, up to what most have none of: see {@link rareOf}. */
export function taskRow(it: TaskRow): Values {
  return [
    it.id,
    it.stream,
    stateCode[it.state],
    it.attempt,
    it.fence,
    it.lease,
    it.crashes,
    it.steps,
    it.waits,
    it.seq,
    it.tail,
    it.submittedAt,
    it.dueAt,
    it.queuedAt,
    it.startedAt,
    it.finishedAt,
    it.waitReason,
    it.tokens,
    it.explicitId,
  ]
}

/** The last columns of a task. */
export function rareOf(it: TaskRow): readonly [parent: unknown, account: string | null, budget: unknown] {
  return [it.parent, accountText(it), it.budget]
}

export function accountText({ account }: TaskRow): string | null {
  return account === null ? null : JSON.stringify(account)
}

/** The columns of a task that change as it moves, but for its stream and its account. */
export const movedColumns = [
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
] as const satisfies readonly ColumnOf<'task'>[]

/** What stands in {@link movedColumns}. */
export function movedOf(it: TaskRow): Values {
  return [
    stateCode[it.state],
    it.attempt,
    it.fence,
    it.lease,
    it.crashes,
    it.steps,
    it.waits,
    it.seq,
    it.tail,
    it.dueAt,
    it.queuedAt,
    it.startedAt,
    it.finishedAt,
    it.waitReason,
  ]
}

const stateCode = codes(taskStates)

/** The number that stands for each state. */
export function codes<State extends string>(states: readonly State[]): Readonly<Record<State, number>> {
  return Object.fromEntries(states.map((state, code) => [state, code])) as Record<State, number>
}

/** A stream. `commit`: see {@link clientRows}. */
export function streamRow(it: StreamRow, commit: number): Values {
  return [
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
  ]
}

/** The clients that changed, and the names of those that were removed. `commit`: the number of the journal's next row, by which other processes find them. */
export function clientRows(
  { clients, base }: WorkingSet,
  commit: number,
): { readonly rows: readonly Values[]; readonly gone: readonly string[] } {
  const rows: Values[] = []
  const gone: string[] = []
  for (const [name, it] of clients.changed)
    if (it === undefined) gone.push(name)
    else if (isChanged(base.clients.get(name), it))
      rows.push([
        it.id,
        it.name,
        it.credits,
        clientTiers.indexOf(it.tier),
        it.time,
        it.floor,
        it.spent,
        commit,
        it.reserved,
        it.entries,
        it.asks === null ? null : JSON.stringify(it.asks),
      ])
  return { rows, gone }
}

/** What becomes of a client whose name is there. Its number stays: one that another client has is a fault, and takes nobody's row. */
export const changesClient = `ON CONFLICT (name) DO UPDATE SET credits = excluded.credits, tier = excluded.tier, time = excluded.time,
  floor = excluded.floor, spent = excluded.spent, changed = excluded.changed, reserved = excluded.reserved, entries = excluded.entries, asks = excluded.asks`

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
    before.asks !== row.asks ||
    before.tier !== row.tier
  )
}

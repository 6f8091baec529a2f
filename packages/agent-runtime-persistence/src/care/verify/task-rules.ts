import {
  approvalTimeouts,
  type ApprovalTerms,
  canonical,
  childPolicies,
  type EventData,
  foldEvents,
  handOverKey,
  isHandOver,
  type IdCodec,
  isFinal,
  laneRank,
  type LeaseEndReason,
  type LeaseState,
  MICRO,
  pastFailure,
  quotaKeysOf,
  rejectionPolicies,
  usageOf,
  PIPELINE_KEY,
  accountPromise,
} from '@ku0/agent-runtime-core'
import { CALLER, missedText, type PlainEvent, type TaskRow } from '@ku0/agent-runtime-core/transition'
import { type Hashes, prepareIntegrity } from '../../sqlite/integrity.ts'
import type { Load } from '../../sqlite/load.ts'
import type { Db } from '../../sqlite/open.ts'
import { Statements } from '../../sqlite/statements.ts'
import { costBy, ends, spentIn } from '../../views/spent.ts'
import type { Faults } from './faults.ts'
import type { Tally } from './tally.ts'

interface Context {
  readonly db: Db
  readonly load: Load
  readonly ids: IdCodec
  readonly fenceFloors: readonly number[]
  readonly hashes: Hashes
  readonly faults: Faults
  readonly tally: Tally
}

/** `forget`: a new transaction begins. */
export interface TaskRules {
  readonly checkTask: (row: TaskRow) => void
  readonly forget: () => void
}

type Data = Partial<Record<string, unknown>>

/** An event with its data read. */
interface ReadEvent extends PlainEvent {
  readonly it: Data
}

/**
 * Checks a task: its events by their chain, then its row, and whatever else is kept of it, against what the events make of it. Counts
 * what the sums of the store are compared with. Call it in a transaction. Source: `docs/reliability.md` I4, I5, I10, I15-I17, I22.
 */
export function prepareTaskRules({ db, load, ids, fenceFloors, hashes, faults, tally }: Context): TaskRules {
  const faultOf = prepareIntegrity({ db: new Statements(db), load, hashes })
  const workerName = db.prepare<[number], string>('SELECT worker_id FROM worker WHERE id = ?').pluck()
  const streamOf = db.prepare<[number], StreamColumns>(
    'SELECT lane_rank, type, client, quota_keys FROM stream WHERE id = ?',
  )
  const coveredSince = db
    .prepare<[string, number, number], number>(
      'SELECT 1 FROM ledger WHERE client = ? AND seq > ? AND credits >= ? LIMIT 1',
    )
    .pluck()
  const foldedSince = db
    .prepare<[string, number], number>('SELECT 1 FROM folded WHERE client = ? AND entries > ?')
    .pluck()
  const blocked = db.prepare<[], string>('SELECT key FROM quota WHERE blocked_until > 0').pluck()
  const signalsOf = db
    .prepare<[number], [seq: number, name: string]>(
      'SELECT seq, name FROM signal WHERE task = ? ORDER BY seq',
    )
    .raw()
  const checkpointOf = db.prepare<[number], { seq: number; data: string; at: number }>(
    'SELECT seq, data, at FROM checkpoint WHERE task = ?',
  )
  const outputOf = db.prepare<[number], typeof noOutput>(
    'SELECT count(*) AS count, coalesce(min(seq), 1) AS first, coalesce(max(seq), 0) AS last FROM output WHERE task = ?',
  )
  const hasUsage = db.prepare<[number], number>('SELECT 1 FROM usage WHERE task = ?').pluck()
  const childTask = db.prepare<[number], number | null>('SELECT parent FROM task WHERE id = ?').pluck()

  /** Most tasks have none of these: where the next rows are saves a look for each. */
  const ahead = {
    waits: lookAhead(db, 'wait', 'task'),
    signals: lookAhead(db, 'signal', 'task'),
    children: lookAhead(db, 'child', 'parent'),
    checkpoints: lookAhead(db, 'checkpoint', 'task'),
    outputs: lookAhead(db, 'output', 'task'),
  }

  /** Quota keys that a provider has blocked, now or before. */
  let blockedKeys: readonly string[] | undefined

  return {
    checkTask,
    forget: () => {
      for (const table of Object.values(ahead)) table.forget()
      blockedKeys = undefined
    },
  }

  function checkTask(row: TaskRow): void {
    const events: PlainEvent[] = []
    const fault = faultOf(row, (event) => events.push(event))
    tally.task(row)
    if (fault !== undefined) {
      faults.event(row.id, fault.seq, fault.expected, fault.actual)
      return
    }
    faults.reading(`task ${row.id}`, () => {
      const read = events.map((event) => ({ ...event, it: JSON.parse(event.data) as Data }))
      const folded = foldEvents(events, fenceFloors)
      for (const problem of folded.problems)
        faults.add('event', `task ${row.id}`, 'a history that can be', problem)
      for (const event of read) tally.event(event)
      checkRow(row, read, folded)
      checkPromise(row, read)
      checkLeases(row, read)
      checkWaits(row, read, folded)
      checkChildren(row, read, folded)
      checkKey(row, read, folded)
      checkCheckpoint(row, read)
      const output = (ahead.outputs.has(row.id) ? outputOf.get(row.id) : undefined) ?? noOutput
      faults.same(`task ${row.id}, first chunk of output`, 1, output.first)
      faults.same(`task ${row.id}, output`, output.last, output.count)
      if (row.budget !== null) tally.spend(row.budget, spentIn(read))
    })
  }

  function checkRow(row: TaskRow, events: readonly ReadEvent[], folded: Folded): void {
    const { row: told } = folded
    const [first] = events
    const it = (first?.it ?? {}) as Partial<EventData['task.queued']>
    const parent = it.parentId === undefined ? null : numberOf(it.parentId)
    const starts = events.filter(({ type }) => type === 'task.started')
    const above = parent === null || parent === undefined ? null : load.task(parent)
    // Its parent was deleted before it, as retention does: which budget was above is not known any more.
    const isOrphan = above === undefined
    const budgetAbove = isOrphan ? row.budget : (above?.budget ?? null)
    const expected: Readonly<Record<string, unknown>> = {
      state: told['state'],
      attempt: told['attempt'],
      crashes: told['crashes'],
      steps: told['steps'],
      submittedAt: first?.at,
      startedAt: told['startedAt'],
      finishedAt: told['finishedAt'],
      waitReason: told['waitingFor'],
      fence: starts.at(-1)?.it['fencingToken'] ?? 0,
      lease: told['state'] === 'running' ? starts.at(-1)?.it['dispatch'] : null,
      tokens: it.tokens ?? 0,
      parent,
      budget: it.budget === undefined ? budgetAbove : row.id,
    }
    for (const [column, value] of Object.entries(expected))
      faults.same(`task ${row.id}, ${column}`, value, row[column as keyof TaskRow])
    if (it.budget !== undefined) {
      const budget = load.budget(row.id)
      if (budget === undefined) faults.add('row', `task ${row.id}, its budget`, 'a budget', 'none')
      else {
        const where = `task ${row.id}, its budget`
        if (!isOrphan) faults.same(`${where}, above`, budgetAbove, budget.above)
        faults.same(`${where}, own use`, canonical(spentIn(events)), canonical(budget.own))
      }
    }
    if (it.swarm !== undefined && !isFinal(row.state) && hasUsage.get(row.id) === undefined)
      faults.add('row', `task ${row.id}, its usage of swarm ${it.swarm}`, 'a usage', 'none')
    // The row itself is held against its log apart.
    const isPipeline = events.some(
      ({ type, it: { key } }) => type === 'step.completed' && key === PIPELINE_KEY,
    )
    if (isPipeline && load.pipeline(row.id) === undefined)
      faults.add('row', `task ${row.id}, its pipeline`, 'a pipeline', 'none')
    checkTimes(row, events, folded)
    checkAccount(row, it, starts, told)
    if (row.state === 'rejected') return
    const stream = row.stream === null ? undefined : streamOf.get(row.stream)
    faults.same(`task ${row.id}, type of its stream`, it.type, stream?.type)
    faults.same(`task ${row.id}, lane of its stream`, it.lane && laneRank[it.lane], stream?.lane_rank)
    if (stream === undefined) return
    if (stream.client !== '' && stream.client !== it.client)
      faults.add('row', `task ${row.id}, client of its stream`, it.client, stream.client)
    checkQuotaKeys(row, { ...it, ...fallenBack(events) }, stream)
    checkAsk(row, events, stream)
    const { account } = row
    if (isFinal(row.state) && account !== null && account.charge !== null)
      tally.cost(stream.client, costBy(events) || account.cost)
  }

  /** A task in the queue that asked for credits is what its client asks for, until an entry of the ledger covers it. */
  function checkAsk(row: TaskRow, events: readonly ReadEvent[], { client: name }: StreamColumns): void {
    const asking = events.findLast(({ type }) => type === 'credits.asked')
    const entry = asking?.it['entry'] as number | undefined
    faults.same(`task ${row.id}, asked`, entry, row.account?.asked)
    if (asking === undefined || entry === undefined || row.state !== 'queued') return
    // Its start, without credits or without a ledger by then, ended what it asked for.
    if (events.findLast(({ type }) => type === 'task.started' || type === 'credits.asked') !== asking) return
    const asks = load.client(name)?.asks ?? null
    const cost = row.account?.cost ?? MICRO
    const expected = { task: row.id, at: asking.at, cost }
    if (asks?.task === row.id) faults.same(`client ${name}, asks`, canonical(expected), canonical(asks))
    else if (coveredSince.get(name, entry, cost) === undefined && foldedSince.get(name, entry) === undefined)
      faults.add('row', `client ${name}, asks`, expected, asks)
  }

  /** Keys that the task names: which of them depends on what was limited when it came, but not for one that was ever blocked. */
  function checkQuotaKeys(
    row: TaskRow,
    names: Partial<EventData['task.queued']>,
    { quota_keys: text }: StreamColumns,
  ): void {
    blockedKeys ??= blocked.all()
    if (text === '[]' && blockedKeys.length === 0) return
    const held = JSON.parse(text) as readonly string[]
    const named = quotaKeysOf(names)
    const mustHold = isFinal(row.state) ? [] : blockedKeys
    const expected = named.filter((key) => held.includes(key) || mustHold.includes(key))
    faults.same(`task ${row.id}, quota keys of its stream`, textOf(expected), textOf(held))
  }

  /** A time that came is forgotten: then it was queued at that time. */
  function checkTimes(row: TaskRow, events: readonly ReadEvent[], { waitDueAt }: Folded): void {
    const queuing = events.findLast(({ type }) => queues.has(type))
    const dueAt =
      row.state === 'queued' ? (queuing?.it['dueAt'] as number | undefined) : (waitDueAt ?? undefined)
    if (row.dueAt === null ? row.state === 'waiting' && dueAt !== undefined : row.dueAt !== dueAt)
      faults.add('row', `task ${row.id}, dueAt`, dueAt, row.dueAt)
    const times = queuing === undefined ? [row.submittedAt] : [queuing.at, queuing.it['dueAt']]
    if (!times.includes(row.queuedAt)) faults.add('row', `task ${row.id}, queuedAt`, times, row.queuedAt)
  }

  function checkAccount(
    row: TaskRow,
    { cost, outOfCredits, labels }: Partial<EventData['task.queued']>,
    starts: readonly ReadEvent[],
    told: Folded['row'],
  ): void {
    const { account } = row
    if (account === null) {
      if (cost !== undefined || told['used'] !== undefined || accountPromise(labels) !== undefined)
        faults.add('row', `task ${row.id}, account`, { cost, used: told['used'] }, null)
      return
    }
    faults.same(`task ${row.id}, cost`, Math.round((cost ?? 1) * MICRO), account.cost)
    faults.same(`task ${row.id}, outOfCredits`, outOfCredits, account.outOfCredits)
    faults.same(`task ${row.id}, promised`, textOf(accountPromise(labels)), textOf(account.promised))
    const used = account.used === null ? undefined : usageOf(account.used)
    faults.same(`task ${row.id}, used`, textOf(told['used']), textOf(used))
    const reserved = starts.find(({ it }) => it['reserved'] !== undefined)?.it['reserved']
    faults.same(`task ${row.id}, reserved`, reserved, account.reserved)
    const charge = starts.find(({ it }) => it['charge'] !== undefined)?.it['charge']
    faults.same(`task ${row.id}, charge`, charge, account.charge)
    for (const time of [account.place ?? 0, account.reservedAt ?? 0])
      if (!Number.isSafeInteger(time)) faults.add('row', `task ${row.id}, account`, 'whole numbers', account)
  }

  /** A task that ends later than was promised says so right before its end, in the same commit, and no other does. */
  function checkPromise(row: TaskRow, events: readonly ReadEvent[]): void {
    const index = events.findIndex(({ type }) => ends.has(type))
    const end = events[index]
    const expected = end && missedText(row, end.at)
    const told = events.flatMap(({ seq, type, at, data }) => {
      if (type !== 'agreement.missed') return []
      return seq === index && at === end?.at ? [data] : [`event ${seq}: ${data}`]
    })
    if (expected !== undefined || told.length > 0)
      faults.same(`task ${row.id}, agreement.missed`, expected ?? 'none', told.join(', ') || 'none')
  }

  /** Each start names its lease, and what came next ended it. */
  function checkLeases(row: TaskRow, events: readonly ReadEvent[]): void {
    for (const [index, { type, it }] of events.entries()) {
      if (type !== 'task.started') continue
      const { dispatch, attempt, workerId, fencingToken } = it as unknown as EventData['task.started']
      const lease = load.lease(dispatch)
      const where = `task ${row.id}, lease ${dispatch}`
      if (lease === undefined) {
        faults.add('row', where, 'a lease', 'none')
        continue
      }
      const end = events.slice(index + 1).find((event) => leaveRunning.has(event.type))
      const { state, reasons } = end === undefined ? alive : endingOf(end)
      const worker = lease.worker === CALLER ? 'caller' : workerName.get(lease.worker)
      faults.same(`${where}, task`, row.id, lease.task)
      faults.same(`${where}, attempt`, attempt, lease.attempt)
      faults.same(`${where}, fence`, fencingToken, lease.fence)
      faults.same(`${where}, worker`, workerId, worker)
      faults.same(`${where}, state`, state, lease.state)
      faults.same(`${where}, endSeq`, end?.seq, lease.endSeq)
      if (!reasons.includes(lease.endReason))
        faults.add('row', `${where}, endReason`, reasons.join(' or '), lease.endReason)
      if (lease.acquiredAt > lease.lastHeartbeatAt || lease.lastHeartbeatAt > lease.expiresAt)
        faults.add('row', `${where}, times`, 'acquired, renewed and expiring in this order', [
          lease.acquiredAt,
          lease.lastHeartbeatAt,
          lease.expiresAt,
        ])
    }
  }

  function checkWaits(row: TaskRow, events: readonly ReadEvent[], { waits, signals }: Folded): void {
    const open = ahead.waits.has(row.id) ? load.waits(row.id) : []
    const found = open.map(({ key, position, kind, name, dueAt }) => ({
      key,
      position,
      kind,
      ...(name === null ? {} : { name }),
      ...(dueAt === null ? {} : { dueAt }),
    }))
    if (found.length > 0 || waits.length > 0)
      faults.same(`task ${row.id}, open waits`, textOf(waits), textOf(found))
    const unread = ahead.signals.has(row.id) ? signalsOf.all(row.id) : []
    if (unread.length > 0 || signals.size > 0)
      faults.same(`task ${row.id}, unread signals`, textOf([...signals]), textOf(unread))
    const children = ahead.children.has(row.id) ? load.openChildren(row.id).length : 0
    faults.same(`task ${row.id}, waits`, open.length + unread.length + children, row.waits)
    for (const { key, kind, terms } of open)
      if (terms !== null) checkTerms(row, events, key, terms)
      else if (kind === 'approval') faults.add('row', `task ${row.id}, approval ${key}`, 'terms', 'none')
  }

  function checkTerms(row: TaskRow, events: readonly ReadEvent[], key: string, terms: ApprovalTerms): void {
    const request = events.findLast(({ type, it }) => type === 'approval.requested' && it['key'] === key)
    const where = `task ${row.id}, approval ${key}`
    faults.same(`${where}, request`, request?.seq, terms.request)
    faults.same(`${where}, asked`, request?.it['asked'], terms.asked)
    faults.same(`${where}, maxRetries`, request?.it['maxRetries'], terms.maxRetries)
    if (!rejectionPolicies.includes(terms.onReject) || !approvalTimeouts.includes(terms.onTimeout))
      faults.add('row', where, 'policies that there are', terms)
  }

  function checkChildren(
    row: TaskRow,
    events: readonly ReadEvent[],
    { children, childrenSince }: Folded,
  ): void {
    const own = ahead.children.has(row.id) ? load.children(row.id) : []
    if (own.length === 0 && childrenSince.size === 0) return
    // Without its row a child that has ended would be spawned once more.
    const keys = new Set(own.map(({ key }) => key))
    for (const [key, seq] of childrenSince)
      if (!keys.has(key))
        faults.add('row', `task ${row.id}, child ${key}`, `the child of event ${seq}`, 'none')
    const open = own.filter(({ state }) => state === 'open').map(({ key }) => key)
    faults.same(
      `task ${row.id}, open children`,
      textOf([...children.keys()].toSorted()),
      textOf(open.toSorted()),
    )
    const others = handOversIn(events)
    for (const { key, task, position, policy, seq } of own) {
      const event = events[seq - 1]
      const where = `task ${row.id}, child ${key}`
      if (isHandOver(key)) faults.same(`${where}, type`, others.get(key), event?.it['type'])
      faults.same(`${where}, event`, childrenSince.get(key), seq)
      faults.same(`${where}, key`, event?.it['key'], key)
      faults.same(`${where}, position`, event?.it['position'], position)
      faults.same(`${where}, policy`, event?.it['policy'], policy)
      faults.same(`${where}, task`, numberOf(event?.it['taskId']), task)
      if (!childPolicies.includes(policy))
        faults.add('row', `${where}, policy`, childPolicies.join(' or '), policy)
      if (event?.type === 'child.spawned') faults.same(`${where}, its parent`, row.id, childTask.get(task))
    }
  }

  function numberOf(taskId: unknown): number | undefined {
    return typeof taskId === 'string' ? (load.explicit(taskId) ?? ids.taskNumber(taskId)) : undefined
  }

  /** Where a fork begins is not in its events, and is a part of what its key binds. */
  function checkKey(row: TaskRow, [first]: readonly ReadEvent[], { row: told }: Folded): void {
    const { idempotencyKey, forkOf, type } = (first?.it ?? {}) as Partial<EventData['task.queued']>
    if (idempotencyKey === undefined || first?.type !== 'task.queued') return
    tally.keys += 1
    const bound = load.key(idempotencyKey)
    const where = `task ${row.id}, idempotency key`
    faults.same(where, row.id, bound?.task)
    if (forkOf !== undefined || bound === undefined) return
    const input = first.blob === null ? (told['input'] as string) : (load.blob(first.blob) ?? '')
    faults.same(`${where}, payload`, hashes.sha256Hex(`${type}\n${input}`), bound.payloadHash)
  }

  function checkCheckpoint(row: TaskRow, events: readonly ReadEvent[]): void {
    const last = events.findLast(({ type }) => type === 'checkpoint.created')
    const kept = ahead.checkpoints.has(row.id) ? checkpointOf.get(row.id) : undefined
    const where = `task ${row.id}, checkpoint`
    faults.same(where, last?.seq, kept?.seq)
    if (last === undefined || kept === undefined) return
    faults.same(`${where}, data`, last.it['hash'], hashes.sha256Hex(kept.data))
    faults.same(`${where}, at`, last.at, kept.at)
  }
}

interface StreamColumns {
  readonly lane_rank: number
  readonly type: string
  readonly client: string
  readonly quota_keys: string
}

type Folded = ReturnType<typeof foldEvents>

const noOutput = { count: 0, first: 1, last: 0 }

interface Ending {
  readonly state: LeaseState
  readonly reasons: readonly (LeaseEndReason | null)[]
}

const alive: Ending = { state: 'running', reasons: [null] }

/** Whether a task has rows in a table, for tasks that are asked about in order. What it knows holds for one transaction. */
function lookAhead(db: Db, table: string, column: string): { has(task: number): boolean; forget(): void } {
  const next = db
    .prepare<[number], number | null>(`SELECT min(${column}) FROM ${table} WHERE ${column} >= ?`)
    .pluck()
  let known = Number.NEGATIVE_INFINITY
  return {
    has(task) {
      if (known < task) known = next.get(task) ?? Number.POSITIVE_INFINITY
      return known === task
    },
    forget: () => void (known = Number.NEGATIVE_INFINITY),
  }
}

/** How the event that ended a lease says that it ended. */
function endingOf({ type, it }: ReadEvent): Ending {
  switch (type) {
    case 'task.completed':
      return { state: 'completed', reasons: ['completed'] }
    case 'task.waiting':
      return { state: 'completed', reasons: ['waiting'] }
    case 'task.canceled':
      return { state: 'canceled', reasons: ['canceled'] }
    case 'task.failed':
      return {
        state: 'failed',
        reasons:
          it['kind'] === 'poisoned' || it['kind'] === 'lease_lost' ? ['expired', 'owner_dead'] : ['failed'],
      }
    default: {
      const reason = it['reason'] as LeaseEndReason
      return {
        state: reason === 'yielded' || reason === 'drained' || reason === 'restarted' ? 'canceled' : 'failed',
        reasons: [reason],
      }
    }
  }
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : canonical(value)
}

/** The types that the task was handed over to, by the keys of their children. */
function handOversIn(events: readonly ReadEvent[]): ReadonlyMap<string, string> {
  const types = events.flatMap(({ type, it }) =>
    type === 'task.requeued' ? ((it as Partial<EventData['task.requeued']>).recovery?.task ?? []) : [],
  )
  return new Map(types.map((type, at) => [handOverKey(at + 1), type]))
}

/** The model of a task that has fallen back to another. */
function fallenBack(events: readonly ReadEvent[]): { readonly model?: string } {
  const { model } = pastFailure(events.filter(({ type }) => type === 'task.requeued'))
  return model === undefined ? {} : { model }
}

const queues: ReadonlySet<string> = new Set(['task.queued', 'task.requeued', 'task.resumed'])
const leaveRunning: ReadonlySet<string> = new Set(['task.requeued', 'task.waiting', ...ends])

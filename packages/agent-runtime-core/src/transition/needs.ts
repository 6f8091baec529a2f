import {
  afterIn,
  type Sibling,
  supervisedIn,
  supervisedKey,
  supervisorTerms,
} from '../supervision/supervision.ts'
import type { IdCodec } from '../store/ids.ts'
import type { BudgetRow } from '../budget/row.ts'
import type { LeaseRow } from '../lease/row.ts'
import { stageIn } from '../pipeline/pipeline.ts'
import type { PipelineRow } from '../pipeline/row.ts'
import type { UsageRow } from '../profile/row.ts'
import type { TaskRow } from '../task/row.ts'
import type { SignalRow } from '../wait/row.ts'
import type { Kind, Kinds, Wanted } from './wanted.ts'
import { childKey, entryKey, evaluationKey, type Base } from './working-set.ts'

/**
 * The rows that a flush reads before it folds anything. It walks through the known rows, and wants every row on the
 * way that is not known. The store loads those rows, and the walk is repeated with more rows known, until
 * nothing is missing. Each row is asked for once in a flush: a row that was asked for and is still not known
 * does not exist.
 */
export class Needs {
  readonly base: Base
  private readonly ids: IdCodec
  /** By kind and name: the round in which it was asked for. */
  private asked: Map<Kind, Map<number | string, number>> | undefined
  private wanted: { [K in Kind]?: Kinds[K]['name'][] } | undefined
  private round = 0
  private waiting = false
  /**
   * Tasks whose waits, and everything that these touch, are known; and those that are being walked through.
   */
  private whole: Set<number> | undefined
  private visited: Set<number> | undefined

  constructor(base: Base, ids: IdCodec) {
    this.base = base
    this.ids = ids
  }

  /** Begins one way through the rows. */
  start(): void {
    this.waiting = false
    this.visited?.clear()
  }

  /** Whether all on the way since {@link start} is known. */
  get isCovered(): boolean {
    return !this.waiting
  }

  /** The rows to load before the next round; undefined if nothing is missing. */
  take(): Wanted | undefined {
    const { wanted } = this
    this.wanted = undefined
    this.round += 1
    return wanted
  }

  /** Asks for one thing, unless that was done: then it is on its way, or does not exist. */
  want<K extends Kind>(kind: K, id: number | string, name: Kinds[K]['name']): void {
    // Most flushes want nothing, and make nothing for it.
    this.asked ??= new Map()
    let asked = this.asked.get(kind)
    if (asked === undefined) {
      asked = new Map()
      this.asked.set(kind, asked)
    }
    const round = asked.get(id)
    if (round !== undefined && round < this.round) return
    this.waiting = true
    if (round !== undefined) return
    asked.set(id, this.round)
    this.wanted ??= {}
    const names = (this.wanted[kind] ??= []) as Kinds[K]['name'][]
    names.push(name)
  }

  /** A row alone. */
  task(id: number): TaskRow | undefined {
    const row = this.base.tasks.get(id)
    if (row === undefined) this.want('tasks', id, id)
    return row
  }

  lease(id: number): LeaseRow | undefined {
    const row = this.base.leases.get(id)
    if (row === undefined) this.want('leases', id, id)
    return row
  }

  /** A task with what moves when it does: its waits, its budgets, its lease. */
  taskWithWaits(id: number): TaskRow | undefined {
    const row = this.task(id)
    if (row === undefined) return undefined
    this.waits(row)
    if (row.lease !== null) this.lease(row.lease)
    return row
  }

  /** The same for a task's id, the store's own or its submitter's. */
  named(taskId: string): TaskRow | undefined {
    this.explicitId(taskId)
    if (this.waiting) return undefined
    const number = this.base.explicitIds.get(taskId) ?? this.ids.taskNumber(taskId)
    return number === undefined ? undefined : this.taskWithWaits(number)
  }

  explicitId(taskId: string): void {
    if (!this.base.explicitIds.has(taskId)) this.want('explicitIds', taskId, taskId)
  }

  /** The lease behind an id, with its task and what moves when that does. */
  held(leaseId: string): LeaseRow | undefined {
    const number = this.ids.leaseNumber(leaseId)
    const lease = number === undefined ? undefined : this.lease(number)
    if (lease === undefined) return undefined
    const task = this.task(lease.task)
    if (task === undefined) return undefined
    this.waits(task)
    return lease
  }

  /**
   * A task's waits, the signals for them, and the budgets that it draws on. Most tasks have none, and their
   * row shows it.
   */
  waits(task: TaskRow): void {
    this.budgetsFrom(task.budget)
    const { account, stream } = task
    const isPaid = account?.reserved !== undefined || account?.asked !== undefined
    if (isPaid && stream !== null) this.clientOf(stream)
    if (task.waits === 0) return
    this.whole ??= new Set()
    this.visited ??= new Set()
    if (this.whole.has(task.id) || this.visited.has(task.id)) return
    this.visited.add(task.id)
    const outer = this.waiting
    this.waiting = false
    const waits = this.base.waits.get(task.id)
    if (waits === undefined) this.want('waits', task.id, task.id)
    else if (waits.some(({ kind }) => kind === 'approval')) this.verdicts(task)
    if (!this.waiting) this.whole.add(task.id)
    this.waiting ||= outer
  }

  /** A rejection makes the memos and children since the last approval void, whichever they are, or ends the task. */
  verdicts(task: TaskRow): void {
    const { id } = task
    if (!this.base.verdicts.has(id)) this.want('verdicts', id, id)
    this.memos(task)
    this.want('children', id, id)
    for (const child of this.base.childKeys.values()) if (child.parent === id) this.taskWithWaits(child.task)
    this.family(task)
  }

  /** The steps that a task has memos of. */
  memos({ id, steps }: TaskRow): ReadonlyMap<string, number> | undefined {
    const known = this.base.memos.get(id)
    if (known === undefined && steps > 0) this.want('memos', id, id)
    return known
  }

  event(task: number, seq: number): void {
    const name = `${task}:${seq}`
    if (!this.base.events.has(name)) this.want('events', name, [task, seq])
  }

  /** The rows that the end of a task touches: its parent is notified, and tasks below it may end too. */
  family({ id, parent }: TaskRow): void {
    if (parent !== null) {
      this.supervisor(parent, id)
      this.pipelineOf(parent, id)
    }
    this.descendants(id)
  }

  /** The parent; where it supervises, also what it stops and starts with the child, and the supervisors above it. */
  private supervisor(parent: number, child: number): void {
    const task = this.taskWithWaits(parent)
    const isSupervisor =
      this.base.waits.get(parent)?.some(({ key }) => supervisorTerms(key) !== undefined) ?? false
    if (task === undefined || !isSupervisor) return
    this.descendants(parent)
    this.siblingsOf(parent)
    const key = this.base.children.get(parent)?.get(child)?.key
    if (key !== undefined) this.startedAnew(child, key)
    if (task.parent !== null) this.supervisor(task.parent, parent)
  }

  /** A supervisor with the children that others of it wait for before they start. */
  siblingsOf(supervisor: number): void {
    this.taskWithWaits(supervisor)
    for (const { key } of this.base.waits.get(supervisor) ?? [])
      for (const sibling of afterIn(key)?.after ?? []) this.sibling(supervisor, sibling)
  }

  sibling(supervisor: number, { until, ...child }: Sibling): void {
    const id = this.child(supervisor, supervisedKey(child))
    const row = id === undefined || until === 'completed' ? undefined : this.task(id)
    if (row !== undefined) this.memos(row)
  }

  /** The end of a stage is news to the others. */
  private pipelineOf(parent: number, child: number): void {
    const key = this.base.children.get(parent)?.get(child)?.key
    if (key !== undefined && stageIn(key) !== undefined) this.stages(parent)
  }

  pipeline(task: number): PipelineRow | undefined {
    const row = this.base.pipelines.get(task)
    if (row === undefined) this.want('pipelines', task, task)
    return row
  }

  /** A pipeline with the tasks of its stages, which may wait for what changes in it. */
  stages(pipeline: number): void {
    // Readers of its log know it by its name.
    this.task(pipeline)
    for (const { task, ended } of this.pipeline(pipeline)?.log.parts ?? [])
      if (task !== undefined && !ended) this.taskWithWaits(task)
  }

  /** A permanent child that completes is submitted again. */
  private startedAnew(id: number, key: string): void {
    const task = supervisedIn(key)?.restart === 'permanent' ? this.task(id) : undefined
    if (task !== undefined && !this.base.histories.has(id)) this.want('histories', id, task)
  }

  familyOf(id: number): void {
    const task = this.task(id)
    if (task !== undefined) this.family(task)
  }

  /** Open children, and theirs, as far as they end with the task. */
  descendants(task: number): void {
    for (const child of this.base.children.get(task)?.values() ?? []) {
      if (child.policy !== 'cancel') continue
      this.taskWithWaits(child.task)
      this.descendants(child.task)
    }
  }

  /** The number of the child. */
  child(parent: number, key: string): number | undefined {
    const name = childKey(parent, key)
    const row = this.base.childKeys.get(name)
    if (row === undefined) this.want('child', name, [parent, key])
    else this.taskWithWaits(row.task)
    return row?.task
  }

  /** The budgets that a task draws on, with the tasks that they were given to. */
  budgetsFrom(budget: number | null): void {
    for (let next = budget; next !== null;) {
      const row = this.budget(next)
      if (row === undefined) return
      this.task(next)
      next = row.above
    }
  }

  budget(task: number): BudgetRow | undefined {
    const row = this.base.budgets.get(task)
    if (row === undefined) this.want('budgets', task, task)
    return row
  }

  /**
   * The rows that the end of a task for its budget touches: those of any end, and the work that it had done by
   * then.
   */
  tree(id: number): void {
    const task = this.taskWithWaits(id)
    if (task !== undefined) this.family(task)
    this.want('recorded', id, id)
  }

  /** The tasks that the answer to a budget may resume or end. */
  treesAsking(task: TaskRow): void {
    for (let next = task.budget; next !== null;) {
      const row = this.base.budgets.get(next)
      if (row?.asked) {
        this.tree(next)
        const parked = this.base.parked.get(next)
        if (parked === undefined) this.want('parked', next, next)
        for (const id of parked ?? []) this.tree(id)
      }
      next = row?.above ?? null
    }
  }

  /** The signals that may be taken now: those that an open or a requested wait is for. */
  signalValues(task: TaskRow, asked: readonly { readonly name?: string | null }[]): void {
    const unread: readonly SignalRow[] = this.base.signals.get(task.id) ?? []
    if (unread.length === 0) return
    const names = new Set([...(this.base.waits.get(task.id) ?? []), ...asked].map(({ name }) => name))
    for (const signal of unread)
      if (signal.value === null && names.has(signal.name))
        this.want('signals', `${signal.task}:${signal.seq}`, signal)
  }

  /** A key that was never blocked may be one that nothing limits, and that no stream has. */
  naming(key: string): void {
    if ((this.base.quotas.get(key)?.blockedUntil ?? 0) !== 0) return
    const tasks = this.base.naming.get(key)
    if (tasks === undefined) this.want('naming', key, key)
    for (const task of tasks ?? []) this.task(task)
  }

  key(name: string): void {
    const row = this.base.keys.get(name)
    if (row === undefined) this.want('keys', name, name)
    else this.task(row.task)
  }

  /** With its last run, which may be under way. */
  schedule(name: string): void {
    const row = this.base.schedules.get(name)
    if (row === undefined) this.want('schedules', name, name)
    else if (row.lastTask !== null) this.task(row.lastTask)
  }

  accessToken(name: string): void {
    if (!this.base.accessTokens.has(name)) this.want('accessTokens', name, name)
  }

  /** The workers of a name, of every process. */
  workersNamed(workerId: string): void {
    if (!this.base.workersNamed.has(workerId)) this.want('workersNamed', workerId, workerId)
  }

  /** The client of a stream, whose credits the end of a task changes. */
  private clientOf(stream: number): void {
    const row = this.base.streams.get(stream)
    if (row !== undefined) this.client(row.client)
  }

  /** All of them are known where there are shares. */
  client(name: string): void {
    if (this.base.clients.has(name)) return
    this.want('clients', name, name)
    this.want('counts', 'nextClient', 'nextClient')
  }

  /** The purchase of a client's key. */
  entry(client: string, key: string): void {
    const name = entryKey(client, key)
    if (!this.base.entries.has(name)) this.want('entries', name, [client, key])
  }

  /** The evaluation of a key. */
  evaluation(agent: string, key: string): void {
    const name = evaluationKey(agent, key)
    if (!this.base.evaluations.has(name)) this.want('evaluations', name, [agent, key])
  }

  /** The living agents of a swarm, in the order in which they would be shed. */
  agentsOf(swarm: string): readonly UsageRow[] {
    return [...this.base.usages.values()]
      .filter((usage) => usage.swarm === swarm)
      .toSorted((a, b) => b.laneRank - a.laneRank || b.order - a.order)
  }

  /** Agents that may end. */
  agents(agents: readonly UsageRow[]): void {
    for (const { task } of agents) {
      const row = this.taskWithWaits(task)
      if (row !== undefined) this.family(row)
    }
  }

  /** The number of a lease, as far as an id is one. */
  leaseKnown(leaseId: string): LeaseRow | undefined {
    const number = this.ids.leaseNumber(leaseId)
    return number === undefined ? undefined : this.base.leases.get(number)
  }
}

/** The rows that a write needs of the lease that it names: the task, and the rows that change with it. */
export function leaseNeeds(needs: Needs, { leaseId }: { readonly leaseId: string }): void {
  needs.held(leaseId)
}

/** The same for the task that it names. */
export function taskNeeds(needs: Needs, { taskId }: { readonly taskId: string }): void {
  needs.named(taskId)
}

/** All that it touches is always known. */
export function noNeeds(): void {}

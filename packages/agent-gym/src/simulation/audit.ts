import { createIdCodec, type ExecutionConfig, type IdCodec } from '@ku0/agent-runtime-core'
import { budgetRules, shareRules } from './account-rules.ts'
import { AuditRows } from './audit-rows.ts'
import type { AuditedEvent, TaskState } from './stored-rows.ts'
import type { Findings, Broken } from './findings.ts'
import { CANCELED, COMPLETED, type Followed, nameOf, RUNNING } from './followed.ts'
import { LeaseAudit } from './lease-audit.ts'
import {
  countRules,
  depthRules,
  familyRules,
  orderRules,
  quotaRules,
  readyTasks,
  type Started,
  suspectRules,
} from './row-rules.ts'
import type { RecoveringPass } from './recoveries.ts'
import { PlacementAudit } from './placement-audit.ts'
import { StructureAudit } from './structure-audit.ts'
import { TaskAudit } from './task-audit.ts'
import { WorkAudit } from './work-audit.ts'
import { type Audited, type StepRun, type Answered } from './audited.ts'

/**
 * Checks each commit of a simulated store against the rules of `docs/reliability.md` 3.1, from the rows and events that it left and from
 * what was asked of it. It stands outside: it reads the tables itself, and knows the time, the processes and the clients' calls from
 * the simulation, not from the product.
 */
export class Audit {
  readonly rows: AuditRows
  readonly followed = new Map<number, Followed>()
  readonly tasks: TaskAudit
  readonly leases: LeaseAudit
  readonly work: WorkAudit
  readonly structures: StructureAudit
  readonly placement = new PlacementAudit()
  readonly #findings: Findings
  readonly #config: ExecutionConfig
  readonly #ids: IdCodec
  #lastTask = 0
  #commits = 0
  /** Tasks whose cancel was answered with yes. */
  readonly #canceled: number[] = []
  readonly #quotaMax: ReadonlyMap<string, number>

  constructor(path: string, findings: Findings, config: ExecutionConfig, monotonic: () => number) {
    const rows = new AuditRows(path)
    const ids = createIdCodec(rows.meta('store_id') ?? '')
    this.rows = rows
    this.work = new WorkAudit(findings, config.circuitOpenMs)
    const { shares } = config
    this.structures = new StructureAudit(findings, {
      numberOf: (taskId) => ids.taskNumber(taskId),
      idOf: (task) => ids.task(task),
      ledger: shares?.ledger === true ? shares.outOfCredits : undefined,
    })
    const { structures } = this
    const parts = {
      rows,
      work: this.work,
      structures,
      followed: this.followed,
      findings,
      config,
      monotonic,
      ids,
    }
    this.leases = new LeaseAudit(parts)
    this.tasks = new TaskAudit(parts, this.leases)
    this.#findings = findings
    this.#config = config
    this.#ids = ids
    this.#quotaMax = new Map(
      Object.entries(config.quotaConfig?.models ?? {}).map(([model, { maxInFlight }]) => [
        `model:${model}`,
        maxInFlight ?? Number.POSITIVE_INFINITY,
      ]),
    )
  }

  get openTasks(): number {
    let open = 0
    for (const { row } of this.followed.values()) if (row.state < COMPLETED) open += 1
    return open
  }

  get liveLeases(): number {
    return this.leases.live.size
  }

  /**
   * The tasks that could start in one of these processes if it has a slot: quotas have no say in them, and where a suspect runs no other
   * starts, nor what is queued behind it in its stream.
   */
  startable(processes: readonly Audited[]): number {
    const { maxCrashes } = this.#config
    const suspecting = this.leases.suspecting()
    const isHeld = processes.every((process) => suspecting.has(process))
    const { clients } = this.rows.structures()
    const lacksCredits = (found: Followed) => this.structures.ledger.lacksCredits(found, clients)
    return readyTasks(this.followed, isHeld ? maxCrashes : Number.POSITIVE_INFINITY, lacksCredits).length
  }

  taskId(id: number): string {
    return this.#ids.task(id)
  }

  numberOf(taskId: string): number | undefined {
    return this.#ids.taskNumber(taskId)
  }

  /** A cancel was answered with yes: the state has to be so at that instant, and for ever (I18). */
  cancelAnswered(taskId: string): void {
    const task = this.numberOf(taskId)
    const row = task === undefined ? undefined : this.rows.task(task)
    if (row?.state !== CANCELED)
      this.#findings.violated('I18', `the cancel of task ${task} was answered, it is ${nameOf(row?.state)}`)
    if (task !== undefined) this.#canceled.push(task)
  }

  /** A submission was answered with yes (I1). */
  submissionAnswered(taskId: string, name: string): void {
    const task = this.numberOf(taskId)
    const found = task === undefined ? undefined : this.followed.get(task)
    if (found === undefined) this.#findings.violated('I1', `the accepted submission ${name} is no task`)
    else if (found.name !== name)
      this.#findings.violated('I17', `the submission ${name} was answered with the task of ${found.name}`)
  }

  /** A function of a step begins in a process (I8, I18). */
  stepBegan(process: Audited, run: StepRun): void {
    const { taskId, key, fence, idempotencyKeys, graceMs, awakeMs } = run
    const found = this.followed.get(this.numberOf(taskId) ?? 0)
    if (found === undefined) return
    if (idempotencyKeys > found.rejections + 1)
      this.#findings.violated(
        'A06',
        `'${key}' of task ${found.row.id} runs with ${idempotencyKeys} idempotency keys after ${found.rejections} rejections`,
      )
    const lease = found.row.lease === null ? undefined : this.leases.live.get(found.row.lease)
    const isHolder = lease?.fence === fence && found.row.state === RUNNING
    if (isHolder) {
      if (found.memos.has(key))
        this.#findings.violated(
          'I8',
          `the function of '${key}' of task ${found.row.id} runs although its result is recorded`,
        )
      return
    }
    const forMs = Math.min(this.leases.overFor(found.row.id, fence), awakeMs)
    if (forMs > graceMs)
      this.#findings.violated(
        'I18',
        `'${key}' of task ${found.row.id} begins in ${process.name} ${Math.round(forMs)} ms after its lease ended there`,
      )
  }

  /** A handler of a task with a table of recovery begins (14.3). */
  handlerBegan(pass: RecoveringPass): void {
    this.structures.recoveries.begins(this.followed.get(this.numberOf(pass.taskId) ?? 0), pass)
  }

  /** Before an engine's turn: what it finds. */
  before(): void {
    if (this.rows.hasChanged()) this.#look(undefined, [])
  }

  /** After it: whatever is different now is what this process has done. */
  after(process: Audited, answered: readonly Answered[]): boolean {
    const changed = this.rows.hasChanged()
    for (const { operation, value } of answered) {
      if (operation.kind === 'spawn') this.tasks.spawns(operation.leaseId, operation.key, operation.policy)
      this.leases.operation(process, operation, value)
      this.placement.answered(process, { operation, value })
    }
    if (changed) this.#look(process, answered)
    else this.leases.refusals(answered)
    return changed
  }

  /** `process`: whose turn made the change; undefined where it was nobody's. */
  #look(process: Audited | undefined, answered: readonly Answered[]): void {
    this.#commits += 1
    const budgets = this.rows.budgets()
    // What is charged behind the end of a task is an event of one that is over.
    const rows = this.#commits % 16 === 0 || budgets.length > 0 ? this.rows.tasks() : this.#openRows()
    const leases = new Map(this.rows.leases().map((lease) => [lease.id, lease]))
    this.leases.learnNames()
    const work = this.rows.work()
    this.work.see(work.swarms)
    const streams = this.rows.streams()
    const started: Started[] = []
    const accepted: number[] = []
    const refused: { id: number; reason: string }[] = []
    let others = 0
    let children = 0
    let requeued = 0
    for (const row of rows) {
      const found = this.followed.get(row.id)
      if (found !== undefined && found.row.seq === row.seq) {
        this.tasks.unchanged(found, row)
        continue
      }
      const events = this.rows.events(row.id, found?.row.seq ?? 0)
      const first = events[0]
      if (found === undefined) {
        if (first?.type === 'task.rejected')
          refused.push({ id: row.id, reason: (JSON.parse(first.data) as { reason: string }).reason })
        else if (entersQueue(first)) accepted.push(row.id)
        if (isChild(first)) children += 1
      } else if (events.some(({ type }) => type === 'task.canceled' || type === 'task.resumed')) others += 1
      if (events.some(({ type }) => type === 'task.requeued')) requeued += 1
      this.structures.supervisors.leased(row.id, found?.row.lease ?? null)
      const now = this.tasks.follow(process, found, row, events)
      if (
        events.some(({ type }) => type === 'task.started') &&
        row.lease !== null &&
        now.measured?.held === undefined
      )
        started.push({
          id: row.id,
          lane: now.lane,
          type: streams.find(({ id }) => id === row.stream)?.type ?? '',
          lease: row.lease,
        })
    }
    this.#lastTask = Math.max(this.#lastTask, rows.at(-1)?.id ?? 0)
    this.leases.follow(process, leases)
    this.leases.refusals(answered)
    this.#broken(suspectRules(this.followed, leases.values(), this.#config))
    this.#broken(countRules(this.followed, streams))
    if (this.#quotaMax.size > 0) this.#broken(quotaRules(this.followed, this.rows.quotas(), this.#quotaMax))
    this.#broken(budgetRules(this.followed, budgets))
    this.#broken(familyRules(this.followed, (taskId) => this.numberOf(taskId)))
    this.work.look(this.followed, work, this.leases.now)
    const structures = this.rows.structures()
    this.structures.look(this.followed, structures)
    if (process === undefined) return
    const lacksCredits = (found: Followed) => this.structures.ledger.lacksCredits(found, structures.clients)
    this.#broken(orderRules(this.followed, started, this.#config, lacksCredits))
    const { leaseTtlMs } = this.#config
    const workers = started.length === 0 ? [] : this.leases.workersOf(process)
    this.#broken(
      this.placement.rules(process, { started, leases, workers, now: this.leases.now, leaseTtlMs }),
    )
    // Tasks are spawned and given back in the order in which that was asked for, which the events do not tell.
    if (this.structures.supervisors.hasAnew) return
    if (others > 0 || children * requeued > 0 || accepted.length + refused.length === 0) return
    const depth = streams.reduce((sum, stream) => sum + stream.depth, 0) + started.length - accepted.length
    this.#broken(depthRules(this.followed, { accepted, refused, depth }, this.#config))
  }

  #broken(rules: Iterable<Broken>): void {
    for (const [rule, text] of rules) this.#findings.violated(rule, text)
  }

  #openRows(): TaskState[] {
    const rows = this.rows.openTasks(this.#lastTask)
    const there = new Set(rows.map(({ id }) => id))
    for (const { row } of this.followed.values())
      if (row.state < COMPLETED && !there.has(row.id)) {
        const now = this.rows.task(row.id)
        if (now === undefined) this.#findings.violated('I1', `task ${row.id} is gone`)
        else rows.push(now)
      }
    return rows.toSorted((a, b) => a.id - b.id)
  }

  /** At the end: what was promised has been kept, and every task stems from somewhere (I1, I2, I3, I6). */
  end(): void {
    this.#look(undefined, [])
    const there = new Map(this.rows.tasks().map((row) => [row.id, row]))
    for (const [id, found] of this.followed) {
      const row = there.get(id)
      if (row === undefined) this.#findings.violated('I1', `task ${id} is gone`)
      else this.tasks.unchanged(found, row)
      this.tasks.memosKept(found)
    }
    if (this.#config.shares !== undefined && this.openTasks === 0)
      this.#broken(shareRules(this.followed, this.rows.clients()))
    this.work.end(this.rows.work())
    this.structures.ledger.end(this.rows.structures())
    for (const task of this.#canceled)
      if (this.rows.task(task)?.state !== CANCELED)
        this.#findings.violated(
          'I18',
          `task ${task} was canceled, and is ${nameOf(this.rows.task(task)?.state)}`,
        )
  }
}

function isChild(first: AuditedEvent | undefined): boolean {
  return (JSON.parse(first?.data ?? '{}') as { parentId?: unknown }).parentId !== undefined
}

/** Whether a task that is new came into the queue at once. */
function entersQueue(first: AuditedEvent | undefined): boolean {
  const { dueAt, held } = JSON.parse(first?.data ?? '{}') as { dueAt?: number; held?: true }
  return dueAt === undefined && held !== true
}

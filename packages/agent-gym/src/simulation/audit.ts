import {
  createIdCodec,
  type EventData,
  type ExecutionConfig,
  type IdCodec,
  type Write,
} from '@ku0/agent-runtime-core'
import { budgetRules, shareRules } from './account-rules.ts'
import { AuditRows, type AuditedEvent, type LiveLease, type TaskState } from './audit-rows.ts'
import type { Findings } from './findings.ts'
import {
  CANCELED,
  COMPLETED,
  FAILED,
  type Followed,
  nameOf,
  QUEUED,
  REJECTED,
  RUNNING,
  WAITING,
} from './followed.ts'
import {
  type Broken,
  countRules,
  depthRules,
  familyRules,
  orderRules,
  quotaRules,
  readyTasks,
  type Started,
  suspectFrom,
  suspectRules,
} from './row-rules.ts'
import { mayFail, type Program } from './program.ts'

/** What the audit knows of a simulated process. */
export interface Audited {
  readonly name: string
  readonly processId: string
  readonly isDead: boolean
  /** Its wall clock, epoch ms. */
  wall(): number
  /** The furthest that it has shown. */
  furthest(): number
  /** What each of its workers may hold. */
  readonly capacity: number
  readonly workerIds: readonly string[]
}

/** A function of a step that begins. */
export interface StepRun {
  readonly taskId: string
  readonly key: string
  /** The fencing token of its pass. */
  readonly fence: number
  /** How many idempotency keys its runs have had so far. */
  readonly idempotencyKeys: number
  /** How long a holder may go on that has not heard of the end of its lease, and how long its process has been awake. */
  readonly graceMs: number
  readonly awakeMs: number
}

/** What one turn of a store's engine answered. */
export interface Answered {
  readonly operation: Write
  readonly value: unknown
}

/**
 * Checks each commit of a simulated store against the rules of `docs/reliability.md` 3.1, from the rows and events that it left and from
 * what was asked of it. It stands outside: it reads the tables itself, and knows the time, the processes and the clients' calls from
 * the simulation, not from the product.
 */
export class Audit {
  readonly rows: AuditRows
  readonly followed = new Map<number, Followed>()
  readonly #findings: Findings
  readonly #config: ExecutionConfig
  readonly #monotonic: () => number
  readonly #ids: IdCodec
  readonly #processes = new Map<number, Audited>()
  readonly #byProcessId = new Map<string, Audited>()
  readonly #workers = new Map<number, { name: string; process: number }>()
  #leases = new Map<number, LiveLease>()
  readonly #endings = new Map<number, number>()
  #lastTask = 0
  #commits = 0
  #offset: number | undefined
  readonly #asked = new Set<string>()
  /** Submissions that were made, and those that are tasks. */
  readonly #submitted = new Set<string>()
  readonly #names = new Set<string>()
  readonly #promised: { readonly task: number; readonly what: 'canceled' }[] = []
  readonly #policies = new Map<string, string>()
  readonly #quotaMax: ReadonlyMap<string, number>
  readonly #schedules = new Set<string>()
  /** Times of schedules that were run. */
  readonly #runs = new Set<string>()
  /** Budgets that somebody said to stop. */
  readonly #stopped = new Set<number>()

  constructor(path: string, findings: Findings, config: ExecutionConfig, monotonic: () => number) {
    this.rows = new AuditRows(path)
    this.#findings = findings
    this.#config = config
    this.#monotonic = monotonic
    this.#ids = createIdCodec(this.rows.meta('store_id') ?? '')
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
    return this.#leases.size
  }

  /**
   * The tasks that could start in one of these processes if it has a slot: quotas have no say in them, and where a suspect runs no other
   * starts, nor what is queued behind it in its stream.
   */
  startable(processes: readonly Audited[]): number {
    const { maxCrashes } = this.#config
    const suspecting = new Set<Audited | undefined>()
    for (const { task, process } of this.#leases.values())
      if ((this.followed.get(task)?.row.crashes ?? 0) >= suspectFrom(maxCrashes))
        suspecting.add(this.#processes.get(process))
    const isHeld = processes.every((process) => suspecting.has(process))
    return readyTasks(this.followed, isHeld ? maxCrashes : Number.POSITIVE_INFINITY).length
  }

  taskId(id: number): string {
    return this.#ids.task(id)
  }

  numberOf(taskId: string): number | undefined {
    return this.#ids.taskNumber(taskId)
  }

  knows(process: Audited): void {
    this.#byProcessId.set(process.processId, process)
  }

  /** Somebody submits a program under this name (I2). */
  submits(name: string): void {
    this.#submitted.add(name)
  }

  /** Somebody puts a schedule, or runs it by hand. */
  schedules(name: string): void {
    this.#schedules.add(name)
  }

  /** Somebody says that the tree of a budget is to end. */
  stopAsked(taskId: string): void {
    this.#stopped.add(this.numberOf(taskId) ?? 0)
  }

  /** Somebody asks for the end of a task: from now on it may be canceled. */
  cancelAsked(taskId: string): void {
    this.#asked.add(taskId)
  }

  /** A cancel was answered with yes: the state has to be so at that instant, and for ever (I18). */
  cancelAnswered(taskId: string): void {
    const task = this.numberOf(taskId)
    const row = task === undefined ? undefined : this.rows.task(task)
    if (row?.state !== CANCELED)
      this.#findings.violated('I18', `the cancel of task ${task} was answered, it is ${nameOf(row?.state)}`)
    if (task !== undefined) this.#promised.push({ task, what: 'canceled' })
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
    const lease = found.row.lease === null ? undefined : this.#leases.get(found.row.lease)
    const isHolder = lease?.fence === fence && found.row.state === RUNNING
    if (isHolder) {
      if (found.memos.has(key))
        this.#findings.violated(
          'I8',
          `the function of '${key}' of task ${found.row.id} runs although its result is recorded`,
        )
      return
    }
    const endedAt = this.#endings.get(found.row.id * 1_000 + fence)
    const forMs = endedAt === undefined ? 0 : Math.min(this.#monotonic() - endedAt, awakeMs)
    if (forMs > graceMs)
      this.#findings.violated(
        'I18',
        `'${key}' of task ${found.row.id} begins in ${process.name} ${Math.round(forMs)} ms after its lease ended there`,
      )
  }

  /** Before an engine's turn: what it finds. */
  before(): void {
    if (this.rows.hasChanged()) this.#look(undefined, [])
  }

  /** After it: whatever is different now is what this process has done. */
  after(process: Audited, answered: readonly Answered[]): boolean {
    const changed = this.rows.hasChanged()
    for (const { operation, value } of answered) this.#operation(process, operation, value)
    if (changed) this.#look(process, answered)
    else this.#refusals(answered)
    return changed
  }

  /** Who wrote under which lease, and whether that was its right: the lease as it stood before the turn (I9). */
  #operation(process: Audited, operation: Write, value: unknown): void {
    if (operation.kind === 'spawn')
      this.#policies.set(`${operation.leaseId} ${operation.key}`, operation.policy)
    if (!('leaseId' in operation) || !fencedKinds.has(operation.kind)) return
    const number = this.#ids.leaseNumber(operation.leaseId)
    const lease = number === undefined ? undefined : this.#leases.get(number)
    const isAccepted = fenceOf(value) === 'ok'
    this.#findings.count('writes')
    if (!isAccepted) {
      if (fenceOf(value) === 'stale') this.#findings.count('zombies')
      return
    }
    const row = lease === undefined ? undefined : this.followed.get(lease.task)?.row
    const isLive = lease !== undefined && lease.expiresAt > this.#leaseNow && row?.lease === lease.id
    if (isLive && lease.fence === row.fence) return
    // The same settlement again gets the first answer; nothing is written then.
    if (operation.kind === 'settle' && lease === undefined) return this.#repeated(operation)
    this.#findings.violated(
      'I9',
      `${process.name}: ${operation.kind} under lease ${number} was accepted, ${
        lease === undefined
          ? 'which had ended'
          : `which expired ${this.#leaseNow - lease.expiresAt} ms before`
      }`,
    )
  }

  #repeated({ leaseId, settlement }: Extract<Write, { kind: 'settle' }>): void {
    const end = this.rows.endOf(this.#ids.leaseNumber(leaseId) ?? 0)
    const isSame =
      end !== undefined &&
      end.reason === settlement.as &&
      (settlement.as !== 'completed' || end.data.includes(`"output":${settlement.output}`))
    if (!isSame)
      this.#findings.violated(
        'I9',
        `a settlement (${settlement.as}) under the ended lease ${leaseId} was accepted`,
      )
  }

  /** Nothing is refused to the holder of a live lease. */
  #refusals(answered: readonly Answered[]): void {
    for (const { operation, value } of answered) {
      if (!('leaseId' in operation) || !fencedKinds.has(operation.kind) || fenceOf(value) !== 'stale')
        continue
      const lease = this.#leases.get(this.#ids.leaseNumber(operation.leaseId) ?? 0)
      if (lease !== undefined && lease.expiresAt > this.#leaseNow)
        this.#findings.violated('I9', `${operation.kind} under the live lease ${lease.id} was refused`)
    }
  }

  get #leaseNow(): number {
    this.#offset ??= Number(this.rows.meta('boot_offset'))
    return Math.floor(this.#monotonic() + this.#offset)
  }

  /** `process`: whose turn made the change; undefined where it was nobody's. */
  #look(process: Audited | undefined, answered: readonly Answered[]): void {
    this.#commits += 1
    const budgets = this.rows.budgets()
    // What is charged behind the end of a task is an event of one that is over.
    const rows = this.#commits % 16 === 0 || budgets.length > 0 ? this.rows.tasks() : this.#openRows()
    const leases = new Map(this.rows.leases().map((lease) => [lease.id, lease]))
    this.#learnNames()
    const started: Started[] = []
    const accepted: number[] = []
    const refused: { id: number; reason: string }[] = []
    let others = 0
    for (const row of rows) {
      const found = this.followed.get(row.id)
      if (found !== undefined && found.row.seq === row.seq) {
        this.#unchanged(found, row)
        continue
      }
      const events = this.rows.events(row.id, found?.row.seq ?? 0)
      const first = events[0]
      if (found === undefined) {
        if (first?.type === 'task.rejected')
          refused.push({ id: row.id, reason: (JSON.parse(first.data) as { reason: string }).reason })
        else if ((JSON.parse(first?.data ?? '{}') as { dueAt?: number }).dueAt === undefined)
          accepted.push(row.id)
      } else if (events.some(({ type }) => type === 'task.canceled' || type === 'task.resumed')) others += 1
      const now = this.#follow(process, found, row, events)
      if (events.some(({ type }) => type === 'task.started') && row.lease !== null)
        started.push({ id: row.id, lane: now.lane, lease: row.lease })
    }
    this.#lastTask = Math.max(this.#lastTask, rows.at(-1)?.id ?? 0)
    this.#leaseRules(process, leases)
    const before = this.#leases
    this.#leases = leases
    for (const [id, lease] of before)
      if (!leases.has(id)) this.#endings.set(lease.task * 1_000 + lease.fence, this.#monotonic())
    this.#refusals(answered)
    this.#broken(suspectRules(this.followed, leases.values(), this.#config))
    const streams = this.rows.streams()
    this.#broken(countRules(this.followed, streams))
    if (this.#quotaMax.size > 0) this.#broken(quotaRules(this.followed, this.rows.quotas(), this.#quotaMax))
    this.#broken(budgetRules(this.followed, budgets))
    this.#broken(familyRules(this.followed, (taskId) => this.numberOf(taskId)))
    if (process === undefined) return
    this.#broken(orderRules(this.followed, started, this.#config))
    if (others > 0 || accepted.length + refused.length === 0) return
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

  #learnNames(): void {
    if (this.#processes.size < this.#byProcessId.size)
      for (const { id, processId } of this.rows.processes()) {
        const known = this.#byProcessId.get(processId)
        if (known !== undefined) this.#processes.set(id, known)
      }
  }

  #workerOf(id: number): { name: string; process: number } | undefined {
    if (!this.#workers.has(id))
      for (const { id: number, name, process } of this.rows.workers())
        this.#workers.set(number, { name, process })
    return this.#workers.get(id)
  }

  #unchanged(found: Followed, row: TaskState): void {
    const { row: before } = found
    for (const name of [
      'state',
      'attempt',
      'fence',
      'lease',
      'crashes',
      'finishedAt',
      'parent',
      'stream',
    ] as const)
      if (before[name] !== row[name])
        this.#findings.violated(
          before.state >= COMPLETED ? 'I3' : 'I16',
          `${name} of task ${row.id} went from ${before[name]} to ${row[name]} without an event`,
        )
    found.row = row
  }

  /** Goes through what happened to a task, one event after the other, and compares where that leads with its row. */
  #follow(
    process: Audited | undefined,
    known: Followed | undefined,
    row: TaskState,
    events: readonly AuditedEvent[],
  ): Followed {
    const stream = this.rows.streams().find(({ id }) => id === row.stream)
    const found: Followed = known ?? {
      row: { ...row, state: -1, attempt: 1, fence: 0, lease: null, crashes: 0, seq: 0 },
      name: '',
      mayFail: false,
      memos: new Map(),
      due: new Map(),
      fired: new Set(),
      signals: new Map(),
      divergent: false,
      rejections: 0,
      quotaKeys: stream?.quotaKeys ?? '[]',
      lane: stream?.lane ?? 0,
      policyOfChildren: new Map(),
      client: '',
      estimate: 1,
      spent: { tokens: 0, cost: 0, steps: 0 },
      paid: 0,
      isBudgeted: false,
    }
    const walk: Walk = { ...found.row, before: found.row.lease, isFresh: false }
    for (const event of events) {
      if (event.seq !== walk.seq + 1)
        this.#findings.violated('I15', `task ${row.id}: event ${event.seq} follows ${walk.seq}`)
      walk.seq = event.seq
      this.#event(process, found, walk, event)
    }
    if (walk.seq !== row.seq)
      this.#findings.violated('I15', `task ${row.id} is at ${row.seq}, its last event is ${walk.seq}`)
    for (const name of ['state', 'attempt', 'fence', 'crashes'] as const)
      if (walk[name] !== row[name])
        this.#findings.violated(
          'I16',
          `${name} of task ${row.id} is ${row[name]}, its events say ${walk[name]}`,
        )
    if ((walk.lease === null) !== (row.lease === null) || (walk.lease !== null && walk.lease !== row.lease))
      this.#findings.violated(
        'I5',
        `task ${row.id} runs under lease ${row.lease}, its events say ${walk.lease}`,
      )
    found.row = row
    this.followed.set(row.id, found)
    return found
  }

  #event(process: Audited | undefined, found: Followed, walk: Walk, event: AuditedEvent): void {
    const { type } = event
    const data = JSON.parse(event.data) as Record<string, unknown>
    const task = walk.id
    const move = (...from: readonly number[]) => {
      if (!from.includes(walk.state))
        this.#findings.violated(
          walk.state >= COMPLETED ? 'I3' : 'I4',
          `task ${task} is ${nameOf(walk.state)}, and then comes ${type}`,
        )
    }
    const ofHolder = () => {
      move(RUNNING)
      this.#holds(process, walk, type)
    }
    this.#findings.note('commit', `task ${task} #${event.seq} ${type} ${shown(type, data)}`)
    const { charged } = data as { charged?: { tokens: number; cost: number } }
    if (charged !== undefined) {
      found.spent.tokens += charged.tokens
      found.spent.cost += charged.cost
      // A client pays at the end of its task; what comes behind that is the budgets' alone.
      if (walk.state < COMPLETED) found.paid += charged.cost
    }
    switch (type) {
      case 'task.queued': {
        move(-1)
        walk.state = QUEUED
        found.name = (data['input'] as Program).name
        found.mayFail = mayFail(data['input'] as Program)
        this.#accountOf(found, data as unknown as EventData['task.queued'])
        if (data['schedule'] !== undefined)
          return this.#scheduled(process, task, data as unknown as EventData['task.queued'])
        if (walk.parent === null && this.#names.has(found.name))
          this.#findings.violated('I2', `two tasks of ${found.name}`)
        if (walk.parent === null && !this.#submitted.has(found.name))
          this.#findings.violated('I2', `task ${task} (${found.name}) was submitted by nobody`)
        this.#names.add(found.name)
        return
      }
      case 'task.rejected':
        move(-1)
        walk.state = REJECTED
        this.#findings.count('refusals')
        return
      case 'task.started': {
        move(QUEUED)
        this.#findings.count('claims')
        if (walk.crashes >= suspectFrom(this.#config.maxCrashes)) this.#findings.count('suspects')
        const it = data as unknown as EventData['task.started']
        if (it.fencingToken !== walk.fence + 1)
          this.#findings.violated('I10', `task ${task} has the token ${it.fencingToken} after ${walk.fence}`)
        if (it.attempt !== walk.attempt)
          this.#findings.violated(
            'I10',
            `task ${task} starts attempt ${it.attempt}, it was at ${walk.attempt}`,
          )
        const early = walk.dueAt !== null && process !== undefined && walk.dueAt > Math.floor(process.wall())
        if (early && !walk.isFresh) this.#findings.violated('I20', `task ${task} starts before it is due`)
        if (process !== undefined && !process.workerIds.includes(it.workerId))
          this.#findings.violated(
            'I9',
            `${process.name} gave task ${task} to ${it.workerId}, which is not its worker`,
          )
        walk.state = RUNNING
        walk.fence += 1
        walk.lease = it.dispatch
        walk.isFresh = true
        return
      }
      case 'task.requeued': {
        const it = data as unknown as EventData['task.requeued']
        move(RUNNING)
        if (it.reason === 'expired' || it.reason === 'owner_dead') {
          this.#expired(walk, it.reason)
          if (walk.crashes >= this.#config.maxCrashes)
            this.#findings.violated('C17', `task ${task} goes back after ${walk.crashes} crashes`)
        } else this.#holds(process, walk, `${type} (${it.reason})`)
        const rises = it.reason === 'expired' || it.reason === 'owner_dead' || it.reason === 'retry' ? 1 : 0
        if (it.attempt !== walk.attempt + rises)
          this.#findings.violated(
            'I10',
            `task ${task}: attempt ${it.attempt} follows ${walk.attempt} by ${it.reason}`,
          )
        if (it.reason === 'retry') this.#findings.count('retries')
        walk.attempt = it.attempt
        walk.dueAt = it.dueAt ?? null
        this.#leave(walk, QUEUED)
        return
      }
      case 'task.completed':
        ofHolder()
        this.#findings.count('completions')
        this.#outputRules(found, task, data['output'])
        this.#leave(walk, COMPLETED)
        return
      case 'task.failed': {
        const kind = String(data['kind'])
        const isOver = kind === 'budget_exceeded'
        move(RUNNING, WAITING, ...(isOver ? [QUEUED] : []))
        if (kind === 'poisoned') {
          this.#expired(walk, 'either')
          if (walk.crashes !== this.#config.maxCrashes)
            this.#findings.violated('C17', `task ${task} is poisoned after ${walk.crashes} crashes`)
        } else if (walk.state === RUNNING && !isOver) this.#holds(process, walk, type)
        this.#failureRules(found, task, kind, data['error'])
        this.#findings.count('failures')
        this.#leave(walk, FAILED)
        return
      }
      case 'task.canceled': {
        move(QUEUED, RUNNING, WAITING)
        if (!this.#asked.has(this.taskId(task)) && walk.parent === null)
          this.#findings.violated('I18', `task ${task} was canceled, and nobody asked for it`)
        this.#findings.count('cancels')
        this.#leave(walk, CANCELED)
        return
      }
      case 'task.waiting': {
        ofHolder()
        this.#findings.count('waits')
        const it = data as unknown as EventData['task.waiting']
        for (const wait of it.waits ?? []) this.#waits(found, wait, it.dueAt?.[wait.key])
        found.divergent = it.reason === 'divergence'
        this.#leave(walk, WAITING)
        return
      }
      case 'wait.started':
        ofHolder()
        this.#waits(found, data as unknown as EventData['wait.started'], data['dueAt'] as number | undefined)
        return
      case 'task.resumed':
        move(WAITING)
        found.divergent = false
        this.#resolved(process, found, task, data as unknown as EventData['wait.resolved'], event)
        walk.state = QUEUED
        walk.dueAt = null
        return
      case 'wait.resolved':
        ofHolder()
        this.#resolved(process, found, task, data as unknown as EventData['wait.resolved'], event)
        return
      case 'step.completed': {
        ofHolder()
        this.#findings.count('steps')
        found.spent.steps += 1
        const { key } = data as { key: string }
        if (found.memos.has(key)) this.#findings.violated('I6', `task ${task} has two memos of '${key}'`)
        found.memos.set(key, { seq: event.seq, result: JSON.stringify(data['result']) })
        return
      }
      case 'child.spawned':
        ofHolder()
        this.#findings.count('children')
        found.policyOfChildren.set(
          String(data['taskId']),
          this.#policies.get(`${this.#ids.lease(walk.lease ?? 0)} ${String(data['key'])}`) ??
            String(data['policy']),
        )
        return
      case 'step.started':
      case 'step.failed':
      case 'checkpoint.created':
      case 'approval.requested':
        ofHolder()
        return
      case 'signal.received':
      case 'approval.resolved':
      case 'child.ended':
        move(QUEUED, RUNNING, WAITING)
        this.#findings.count(
          type === 'signal.received' ? 'signals' : 'verdicts',
          type === 'child.ended' ? 0 : 1,
        )
        return
      case 'budget.asked':
      case 'budget.continued':
        move(QUEUED, RUNNING, WAITING)
        if (type === 'budget.asked') this.#findings.count('budgets asked')
        return
      case 'task.leaked':
      case 'task.charged':
        return
      default:
        this.#findings.violated('I4', `task ${task} has an event ${type} that nothing here can bring about`)
    }
  }

  #accountOf(found: Followed, { client = '', cost = 1, budget }: EventData['task.queued']): void {
    found.client = client
    found.estimate = cost
    found.isBudgeted = budget !== undefined
  }

  /** I2, I20: each time of a schedule is run once, and not before it. */
  #scheduled(process: Audited | undefined, task: number, it: EventData['task.queued']): void {
    const { schedule = '', scheduledFor } = it
    this.#findings.count('scheduled runs')
    if (!this.#schedules.has(schedule))
      this.#findings.violated('I2', `task ${task} is of the schedule '${schedule}', which nobody put`)
    if (scheduledFor === undefined) return
    const run = `${schedule} ${scheduledFor}`
    if (this.#runs.has(run))
      this.#findings.violated('I2', `task ${task} is a second run of '${schedule}' for ${scheduledFor}`)
    this.#runs.add(run)
    if (process !== undefined && scheduledFor > Math.floor(process.furthest()))
      this.#findings.violated('I20', `task ${task} comes before the time of '${schedule}' that it is for`)
  }

  /**
   * A budget ends its tree when more was used than it has, or when somebody said so, of it or of a task below; who outlives the task that
   * it was given to ends by itself.
   */
  #mayBeOver(task: number, error: unknown): boolean {
    const { details } = (error ?? {}) as {
      details?: { budget?: string; used?: number; limit?: number; stopped?: boolean }
    }
    const { budget = '', used = 0, limit = Number.POSITIVE_INFINITY, stopped = false } = details ?? {}
    const owner = this.numberOf(budget) ?? 0
    this.#findings.count('budgets exceeded')
    if (this.followed.get(owner)?.isBudgeted !== true) return false
    return (stopped && (this.#stopped.has(task) || this.#stopped.has(owner))) || used > limit
  }

  #leave(walk: Walk, state: number): void {
    walk.state = state
    walk.lease = null
    walk.isFresh = false
  }

  /** I7, I9: whoever writes on behalf of a task holds its lease, which is live, in the process whose turn it is. */
  #holds(process: Audited | undefined, walk: Walk, what: string): void {
    const lease = walk.lease === null ? undefined : this.#leases.get(walk.lease)
    if (lease === undefined || walk.isFresh) {
      this.#findings.violated('I7', `task ${walk.id}: ${what} without a lease that was live before`)
      return
    }
    if (lease.expiresAt <= this.#leaseNow)
      this.#findings.violated(
        'I9',
        `task ${walk.id}: ${what} ${this.#leaseNow - lease.expiresAt} ms after the end of its lease`,
      )
    const owner = this.#processes.get(lease.process)
    if (process !== undefined && owner !== process)
      this.#findings.violated(
        'I9',
        `task ${walk.id}: ${what} by ${process.name}, the lease is ${owner?.name ?? 'nobody'}'s`,
      )
  }

  #expired(walk: Walk, reason: 'expired' | 'owner_dead' | 'either'): void {
    walk.crashes += 1
    const lease = walk.lease === null ? undefined : this.#leases.get(walk.lease)
    if (lease === undefined) {
      this.#findings.violated('I9', `task ${walk.id} lost a lease that was not live`)
      return
    }
    const isOver = lease.expiresAt <= this.#leaseNow
    const isOrphan = this.#processes.get(lease.process)?.isDead === true
    this.#findings.count(reason === 'owner_dead' ? 'owners dead' : 'expiries')
    if (reason === 'expired' ? isOver : reason === 'owner_dead' ? isOrphan : isOver || isOrphan) return
    this.#findings.violated(
      'I9',
      `task ${walk.id} lost its lease by ${reason}, which had ${lease.expiresAt - this.#leaseNow} ms left; its process is ${
        isOrphan ? 'dead' : 'alive'
      }`,
    )
  }

  #waits(
    found: Followed,
    wait: { key: string; kind: string; name?: string },
    dueAt: number | undefined,
  ): void {
    if (dueAt !== undefined) found.due.set(wait.key, dueAt)
    if (wait.kind === 'signal') found.signals.set(wait.key, wait.name ?? wait.key)
  }

  /** I20: a timer fires once, and not before its time. A rejection voids what came after the last approval. */
  #resolved(
    process: Audited | undefined,
    found: Followed,
    task: number,
    it: EventData['wait.resolved'],
    event: AuditedEvent,
  ): void {
    if (it.key === undefined) return
    found.signals.delete(it.key)
    const { since } = it
    if (since !== undefined) found.rejections += 1
    if (since !== undefined)
      for (const [key, { seq }] of found.memos)
        if (seq > since && !key.startsWith('$')) found.memos.delete(key)
    if (it.outcome !== 'fired' && it.outcome !== 'timed_out') return
    const dueAt = found.due.get(it.key)
    if (it.kind === 'timer' && since === undefined && !it.key.startsWith('$') && found.fired.has(it.key))
      this.#findings.violated('I20', `the timer '${it.key}' of task ${task} fires again`)
    found.fired.add(it.key)
    const now = process === undefined ? event.at : Math.floor(process.wall())
    if (dueAt !== undefined && dueAt > now)
      this.#findings.violated(
        'I20',
        `the timer '${it.key}' of task ${task} fires ${dueAt - now} ms before its time`,
      )
    found.due.delete(it.key)
  }

  /** What a task returned is what was recorded of its steps. */
  #outputRules(found: Followed, task: number, output: unknown): void {
    if (!Array.isArray(output)) return
    for (const [key, value] of output as [string, unknown][]) {
      const memo = found.memos.get(key)
      if (memo !== undefined && key.startsWith('step') && memo.result !== JSON.stringify(value))
        this.#findings.violated(
          'I6',
          `task ${task} returns ${JSON.stringify(value)} for '${key}', recorded is ${memo.result}`,
        )
      if (memo === undefined && key.startsWith('step'))
        this.#findings.violated('I6', `task ${task} returns a result of '${key}', which was never recorded`)
    }
  }

  #failureRules(found: Followed, task: number, kind: string, error: unknown): void {
    const { message = '' } = (error ?? {}) as { message?: string }
    const isExpected =
      kind === 'poisoned' ||
      kind === 'not_approved' ||
      (kind === 'budget_exceeded' && this.#mayBeOver(task, error)) ||
      (kind === 'error' && message.includes('that are left of the budget')) ||
      (kind === 'error' && found.mayFail && message.includes('as planned'))
    if (!isExpected)
      this.#findings.violated(
        '6.1',
        `task ${task} (${found.name}) failed (${kind}): ${JSON.stringify(error).slice(0, 300)}`,
      )
  }

  /** I5, I9, I11: leases begin with a start, are renewed by their own process while they are live, and fill no worker too far. */
  #leaseRules(process: Audited | undefined, leases: ReadonlyMap<number, LiveLease>): void {
    const ofTask = new Set<number>()
    const byWorker = new Map<string, number>()
    for (const lease of leases.values()) {
      if (ofTask.has(lease.task)) this.#findings.violated('I5', `task ${lease.task} has two live leases`)
      ofTask.add(lease.task)
      const row = this.followed.get(lease.task)?.row
      if (row?.state !== RUNNING || row.lease !== lease.id || row.fence !== lease.fence)
        this.#findings.violated(
          'I5',
          `lease ${lease.id} is live, its task ${lease.task} is ${nameOf(row?.state)} under ${row?.lease}`,
        )
      const worker = this.#workerOf(lease.worker)
      if (worker !== undefined) byWorker.set(worker.name, (byWorker.get(worker.name) ?? 0) + 1)
      const before = this.#leases.get(lease.id)
      if (before === undefined) {
        if (lease.expiresAt !== this.#leaseNow + this.#config.leaseTtlMs)
          this.#findings.violated(
            'I9',
            `lease ${lease.id} begins with ${lease.expiresAt - this.#leaseNow} ms`,
          )
      } else if (before.expiresAt !== lease.expiresAt) this.#renewed(process, before, lease)
    }
    for (const { row } of this.followed.values())
      if (row.state === RUNNING && !ofTask.has(row.id))
        this.#findings.violated('I5', `task ${row.id} runs without a live lease`)
    for (const [name, live] of byWorker) {
      const owner = [...this.#byProcessId.values()].find(({ workerIds }) => workerIds.includes(name))
      if (owner !== undefined && live > owner.capacity)
        this.#findings.violated('I11', `worker ${name} of capacity ${owner.capacity} holds ${live} leases`)
    }
  }

  #renewed(process: Audited | undefined, before: LiveLease, lease: LiveLease): void {
    this.#findings.count('renewals')
    const owner = this.#processes.get(lease.process)
    if (process !== undefined && owner !== process)
      this.#findings.violated(
        'I9',
        `${process.name} renewed lease ${lease.id}, which is ${owner?.name ?? 'nobody'}'s`,
      )
    if (before.expiresAt <= this.#leaseNow)
      this.#findings.violated(
        'I9',
        `lease ${lease.id} was renewed ${this.#leaseNow - before.expiresAt} ms after its end`,
      )
    if (lease.expiresAt !== this.#leaseNow + this.#config.leaseTtlMs)
      this.#findings.violated(
        'I9',
        `lease ${lease.id} was renewed for ${lease.expiresAt - this.#leaseNow} ms`,
      )
  }

  /** At the end: what was promised has been kept, and every task stems from somewhere (I1, I2, I3). */
  end(): void {
    this.#look(undefined, [])
    const there = new Map(this.rows.tasks().map((row) => [row.id, row]))
    for (const [id, found] of this.followed) {
      const row = there.get(id)
      if (row === undefined) this.#findings.violated('I1', `task ${id} is gone`)
      else this.#unchanged(found, row)
    }
    if (this.#config.shares !== undefined && this.openTasks === 0)
      this.#broken(shareRules(this.followed, this.rows.clients()))
    for (const { task } of this.#promised)
      if (this.rows.task(task)?.state !== CANCELED)
        this.#findings.violated(
          'I18',
          `task ${task} was canceled, and is ${nameOf(this.rows.task(task)?.state)}`,
        )
  }
}

interface Walk extends TaskState {
  /** The lease was granted in the commit that is looked at. */
  isFresh: boolean
  before: number | null
}

function fenceOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return (value as { fenced?: string } | undefined)?.fenced
}

function shown(type: string, data: Readonly<Record<string, unknown>>): string {
  switch (type) {
    case 'task.started':
      return `attempt ${String(data['attempt'])}, token ${String(data['fencingToken'])}, lease ${String(data['dispatch'])}, ${String(data['workerId'])}`
    case 'task.requeued':
    case 'task.rejected':
      return String(data['reason'])
    case 'task.waiting':
      return data['divergence'] === undefined ? String(data['reason']) : JSON.stringify(data['divergence'])
    case 'task.failed':
      return String(data['kind'])
    case 'task.queued':
      return String((data['input'] as { name?: string } | undefined)?.name)
    default:
      return typeof data['key'] === 'string' ? `'${data['key']}'` : ''
  }
}

/** Whatever a holder writes: the fence decides on each. */
const fencedKinds: ReadonlySet<string> = new Set([
  'recordStep',
  'startStep',
  'failStep',
  'spawn',
  'checkpoint',
  'appendOutput',
  'progress',
  'settle',
  'suspend',
  'diverge',
  'release',
])

import type { EventData } from '@ku0/agent-runtime-core'
import type { Audited } from './audited.ts'
import type { AuditedEvent, TaskState } from './stored-rows.ts'
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
import type { AuditParts, LeaseAudit } from './lease-audit.ts'
import { mayFail, type Program } from './program.ts'
import { suspectFrom } from './row-rules.ts'
import { type Walk } from './walk.ts'

/** The part of the audit that goes through the events of tasks: where they lead, and whether they were asked for. */
export class TaskAudit {
  readonly #parts: AuditParts
  readonly #findings: Findings
  readonly #leases: LeaseAudit
  readonly #asked = new Set<string>()
  /** Submissions that were made, and those that are tasks. */
  readonly #submitted = new Set<string>()
  readonly #names = new Set<string>()
  /** A client has asked for the child of this event. */
  #isAsked = false
  /** What becomes of children, by the lease and the key that they were asked for under. */
  readonly #policies = new Map<string, string>()
  readonly #schedules = new Set<string>()
  /** Times of schedules that were run. */
  readonly #runs = new Set<string>()
  /** Forks that were asked for, by their source: the step before which. */
  readonly #forks = new Map<number, readonly (string | undefined)[]>()
  /** Budgets that somebody said to stop. */
  readonly #stopped = new Set<number>()

  constructor(parts: AuditParts, leases: LeaseAudit) {
    this.#parts = parts
    this.#findings = parts.findings
    this.#leases = leases
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
    this.#stopped.add(this.#parts.ids.taskNumber(taskId) ?? 0)
  }

  /** Somebody asks for the end of a task: from now on it may be canceled. */
  cancelAsked(taskId: string): void {
    this.#asked.add(taskId)
  }

  /** Somebody spawns a child: what is to become of it. */
  spawns(leaseId: string, key: string, policy: string): void {
    this.#policies.set(`${leaseId} ${key}`, policy)
  }

  unchanged(found: Followed, row: TaskState): void {
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

  /** I6: what was recorded of a step stands where it stood, as it was. */
  memosKept({ row, memos }: Followed): void {
    const results = new Map(
      this.#parts.rows
        .events(row.id, 0)
        .map(({ seq, data }) => [seq, JSON.stringify((JSON.parse(data) as { result?: unknown }).result)]),
    )
    for (const [key, { seq, result }] of memos)
      if (results.get(seq) !== result)
        this.#findings.violated(
          'I6',
          `the memo of '${key}' of task ${row.id} was ${result}, and is ${results.get(seq) ?? 'not there'}`,
        )
  }

  /** Goes through what happened to a task, one event after the other, and compares where that leads with its row. */
  follow(
    process: Audited | undefined,
    known: Followed | undefined,
    row: TaskState,
    events: readonly AuditedEvent[],
  ): Followed {
    const stream = this.#parts.rows.streams().find(({ id }) => id === row.stream)
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
      leasedAt: 0,
      ...(stream?.type.startsWith('team ') === true ? { strategy: stream.type.split(/[ ,]+/)[1] ?? '' } : {}),
    }
    // Another model has other quotas.
    found.quotaKeys = stream?.quotaKeys ?? found.quotaKeys
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
    this.#parts.followed.set(row.id, found)
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
      this.#leases.holds(process, walk, type)
    }
    this.#findings.note('commit', `task ${task} #${event.seq} ${type} ${shown(type, data)}`)
    const { charged } = data as { charged?: { tokens: number; cost: number } }
    // What a memo cost is paid where it was made.
    if (charged !== undefined && type !== 'step.inherited') {
      found.spent.tokens += charged.tokens
      found.spent.cost += charged.cost
      // A client pays at the end of its task; what comes behind that is the budgets' alone.
      if (walk.state < COMPLETED) found.paid += charged.cost
    }
    this.#isAsked = type === 'child.spawned' && this.#parts.structures.supervisors.isAsked(task, data)
    this.#parts.structures.supervisors.event(found, task, event, data)
    this.#parts.structures.recoveries.event(walk, event, data)
    switch (type) {
      case 'task.queued': {
        move(-1)
        walk.state = QUEUED
        const it = data as unknown as EventData['task.queued']
        this.#parts.work.queued(found, task, it)
        if (found.measured?.held !== undefined) {
          found.name = found.measured.held
          found.mayFail = true
          return
        }
        found.name = (it.input as Program).name
        found.mayFail = mayFail(it.input as Program)
        this.#accountOf(found, it)
        this.#parts.structures.queued(found, task, it, walk.parent)
        if (it.schedule !== undefined) return this.#scheduled(process, task, it)
        if (it.forkOf !== undefined) return this.#forked(found, walk, it.forkOf)
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
        this.#parts.work.rejected(task, data as unknown as EventData['task.rejected'])
        this.#parts.structures.ledger.rejected(task, data as unknown as EventData['task.rejected'])
        this.#findings.count('refusals')
        return
      case 'task.started': {
        move(QUEUED)
        this.#findings.count('claims')
        if (walk.crashes >= suspectFrom(this.#parts.config.maxCrashes)) this.#findings.count('suspects')
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
        found.leasedAt = this.#parts.monotonic()
        const isHeld = found.measured?.held !== undefined
        if (process !== undefined && !(isHeld ? ['caller'] : process.workerIds).includes(it.workerId))
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
        if (found.measured?.held !== undefined)
          this.#findings.violated('10.1', `task ${task} is held by its caller, and goes back to the queue`)
        if (it.reason === 'expired' || it.reason === 'owner_dead') {
          this.#leases.expired(walk, it.reason)
          if (walk.crashes >= this.#parts.config.maxCrashes && it.restartedBy === undefined)
            this.#findings.violated('C17', `task ${task} goes back after ${walk.crashes} crashes`)
        } else if (it.reason !== 'restarted' || it.restartedBy === undefined)
          this.#leases.holds(process, walk, `${type} (${it.reason})`)
        const rises = it.reason === 'expired' || it.reason === 'owner_dead' || it.reason === 'retry' ? 1 : 0
        if (it.attempt !== walk.attempt + rises)
          this.#findings.violated(
            'I10',
            `task ${task}: attempt ${it.attempt} follows ${walk.attempt} by ${it.reason}`,
          )
        if (it.reason === 'retry') this.#findings.count('retries')
        for (const key of it.dropped ?? []) {
          found.signals.delete(key)
          found.due.delete(key)
        }
        walk.attempt = it.attempt
        walk.dueAt = it.dueAt ?? null
        this.#leave(found, walk, QUEUED)
        return
      }
      case 'task.completed':
        ofHolder()
        this.#findings.count('completions')
        this.#outputRules(this.#workerOf(found), task, data['output'])
        this.#parts.structures.pipelines.summed(task, data['output'])
        this.#leave(found, walk, COMPLETED)
        return
      case 'task.failed': {
        const kind = String(data['kind'])
        const isOver = kind === 'budget_exceeded'
        move(RUNNING, WAITING, ...(isOver ? [QUEUED] : []))
        if (kind === 'lease_lost') {
          this.#leases.expired(walk, 'either')
          if (found.measured?.held === undefined)
            this.#findings.violated('10.1', `task ${task}, which nobody holds, failed with its lease`)
        } else if (kind === 'poisoned') {
          this.#leases.expired(walk, 'either')
          if (walk.crashes !== this.#parts.config.maxCrashes)
            this.#findings.violated('C17', `task ${task} is poisoned after ${walk.crashes} crashes`)
        } else if (walk.state === RUNNING && !isOver) this.#leases.holds(process, walk, type)
        this.#failureRules(found, task, kind, data['error'])
        this.#findings.count('failures')
        this.#leave(found, walk, FAILED)
        return
      }
      case 'task.canceled': {
        move(QUEUED, RUNNING, WAITING)
        const isAsked =
          this.#asked.has(this.#parts.ids.task(task)) ||
          this.#parts.work.mayBeCanceled(found, String(data['reason']))
        if (!isAsked && walk.parent === null)
          this.#findings.violated('I18', `task ${task} was canceled, and nobody asked for it`)
        this.#findings.count('cancels')
        this.#leave(found, walk, CANCELED)
        return
      }
      case 'task.waiting': {
        ofHolder()
        this.#findings.count('waits')
        const it = data as unknown as EventData['task.waiting']
        for (const wait of it.waits ?? []) this.#waits(found, wait, it.dueAt?.[wait.key])
        found.divergent = it.reason === 'divergence'
        this.#leave(found, walk, WAITING)
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
        found.memos.set(key, {
          seq: event.seq,
          position: Number(data['position']),
          result: JSON.stringify(data['result']),
        })
        return
      }
      case 'step.inherited':
        this.#inherits(found, walk, event.seq, data as unknown as EventData['step.inherited'])
        return
      case 'wait.inherited':
      case 'child.inherited':
      case 'doubt.inherited':
        // A supervisor keeps a child when it would start it.
        if (String(data['key']).startsWith('$ku0/supervised/')) ofHolder()
        else move(QUEUED)
        if (found.forkOf === undefined)
          this.#findings.violated('6.3', `task ${task} is no fork, and has an event ${type}`)
        if (data['since'] !== undefined) found.rejections += 1
        return
      case 'child.spawned':
        // A permanent child that has completed is started anew by its supervisor, whoever holds that.
        if (this.#isAsked || this.#parts.structures.supervisors.isAnew(task, data))
          move(QUEUED, RUNNING, WAITING)
        else ofHolder()
        this.#findings.count('children')
        found.policyOfChildren.set(
          String(data['taskId']),
          this.#policies.get(`${this.#parts.ids.lease(walk.lease ?? 0)} ${String(data['key'])}`) ??
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
      case 'supervisor.restarted':
      case 'supervisor.escalated':
      case 'supervisor.renewed':
        move(QUEUED, RUNNING, WAITING)
        this.#findings.count(
          type === 'signal.received' ? 'signals' : 'verdicts',
          type === 'signal.received' || type === 'approval.resolved' ? 1 : 0,
        )
        return
      case 'budget.asked':
      case 'budget.continued':
        move(QUEUED, RUNNING, WAITING)
        if (type === 'budget.asked') this.#findings.count('budgets asked')
        return
      case 'limit.warned':
        ofHolder()
        return
      case 'credits.asked':
        move(QUEUED)
        this.#parts.structures.ledger.asked(found, data as unknown as EventData['credits.asked'], event.at)
        return
      case 'task.leaked':
      case 'task.killed':
      case 'task.charged':
        return
      default:
        this.#findings.violated('I4', `task ${task} has an event ${type} that nothing here can bring about`)
    }
  }

  /** I2, 6.3: a fork was asked for, and begins with memos of the task that it is of, which is over. */
  #forked(found: Followed, { id: task, parent }: Walk, forkOf: string): void {
    this.#findings.count('forks')
    const source = this.#parts.ids.taskNumber(forkOf) ?? 0
    found.forkOf = source
    found.name = `${found.name}, fork ${task}`
    const above = this.#parts.followed.get(source)?.row.parent ?? null
    // Who tries a task again tries those of its children again that had not completed.
    if (parent !== null && above !== null && this.#parts.followed.get(parent)?.forkOf === above)
      this.forks(source, undefined)
    const asked = this.#forks.get(source) ?? []
    if (asked.length === 0)
      this.#findings.violated('I2', `task ${task} is a fork of ${source} that nobody asked for`)
    const state = this.#parts.followed.get(source)?.row.state ?? QUEUED
    if (state < COMPLETED)
      this.#findings.violated('6.3', `task ${task} is a fork of ${source}, which is ${nameOf(state)}`)
  }

  /** 6.3: a memo of a fork is that of its source, and was there before what it is forked from. */
  #inherits(found: Followed, walk: Walk, seq: number, it: EventData['step.inherited']): void {
    this.#findings.count('inherited memos')
    const { key, position } = it
    const result = JSON.stringify(it.result)
    const source = this.#parts.followed.get(found.forkOf ?? 0)
    if (walk.state !== QUEUED || walk.fence > 0)
      this.#findings.violated('6.3', `task ${walk.id} inherits '${key}' when it is ${nameOf(walk.state)}`)
    if (source?.memos.get(key)?.result !== result)
      this.#findings.violated(
        '6.3',
        `task ${walk.id} inherits ${result} for '${key}', its source has ${source?.memos.get(key)?.result}`,
      )
    const asked = this.#forks.get(found.forkOf ?? 0) ?? []
    const isBefore = asked.some(
      (step) =>
        position <= (source?.memos.get(step ?? '')?.position ?? Number.POSITIVE_INFINITY) && key !== step,
    )
    if (!isBefore)
      this.#findings.violated(
        '6.3',
        `task ${walk.id} inherits '${key}', which came after what it is forked from`,
      )
    found.memos.set(key, { seq, position, result })
  }

  /** A fork was answered (I1): it has every step that its source had before what it is forked from (6.3). */
  forkAnswered(taskId: string, source: number, fromStep: string | undefined): void {
    const found = this.#parts.followed.get(this.#parts.ids.taskNumber(taskId) ?? 0)
    const of = this.#parts.followed.get(source)
    if (found?.forkOf !== source || of === undefined)
      return this.#findings.violated('I1', `the fork ${taskId} of task ${source} was answered, and is none`)
    const before = of.memos.get(fromStep ?? '')?.position ?? Number.POSITIVE_INFINITY
    for (const [key, { position }] of of.memos)
      if (key.startsWith('step') && position < before && !found.memos.has(key))
        this.#findings.violated('6.3', `task ${found.row.id}, a fork of ${source}, lacks its '${key}'`)
  }

  /** Somebody asks for a fork of a task, before a step or of all of it. */
  forks(source: number, fromStep: string | undefined): void {
    this.#forks.set(source, [...(this.#forks.get(source) ?? []), fromStep])
  }

  /** Tasks of the queue that are over, and may be forked. */
  forkable(): readonly Followed[] {
    return [...this.#parts.followed.values()].filter(
      ({ row, measured }) => row.state >= COMPLETED && row.state < REJECTED && measured?.held === undefined,
    )
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
    const owner = this.#parts.ids.taskNumber(budget) ?? 0
    this.#findings.count('budgets exceeded')
    if (this.#parts.followed.get(owner)?.isBudgeted !== true) return false
    return (stopped && (this.#stopped.has(task) || this.#stopped.has(owner))) || used > limit
  }

  #leave(found: Followed, walk: Walk, state: number): void {
    this.#parts.work.left(found)
    walk.state = state
    walk.lease = null
    walk.isFresh = false
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

  /** The task whose handler gave its output. */
  #workerOf(found: Followed): Followed {
    return this.#parts.followed.get(this.#parts.structures.recoveries.workerOf(found.row.id)) ?? found
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
      kind === 'lease_lost' ||
      (kind === 'budget_exceeded' &&
        this.#parts.work.mayExceed(found, message, this.#parts.monotonic() - found.leasedAt)) ||
      (kind === 'budget_exceeded' && this.#mayBeOver(task, error)) ||
      this.#parts.structures.mayFail(this.#parts.followed, found, kind) ||
      (kind === 'error' && message.includes('that are left of the budget')) ||
      (kind === 'error' && found.mayFail && message.includes('as planned'))
    if (!isExpected)
      this.#findings.violated(
        '6.1',
        `task ${task} (${found.name}) failed (${kind}): ${JSON.stringify(error).slice(0, 300)}`,
      )
  }
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

import { createHash } from 'node:crypto'
import { MICRO, type EventData, type OutOfCredits } from '@ku0/agent-runtime-core'
import type { AuditedEvent } from './stored-rows.ts'
import type { Findings } from './findings.ts'
import { CANCELED, COMPLETED, FAILED, type Followed, nameOf } from './followed.ts'
import { agreements, keyOf, type PipelineProgram, restartOf, supervisorTerms } from './structures.ts'
import { type CreditState, type Entry, type StructureRows } from './stored-rows.ts'

const [OPENING, PURCHASE, RESERVE, SETTLE] = [0, 1, 2, 3] as const

/** A child of a supervisor. */
interface Seat {
  readonly id: string
  readonly restart: string
  /** Its place among the children, and the event of its start. */
  readonly position: number
  readonly seq: number
}

/** A supervisor as its events say it is. */
interface Team {
  readonly strategy: string
  /** By task; a permanent child has several, one after the other. */
  readonly children: Map<number, Seat>
  times: number[]
}

/** What a commit says of supervisors. */
interface Happened {
  /** Children that went back to the queue: by whom, why. */
  readonly back: { readonly task: number; readonly by: string; readonly reason: string }[]
  readonly restarts: {
    readonly team: number
    readonly seq: number
    readonly it: EventData['supervisor.restarted']
  }[]
  /** Supervisors that had done too many, and the one above that has started them again. */
  readonly passed: { readonly team: number; readonly child: string; readonly to: string }[]
  readonly failed: { readonly task: number; readonly kind: string; readonly at: number }[]
  readonly completed: { readonly task: number; readonly at: number }[]
  readonly kept: { readonly team: number; readonly task: number }[]
  /** Children that were started anew as other tasks. */
  readonly anew: { readonly team: number; readonly task: number; readonly id: string }[]
  /** The leases that tasks had before. */
  readonly leases: Map<number, number | null>
}

/**
 * The part of the audit that looks at what is built of tasks, supervisors and pipelines, and at what clients have agreed to and pay. It
 * has its own model of each.
 */
export class StructureAudit {
  readonly #findings: Findings
  readonly #numberOf: (taskId: string) => number | undefined
  readonly #idOf: (task: number) => string
  readonly #ledger: OutOfCredits | undefined
  readonly #teams = new Map<number, Team>()
  readonly #programs = new Map<number, PipelineProgram>()
  readonly #choices = new Map<number, OutOfCredits>()
  readonly #bought = new Map<string, number>()
  /** The entries that were seen, by client, in order: those too that were folded since. */
  readonly #seen = new Map<string, readonly Entry[]>()
  #folded = 0
  #happened = nothingYet()
  #entries = 0

  constructor(
    findings: Findings,
    {
      numberOf,
      idOf,
      ledger,
    }: {
      readonly numberOf: (taskId: string) => number | undefined
      readonly idOf: (task: number) => string
      /** What happens without credits; undefined where they are no ledger. */
      readonly ledger: OutOfCredits | undefined
    },
  ) {
    this.#findings = findings
    this.#numberOf = numberOf
    this.#idOf = idOf
    this.#ledger = ledger
  }

  /** A purchase was answered (I1). */
  bought(client: string, key: string, credits: number): void {
    this.#bought.set(`${client} ${key}`, credits * MICRO)
  }

  /** Whether a supervisor, a pipeline or a stage may fail so. */
  mayFail(tasks: ReadonlyMap<number, Followed>, { row, forkOf }: Followed, kind: string): boolean {
    if (kind === 'escalated') return this.#teams.has(row.id)
    if (kind !== 'error' || !this.#programs.has(row.id)) return false
    // A fork has no log and no place in one; a stage that ended otherwise ends its pipeline.
    const stages = [...tasks.values()].filter(({ row: { parent } }) => parent === row.id)
    return forkOf !== undefined || stages.some(({ row: { state } }) => state === FAILED || state === CANCELED)
  }

  /** 12.5: what comes under an agreement has its terms; its children have those that go on. */
  queued(found: Followed, task: number, it: EventData['task.queued'], parent: number | null): void {
    const program = it.input as Partial<PipelineProgram> | undefined
    if (program?.events !== undefined) this.#programs.set(task, program as PipelineProgram)
    const { outOfCredits, oversight, labels, client = '' } = it
    if (outOfCredits !== undefined) this.#choices.set(task, outOfCredits)
    const name = labels?.['agreement']
    const terms = name === undefined ? undefined : agreements[name]
    if (terms !== undefined && it.forkOf === undefined) {
      this.#findings.count('agreed submissions')
      const lane = ['interactive', 'normal', 'batch'][found.lane]
      const [said, due] = [
        [client, lane, oversight, outOfCredits],
        [terms.client, terms.lane ?? lane, terms.oversight, terms.outOfCredits],
      ]
      if (said.join() !== due.join())
        this.#violated('12.5', `task ${task} comes under '${name}' with ${said.join()}, not ${due.join()}`)
    }
    if (parent !== null && this.#choices.get(parent) !== outOfCredits)
      this.#violated(
        '12.5',
        `task ${task} has ${outOfCredits} without credits, its parent ${this.#choices.get(parent)}`,
      )
  }

  rejected(task: number, it: EventData['task.rejected']): void {
    const { verdict } = it
    if (verdict?.by !== 'credits') return
    this.#findings.count('refused for credits')
    if (verdict.credits >= verdict.asked)
      this.#violated('11.9', `task ${task} is refused with ${verdict.credits} credits of ${verdict.asked}`)
  }

  /** An event of a task, in order; `before`: the lease that the task had before the commit. */
  event(
    found: Followed,
    task: number,
    { seq, type, at }: AuditedEvent,
    data: Readonly<Record<string, unknown>>,
  ): void {
    switch (type) {
      case 'wait.started': {
        const key = String(data['key'])
        if (key.startsWith('$ku0/supervisor/') && !this.#teams.has(task))
          this.#teams.set(task, { strategy: found.strategy ?? '', children: new Map(), times: [] })
        return
      }
      case 'child.spawned': {
        const [, restart, id] = /^\$ku0\/supervised\/(\w+)\/(.+)$/.exec(String(data['key'])) ?? []
        const child = this.#numberOf(String(data['taskId']))
        if (restart === undefined || id === undefined || child === undefined) return
        if (this.isAnew(task, data)) {
          this.#findings.count('started anew')
          this.#happened.anew.push({ team: task, task: child, id })
        }
        const seat = { id, restart: restartOf[id] ?? restart, position: Number(data['position']), seq }
        this.#teams.get(task)?.children.set(child, seat)
        return
      }
      case 'child.inherited':
        this.#kept(found, task, data)
        return
      case 'task.completed':
        this.#happened.completed.push({ task, at })
        return
      case 'task.requeued':
        if (typeof data['restartedBy'] === 'string')
          this.#happened.back.push({ task, by: data['restartedBy'], reason: String(data['reason']) })
        return
      case 'supervisor.restarted':
        this.#findings.count('supervised restarts')
        this.#happened.restarts.push({ team: task, seq, it: data as EventData['supervisor.restarted'] })
        this.#counts(task, at, data as EventData['supervisor.restarted'])
        return
      case 'task.failed':
        this.#happened.failed.push({ task, kind: String(data['kind']), at })
        return
      case 'supervisor.escalated': {
        const { child, to, count } = data as EventData['supervisor.escalated']
        this.#happened.passed.push({ team: task, child, to })
        this.#findings.count('escalations')
        if (count <= supervisorTerms.maxRestarts)
          this.#violated(
            '14.2',
            `supervisor ${task} gave up at restart ${count} of ${supervisorTerms.maxRestarts}`,
          )
        this.#forget(task)
        return
      }
      case 'supervisor.renewed':
        this.#forget(task)
    }
  }

  /** Whether a supervisor had a child of this id before. */
  isAnew(task: number, data: Readonly<Record<string, unknown>>): boolean {
    const id = /^\$ku0\/supervised\/\w+\/(.+)$/.exec(String(data['key']))?.[1]
    return [...(this.#teams.get(task)?.children.values() ?? [])].some((seat) => seat.id === id)
  }

  /** 14.2: the retry of a supervisor keeps a child only if it had completed there. */
  #kept({ forkOf = 0 }: Followed, task: number, data: Readonly<Record<string, unknown>>): void {
    const child = this.#numberOf(String(data['taskId'])) ?? 0
    const seat = this.#teams.get(forkOf)?.children.get(child)
    if (!String(data['key']).startsWith('$ku0/supervised/')) return
    this.#happened.kept.push({ team: task, task: child })
    if (seat === undefined || seat.restart === 'permanent')
      this.#violated('14.2', `supervisor ${task} has kept task ${child}, which ${forkOf} did not have so`)
  }

  /** Its restarts count no more. */
  #forget(task: number): void {
    const team = this.#teams.get(task)
    if (team !== undefined) team.times = []
  }

  /** The lease that a task had before the commit. */
  leased(task: number, lease: number | null): void {
    this.#happened.leases.set(task, lease)
  }

  /** 14.2: the restarts of a period count, and no more than the maximum are done. */
  #counts(task: number, at: number, it: EventData['supervisor.restarted']): void {
    const team = this.#teams.get(task)
    if (team === undefined)
      return this.#violated('14.2', `task ${task} is no supervisor, and restarts '${it.child}'`)
    team.times = [...team.times.filter((then) => at <= then + supervisorTerms.periodMs), at]
    const count = team.times.length
    if (it.count !== count)
      this.#violated('14.2', `supervisor ${task} counts ${it.count} restarts, there are ${count}`)
    if (count > supervisorTerms.maxRestarts)
      this.#violated(
        '14.2',
        `supervisor ${task} has done ${count} restarts of ${supervisorTerms.maxRestarts}`,
      )
    if (it.strategy !== team.strategy)
      this.#violated('14.1', `supervisor ${task} goes by ${it.strategy}, it is ${team.strategy}`)
  }

  /** After a commit. */
  look(tasks: ReadonlyMap<number, Followed>, rows: StructureRows): void {
    const happened = this.#happened
    this.#happened = nothingYet()
    this.#restarts(tasks, happened)
    this.#ends(tasks, happened)
    this.#pipelines(tasks, rows)
    if (this.#ledger !== undefined) this.#ledgers(tasks, rows)
  }

  /** 14.1: each child that went back was started again by its supervisor, once, and those that its strategy names were stopped with it. */
  #restarts(
    tasks: ReadonlyMap<number, Followed>,
    { back, restarts, passed, leases, kept, anew }: Happened,
  ): void {
    const due = restarts.map(({ team, it }) => `${team} ${it.child}`)
    for (const { team, task } of kept)
      if (tasks.get(task)?.row.state !== COMPLETED)
        this.#violated('14.2', `supervisor ${team} has kept task ${task}, which has not completed`)
    for (const { team, task, id } of anew) {
      const before = this.#before(team, task)
      if (restartOf[id] !== 'permanent' || tasks.get(before)?.row.state !== COMPLETED)
        this.#violated('14.1', `task ${task} takes the place of '${id}', which has not completed for good`)
      const place = due.indexOf(this.#restartFor(tasks, passed, team, id))
      if (place === -1)
        this.#violated('14.1', `task ${task} was started anew, and its supervisor does not know`)
      else due.splice(place, 1)
    }
    for (const { task, by, reason } of back) {
      const seat = this.#seatBelow(tasks, task, by)
      if (seat === undefined) {
        this.#violated('14.1', `task ${task} was restarted by ${by}, which is not above it`)
        continue
      }
      const { team, id, between } = seat
      if (reason === 'restarted') {
        const isNamed = restarts.some(
          ({ team: other, it }) =>
            other === team && (it.stopped.includes(id) || (between.length > 0 && it.child === id)),
        )
        if (!isNamed) this.#violated('14.1', `task ${task} was stopped, and no restart says so`)
        continue
      }
      for (const lower of between)
        if (!passed.some((it) => it.team === lower && it.to === by))
          this.#violated(
            '14.2',
            `task ${task} was restarted by ${by}, and ${lower} between them did not give up`,
          )
      const place = due.indexOf(`${team} ${id}`)
      if (place === -1)
        this.#violated('14.1', `task ${task} was started again, and its supervisor does not know`)
      else due.splice(place, 1)
    }
    for (const name of due)
      this.#violated('14.1', `the supervisor and child ${name} restarted, and nothing came back`)
    for (const { team, seq, it } of restarts) this.#stops(tasks, team, seq, it, leases)
  }

  /** The task that a child was before it was started anew. */
  #before(team: number, task: number): number {
    const children = [...(this.#teams.get(team)?.children ?? [])]
    const id = this.#teams.get(team)?.children.get(task)?.id
    return children.findLast(([number, seat]) => number < task && seat.id === id)?.[0] ?? 0
  }

  /** The restart that a child comes back by: its supervisor's, or that of the one above to which it was passed on. */
  #restartFor(
    tasks: ReadonlyMap<number, Followed>,
    passed: Happened['passed'],
    team: number,
    id: string,
  ): string {
    if (!passed.some((it) => it.team === team && it.child === id)) return `${team} ${id}`
    const above = tasks.get(team)?.row.parent ?? 0
    return this.#restartFor(tasks, passed, above, this.#teams.get(above)?.children.get(team)?.id ?? '')
  }

  /** The child of a supervisor, by its id, that a task is or is below; and the supervisors between them. */
  #seatBelow(
    tasks: ReadonlyMap<number, Followed>,
    task: number,
    by: string,
  ): { readonly team: number; readonly id: string; readonly between: readonly number[] } | undefined {
    const between: number[] = []
    for (let below = task; ;) {
      const team = tasks.get(below)?.row.parent ?? undefined
      const id = team === undefined ? undefined : this.#teams.get(team)?.children.get(below)?.id
      if (team === undefined || id === undefined) return undefined
      if (this.#idOf(team) === by) return { team, id, between }
      between.push(team)
      below = team
    }
  }

  #stops(
    tasks: ReadonlyMap<number, Followed>,
    task: number,
    seq: number,
    { child, stopped }: EventData['supervisor.restarted'],
    leases: Happened['leases'],
  ): void {
    const team = this.#teams.get(task)
    if (team === undefined) return
    // Of a child that was started anew before this, only the last task counts.
    const seats = [...team.children]
      .map(([number, seat]) => ({ number, ...seat }))
      .toSorted((a, b) => a.position - b.position || a.number - b.number)
      .filter(
        ({ id, seq: at }, place, all) =>
          !all.some((other, later) => later > place && other.id === id && other.seq < seq && at < seq),
      )
    const failed = seats.findIndex(({ id }) => id === child)
    const from = { one_for_all: 0, rest_for_one: failed }[team.strategy] ?? seats.length
    const others = seats
      .filter((seat, place) => place >= from && seat.id !== child && seat.seq < seq)
      .toReversed()
    const isOpen = (number: number) => (tasks.get(number)?.row.state ?? COMPLETED) < COMPLETED
    const must = others.filter(({ number }) => isOpen(number)).map(({ id }) => id)
    const named = others.filter(({ id }) => stopped.includes(id)).map(({ id }) => id)
    if (named.join() !== stopped.join() || must.some((id) => !stopped.includes(id)))
      this.#violated(
        '14.1',
        `supervisor ${task} stopped ${stopped.join()} with '${child}', not ${must.join()}`,
      )
    for (const { number, id, restart } of others) {
      if (!stopped.includes(id)) continue
      const row = tasks.get(number)?.row
      const before = leases.has(number) ? leases.get(number) : row?.lease
      if (restart === 'temporary' && row?.state !== CANCELED)
        this.#violated('14.1', `the temporary task ${number} was stopped, and is ${nameOf(row?.state)}`)
      if (row?.lease != null && row.lease === before)
        this.#violated('14.1', `task ${number} was stopped, and still has the lease ${row.lease}`)
    }
  }

  /** 14.2: a supervisor loses no child that it is to start again, unless it has done that too often or that does not mend it: then it fails. */
  #ends(tasks: ReadonlyMap<number, Followed>, { failed, completed, anew, passed }: Happened): void {
    const kinds = new Map(failed.map(({ task, kind }) => [task, kind]))
    // A supervisor that lost such a child is not mended by another try either.
    const isHopeless = (task: number): boolean => {
      const kind = kinds.get(task)
      if (kind !== 'escalated') return kind === 'budget_exceeded' || kind === 'not_approved'
      return [...(this.#teams.get(task)?.children.keys() ?? [])].some((child) => isHopeless(child))
    }
    const lost = new Set<number>()
    for (const { task, at } of failed) {
      const parent = tasks.get(task)?.row.parent ?? 0
      const team = this.#teams.get(parent)
      const restart = team?.children.get(task)?.restart ?? 'temporary'
      if (team === undefined || restart === 'temporary') continue
      lost.add(parent)
      const count = team.times.filter((then) => at <= then + supervisorTerms.periodMs).length
      if (count < supervisorTerms.maxRestarts && !isHopeless(task))
        this.#violated(
          '14.2',
          `task ${task} failed after ${count} restarts of ${supervisorTerms.maxRestarts}`,
        )
      const state = tasks.get(parent)?.row.state ?? 0
      if (state !== FAILED && state !== CANCELED)
        this.#violated('14.2', `supervisor ${parent} has lost task ${task}, and is ${nameOf(state)}`)
    }
    for (const { task, at } of completed) {
      const parent = tasks.get(task)?.row.parent ?? 0
      const team = this.#teams.get(parent)
      const seat = team?.children.get(task)
      if (team === undefined || seat?.restart !== 'permanent') continue
      if (anew.some((it) => it.team === parent && this.#before(parent, it.task) === task)) continue
      lost.add(parent)
      const count = team.times.filter((then) => at <= then + supervisorTerms.periodMs).length
      const state = tasks.get(parent)?.row.state ?? 0
      const isOver = state === FAILED || state === CANCELED
      if (count < supervisorTerms.maxRestarts && !isOver)
        this.#violated('14.1', `the permanent task ${task} has completed, and was not started anew`)
      else if (!isOver && !passed.some((it) => it.team === parent))
        this.#violated('14.2', `supervisor ${parent} has lost task ${task}, and is ${nameOf(state)}`)
    }
    for (const { task, kind } of failed) {
      if (kind !== 'escalated') continue
      this.#findings.count('escalations')
      if (!lost.has(task)) this.#violated('14.2', `supervisor ${task} gave up, and has lost no child`)
    }
  }

  /** 13.2: the log has each event once, in order, without a gap, and each stage has received those of its types so. */
  #pipelines(tasks: ReadonlyMap<number, Followed>, { pipelines, chunks }: StructureRows): void {
    const logs = Map.groupBy(chunks, ({ task }) => task)
    for (const { task, log } of pipelines) {
      const events: Logged[] = []
      const program = this.#programs.get(task)
      const seen = new Map<string, number>()
      const last = new Map<number, number>()
      for (const [index, { seq, data }] of (logs.get(task) ?? []).entries()) {
        const { type, data: value, ...by } = JSON.parse(data) as Omit<Logged, 'nth' | 'seq'>
        const nth = seen.get(type) ?? 0
        seen.set(type, nth + 1)
        events.push({ ...by, type, data: value, nth, seq })
        if (seq !== index + 1)
          this.#violated('13.2', `event ${seq} of pipeline ${task} stands at place ${index + 1}`)
        // Partitions are as fast as they are, each in its own order.
        const { partition } = by
        const due = type === 'n' ? nth : 2 * nth
        const isRight = partition === undefined ? value === due : value > (last.get(partition) ?? -1)
        if (partition !== undefined) last.set(partition, value)
        if (!isRight) this.#violated('13.2', `'${type}' ${nth} of pipeline ${task} is ${value}`)
        const hash = type === 'n' && program?.keyed === true ? hashOf(keyOf(value)) : undefined
        if (by.keyHash !== hash)
          this.#violated('13.2', `event ${seq} of pipeline ${task} has the key ${by.keyHash}, not ${hash}`)
      }
      const { seq } = JSON.parse(log) as { seq: number }
      if (seq !== events.length)
        this.#violated('13.2', `pipeline ${task} counts ${seq} events, its log has ${events.length}`)
      for (const found of tasks.values()) if (found.row.parent === task) this.#receipts(found, events)
    }
  }

  /** What a stage has received, by the memos of its receipts. */
  #receipts({ row, memos }: Followed, events: readonly Logged[]): void {
    const taken = [...memos].flatMap(([key, { result }]) => {
      const [, types, nth] = /^\$ku0\/receive\/([^/]*)\/(\d+)$/.exec(key) ?? []
      return types === undefined ? [] : [{ types: types.split(','), nth: Number(nth), result }]
    })
    const own = events.filter((event) => this.#isFor(row.id, event))
    const next = new Map<string, number[]>()
    for (const { types, result } of taken.toSorted((a, b) => a.nth - b.nth)) {
      const { ranges } = JSON.parse(result) as { ranges: readonly (readonly [number, number])[] }
      for (const type of types) {
        const all = next.get(type) ?? own.flatMap((event) => (event.type === type ? [event.seq] : []))
        next.set(type, all)
        for (const [first, count] of ranges)
          for (let seq = first; seq < first + count; seq += 1)
            if (all.shift() !== seq)
              this.#violated(
                '13.2',
                `stage ${row.id} has received event ${seq}, which is not its next '${type}'`,
              )
      }
    }
  }

  /** Whether a task of a stage is the one of those of its stage that gets an event: by its key, or in turn. */
  #isFor(task: number, { type, data, nth }: Logged): boolean {
    const { name = '', partitions = 1, keyed } = this.#programs.get(task) ?? {}
    const partition = /\/double\/(\d+)$/.exec(name)?.[1]
    if (partition === undefined || type !== 'n') return true
    return ((keyed === true ? hashOf(keyOf(data)) : nth) % partitions) + 1 === Number(partition)
  }

  /** A sink has summed up what its pipeline streamed: each event once, in order. */
  summed(task: number, output: unknown): void {
    const program = this.#programs.get(task)
    if (program?.name.endsWith('/sink') !== true) return
    const isParted = program.partitions !== undefined
    this.#findings.count(isParted ? 'parted streams' : 'streams')
    const due = Array.from({ length: program.events }, (_, n) => 2 * n)
    const [[, said] = []] = (Array.isArray(output) ? output : []) as [string, unknown][]
    const sum = isParted && Array.isArray(said) ? (said as number[]).toSorted((a, b) => a - b) : said
    if (JSON.stringify(sum) !== JSON.stringify(due))
      this.#violated('13.2', `task ${task} has received ${JSON.stringify(sum)}, not ${JSON.stringify(due)}`)
  }

  /** Whether a task that was never started waits for credits, by the rows. */
  lacksCredits({ row, client, estimate, measured }: Followed, clients: readonly CreditState[]): boolean {
    const choice = this.#choiceOf(row.id)
    if (this.#ledger === undefined || choice === 'run' || row.fence > 0 || measured?.held !== undefined)
      return false
    const credits = clients.find(({ name }) => name === client)?.credits ?? 0
    return credits < estimate * MICRO
  }

  #choiceOf(task: number): OutOfCredits {
    return this.#choices.get(task) ?? this.#ledger ?? 'run'
  }

  /** 11.8: each entry is the one before it and what it changes; what is reserved are the estimates of what has started; nothing is bought twice. */
  #ledgers(tasks: ReadonlyMap<number, Followed>, { clients, entries: rows }: StructureRows): void {
    const entries = this.#unfolded(tasks, rows)
    this.#findings.count('entries', Math.max(0, entries.length - this.#entries))
    this.#entries = entries.length
    const there = new Set(rows)
    const held = new Map<string, number>()
    for (const { row, client, estimate, measured } of tasks.values())
      if (row.fence > 0 && row.state < COMPLETED && measured?.held === undefined)
        held.set(client, (held.get(client) ?? 0) + Math.round(estimate * MICRO))
    const byClient = Map.groupBy(entries, ({ client }) => client)
    for (const { name, credits } of clients) {
      const own = byClient.get(name) ?? []
      let [free, reserved] = [0, 0]
      const keys = new Set<string>()
      for (const [index, entry] of own.entries()) {
        free += entry.amount
        reserved += entry.held
        if (entry.seq !== index + 1)
          this.#violated('11.8', `entry ${entry.seq} of '${name}' stands at place ${index + 1}`)
        if (entry.credits !== free || entry.reserved !== reserved)
          this.#violated(
            '11.8',
            `entry ${entry.seq} of '${name}' says ${entry.credits} and ${entry.reserved}, the sums are ${free} and ${reserved}`,
          )
        // A key whose purchase was folded buys again.
        const isKept = entry.kind === PURCHASE && there.has(entry)
        if (isKept && keys.has(entry.key ?? ''))
          this.#violated('11.8', `'${name}' has bought '${entry.key}' twice`)
        if (isKept) keys.add(entry.key ?? '')
        if (entry.kind === RESERVE && entry.credits < 0 && this.#choiceOf(entry.task ?? 0) !== 'run')
          this.#violated(
            '11.9',
            `task ${entry.task} has started with ${entry.credits - entry.amount} millionths of '${name}'`,
          )
      }
      if (own.length > 0 && credits !== free)
        this.#violated('11.8', `'${name}' has ${credits} millionths, the entries sum to ${free}`)
      if (reserved !== (held.get(name) ?? 0))
        this.#violated(
          '11.8',
          `'${name}' has ${reserved} millionths reserved, what has started is estimated at ${held.get(name) ?? 0}`,
        )
    }
    this.#settled(tasks, entries)
  }

  /**
   * 11.8: all entries of each ledger, those that were folded as they were seen before. The entry that stands for them has their sums, and none of them holds
   * credits of a task that is not over.
   */
  #unfolded(tasks: ReadonlyMap<number, Followed>, rows: readonly Entry[]): readonly Entry[] {
    const stand = rows.filter(({ kind, seq }) => kind === OPENING && seq > 1)
    const folded = stand.reduce((sum, { seq }) => sum + seq, 0)
    this.#findings.count('folded entries', folded - this.#folded)
    this.#folded = folded
    return [...Map.groupBy(rows, ({ client }) => client)].flatMap(([client, own]) => {
      const [first] = own
      const seen = this.#seen.get(client) ?? []
      const gone = first?.kind === OPENING && first.seq > 1 ? seen.filter(({ seq }) => seq <= first.seq) : []
      const all = gone.length === 0 ? own : [...gone, ...own.slice(1)]
      this.#seen.set(client, all)
      if (first === undefined || gone.length === 0) return all
      const free = gone.reduce((sum, { amount }) => sum + amount, 0)
      const reserved = gone.reduce((sum, { held }) => sum + held, 0)
      if (first.amount !== free || first.held !== reserved || gone.length !== first.seq)
        this.#violated(
          '11.8',
          `entry ${first.seq} of '${client}' opens with ${first.amount} and ${first.held}, the ${gone.length} entries before came to ${free} and ${reserved}`,
        )
      const early = gone.find(
        ({ kind, task }) => kind === RESERVE && (tasks.get(task ?? 0)?.row.state ?? COMPLETED) < COMPLETED,
      )
      if (early !== undefined)
        this.#violated(
          '11.8',
          `entry ${early.seq} of '${client}' was folded before task ${early.task} was over`,
        )
      return all
    })
  }

  /** 11.8: a task is reserved for once, and settled at what it has cost. */
  #settled(tasks: ReadonlyMap<number, Followed>, entries: readonly Entry[]): void {
    const sums = new Map<number, { reserves: number; cost: number }>()
    for (const { task, kind, amount, held } of entries) {
      if (task === null) continue
      const sum = sums.get(task) ?? { reserves: 0, cost: 0 }
      if (kind === RESERVE) sum.reserves += 1
      if (kind === SETTLE) sum.cost -= amount + held
      sums.set(task, sum)
    }
    for (const { row, paid, estimate, measured } of tasks.values()) {
      if (row.fence === 0 || measured?.held !== undefined) continue
      const { reserves, cost } = sums.get(row.id) ?? { reserves: 0, cost: 0 }
      if (reserves !== 1) this.#violated('11.8', `task ${row.id} was reserved for ${reserves} times`)
      const due = row.state < COMPLETED ? 0 : paid > 0 ? paid : Math.round(estimate * MICRO)
      if (cost !== due)
        this.#violated('11.8', `task ${row.id} was settled at ${cost} millionths, and has cost ${due}`)
    }
  }

  /** At the end: no purchase that was answered is lost, or another (I1). */
  end({ entries: rows }: StructureRows): void {
    const entries = this.#ledger === undefined ? rows : [...this.#seen.values()].flat()
    const there = new Map(
      entries.flatMap(({ client, kind, key, amount }) =>
        kind === PURCHASE ? [[`${client} ${key}`, amount]] : [],
      ),
    )
    for (const [name, amount] of this.#bought)
      if (there.get(name) !== amount)
        this.#violated(
          'I1',
          `the purchase ${name} of ${amount} was answered, and is ${there.get(name) ?? 'gone'}`,
        )
  }

  #violated(rule: string, text: string): void {
    this.#findings.violated(rule, text)
  }
}

/** An event of a log, with how many of its type came before it. */
interface Logged {
  readonly seq: number
  readonly nth: number
  readonly type: string
  readonly data: number
  readonly partition?: number
  readonly keyHash?: number
}

/** The hash of a key, as the rules of pipelines say it is. */
function hashOf(key: string): number {
  return Number.parseInt(createHash('sha256').update(key).digest('hex').slice(0, 8), 16) % 1_024
}

function nothingYet(): Happened {
  return {
    back: [],
    restarts: [],
    passed: [],
    failed: [],
    completed: [],
    kept: [],
    anew: [],
    leases: new Map(),
  }
}

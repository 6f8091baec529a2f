import type { ChildRestart, EventData } from '@ku0/agent-runtime-core'
import type { Findings } from './findings.ts'
import { CANCELED, COMPLETED, FAILED, type Followed, nameOf } from './followed.ts'
import type { AuditedEvent } from './stored-rows.ts'
import { restartOf, supervisorTerms } from './structures.ts'

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

/** The part of the audit that looks at supervisors and their children, by a model of its own. Source: `docs/semantics.md 14.1, 14.2`. */
export class SupervisorAudit {
  readonly #findings: Findings
  readonly #numberOf: (taskId: string) => number | undefined
  readonly #idOf: (task: number) => string
  readonly #teams = new Map<number, Team>()
  /** The tasks that were the first child of a supervisor, and what each child of supervisors came to. */
  readonly #firsts = new Map<number, Set<number>>()
  readonly #outputs = new Map<number, unknown>()
  /** By supervisor and child, how often clients have asked to start it, and when it is started again. */
  readonly #asked = new Map<string, { times: number; readonly restart: ChildRestart | undefined }>()
  #happened = nothingYet()
  /** The last commit started a child anew, which the limits of the queue do not hold up. */
  hasAnew = false

  constructor(
    findings: Findings,
    {
      numberOf,
      idOf,
    }: {
      readonly numberOf: (taskId: string) => number | undefined
      readonly idOf: (task: number) => string
    },
  ) {
    this.#findings = findings
    this.#numberOf = numberOf
    this.#idOf = idOf
  }

  /** Supervisors that have not ended, with the ids of their children. */
  open(
    tasks: ReadonlyMap<number, Followed>,
  ): readonly { readonly team: number; readonly ids: readonly string[] }[] {
    return [...this.#teams]
      .filter(([team]) => (tasks.get(team)?.row.state ?? COMPLETED) < COMPLETED)
      .map(([team, { children }]) => ({
        team,
        ids: [...new Set([...children.values()].map(({ id }) => id))],
      }))
  }

  /** A client asks to start a child once more; `restart`: one that the supervisor does not have. */
  asks(team: number, id: string, restart?: ChildRestart): void {
    const name = `${team} ${id}`
    const before = this.#asked.get(name)
    this.#asked.set(name, { times: (before?.times ?? 0) + 1, restart: restart ?? before?.restart })
  }

  /** The store has refused that. */
  refused(team: number, id: string): void {
    this.#take(team, id)
  }

  /** Whether a client asked for a child, whoever holds its supervisor. */
  isAsked(task: number, data: Readonly<Record<string, unknown>>): boolean {
    const id = /^\$ku0\/supervised\/\w+\/(.+)$/.exec(String(data['key']))?.[1]
    return (this.#asked.get(`${task} ${id}`)?.times ?? 0) > 0
  }

  /** 14.2: a child that comes after the first gets its result. A client may have started the first anew. */
  queued(task: number, input: unknown, parent: number | null): void {
    const { after } = (input ?? {}) as { readonly after?: unknown }
    const firsts = this.#firsts.get(parent ?? 0)
    if (after === undefined || firsts === undefined) return
    this.#findings.count('children in turn')
    const given = JSON.stringify(after)
    const results = [...firsts].map((first) => JSON.stringify({ first: this.#outputs.get(first) }))
    if (!results.includes(given))
      this.#violated('14.2', `task ${task} comes after the first, and has the results ${given}`)
  }

  isSupervisor(task: number): boolean {
    return this.#teams.has(task)
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
        } else if (this.#take(task, id)) this.#findings.count('children from outside')
        const asked = this.#asked.get(`${task} ${id}`)?.restart
        const seat = {
          id,
          restart: asked ?? restartOf[id] ?? restart,
          position: Number(data['position']),
          seq,
        }
        this.#teams.get(task)?.children.set(child, seat)
        if (id === 'first') this.#isFirst(task, child)
        return
      }
      case 'child.inherited':
        this.#kept(found, task, data)
        return
      case 'task.completed':
        this.#happened.completed.push({ task, at })
        this.#outputs.set(task, data['output'])
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

  /** The lease that a task had before the commit. */
  leased(task: number, lease: number | null): void {
    this.#happened.leases.set(task, lease)
  }

  /** After a commit. */
  look(tasks: ReadonlyMap<number, Followed>): void {
    const happened = this.#happened
    this.#happened = nothingYet()
    this.hasAnew = happened.anew.length > 0
    this.#restarts(tasks, happened)
    this.#ends(tasks, happened)
  }

  /** 14.2: the retry of a supervisor keeps a child only if it had completed there. */
  #kept({ forkOf = 0 }: Followed, task: number, data: Readonly<Record<string, unknown>>): void {
    const child = this.#numberOf(String(data['taskId'])) ?? 0
    const seat = this.#teams.get(forkOf)?.children.get(child)
    if (!String(data['key']).startsWith('$ku0/supervised/')) return
    this.#happened.kept.push({ team: task, task: child })
    if (String(data['key']).endsWith('/first')) this.#isFirst(task, child)
    if (seat === undefined || seat.restart === 'permanent')
      this.#violated('14.2', `supervisor ${task} has kept task ${child}, which ${forkOf} did not have so`)
  }

  #isFirst(team: number, task: number): void {
    this.#firsts.set(team, (this.#firsts.get(team) ?? new Set()).add(task))
  }

  /** Its restarts count no more. */
  #forget(task: number): void {
    const team = this.#teams.get(task)
    if (team !== undefined) team.times = []
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
      const name = this.#restartFor(tasks, passed, team, id)
      if (!due.includes(name) && this.#take(team, id)) {
        this.#findings.count('children from outside')
        if ((tasks.get(before)?.row.state ?? 0) < COMPLETED)
          this.#violated('14.2', `task ${task} takes the place of task ${before}, which has not ended`)
        continue
      }
      if (restartOf[id] !== 'permanent' || tasks.get(before)?.row.state !== COMPLETED)
        this.#violated('14.1', `task ${task} takes the place of '${id}', which has not completed for good`)
      const place = due.indexOf(name)
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

  /** One of the times that a client asked for a child; false if there is none left. */
  #take(team: number, id: string): boolean {
    const asked = this.#asked.get(`${team} ${id}`)
    if (asked === undefined || asked.times === 0) return false
    asked.times -= 1
    return true
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
    // Only the last task counts of a child that was started anew before this.
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

  #violated(rule: string, text: string): void {
    this.#findings.violated(rule, text)
  }
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

import type { EventData, Write } from '@ku0/agent-runtime-core'
import type { Audited } from './audited.ts'
import type { CircuitState, SwarmState } from './stored-rows.ts'
import type { Findings } from './findings.ts'
import { COMPLETED, type Followed, nameOf } from './followed.ts'
import { limits, swarmTerms } from './workload.ts'
import { type Judgement, type WorkRows } from './stored-rows.ts'

/** What came into the store in a commit: its route, and whether it was taken. */
export interface Admitted {
  readonly task: number
  readonly type: string
  readonly swarm: string | undefined
  readonly isTaken: boolean
}

const [OPEN, HALF_OPEN] = [1, 2] as const

/**
 * The part of the audit that looks at work which is measured: leases that clients hold, swarms and their budgets, circuits, judgements.
 * It has its own sums, of the reports that were accepted.
 */
export class WorkAudit {
  readonly #findings: Findings
  readonly #circuitOpenMs: number
  /** Who holds what, by its name. */
  readonly #holders = new Map<string, Audited>()
  readonly #held = new Set<string>()
  /** Judgements that were answered; keys of those that are there, by agent and place. */
  readonly #judged = new Set<string>()
  readonly #judgements = new Map<string, string>()
  readonly #admitted: Admitted[] = []
  #circuits = new Map<string, CircuitState>()
  /** The swarms that there are, numbered as they came. */
  #swarms = new Map<string, SwarmState & { readonly of: number }>()
  #swarmsSeen = 0
  #isClosed = false

  constructor(findings: Findings, circuitOpenMs: number) {
    this.#findings = findings
    this.#circuitOpenMs = circuitOpenMs
  }

  /** Somebody asks for a lease for work of this name, through a process. */
  holds(name: string, process: Audited): void {
    this.#holders.set(name, process)
  }

  /** Somebody closes the swarm. */
  closes(): void {
    this.#isClosed = true
  }

  /** A lease was answered (I1). */
  answered(name: string, taskId: string): void {
    if (!this.#held.has(name))
      this.#findings.violated('I1', `the lease of ${name} was answered (${taskId}), and is no task`)
  }

  /** A judgement was answered (I1). */
  judged(agent: string, key: string): void {
    this.#judged.add(`${agent} ${key}`)
  }

  /** A report that was accepted, of the task of a live lease. */
  reported(found: Followed | undefined, { sample }: Extract<Write, { kind: 'report' }>): void {
    this.#findings.count('reports')
    if (found === undefined) return
    const measured = (found.measured ??= {
      held: undefined,
      swarm: undefined,
      of: undefined,
      share: undefined,
      ...nothing,
    })
    // CPU time is a sum and never falls.
    measured.computeUs = Math.max(measured.computeUs, Math.round(sample.computeUs ?? 0))
    measured.memoryBytes = Math.round(sample.memoryBytes ?? measured.memoryBytes)
  }

  /** The swarms of a commit. One that was closed and made anew is another, also where its time is the same, since a clock was set back. */
  see(swarms: readonly SwarmState[]): void {
    const seen = swarms.map((swarm) => {
      const before = this.#swarms.get(swarm.name)
      const isSame =
        before !== undefined &&
        before.createdAt === swarm.createdAt &&
        before.spawned <= swarm.spawned &&
        before.spentUs <= swarm.spentUs
      return [swarm.name, { ...swarm, of: isSame ? before.of : (this.#swarmsSeen += 1) }] as const
    })
    this.#swarms = new Map(seen)
  }

  /** A task came into the store. What a client holds was asked for, and by nobody twice (I2). */
  queued(found: Followed, task: number, it: EventData['task.queued']): void {
    const { held, labels, swarm, type, share } = it
    this.#admitted.push({ task, type, swarm, isTaken: true })
    if (held !== true && swarm === undefined) return
    const name = held === true ? (labels?.['held'] ?? '') : undefined
    const of = this.#swarms.get(swarm ?? '')?.of
    found.measured = { held: name, swarm, of, share, ...nothing }
    if (swarm !== undefined) this.#findings.count('agents')
    if (name === undefined) return
    this.#findings.count('held leases')
    if (!this.#holders.has(name)) this.#findings.violated('I2', `task ${task} is held by nobody (${name})`)
    if (this.#held.has(name)) this.#findings.violated('I2', `two tasks are held as ${name}`)
    this.#held.add(name)
  }

  rejected(task: number, it: EventData['task.rejected']): void {
    if (it.reason !== 'circuit_open') return
    const { verdict } = it
    const swarm = verdict?.by === 'circuit' && 'swarm' in verdict ? verdict.swarm : undefined
    this.#admitted.push({ task, type: it.type, swarm, isTaken: false })
  }

  /** The lease of work that a client holds is that client's process's, from the commit on in which it was asked for (I9). */
  granted(found: Followed | undefined, owner: Audited | undefined): void {
    const held = found?.measured?.held
    if (found === undefined || held === undefined || owner === undefined) return
    if (this.#holders.get(held) !== owner)
      this.#findings.violated('I9', `the lease of ${held}, task ${found.row.id}, went to ${owner.name}`)
  }

  /** Its lease has ended. Only a swarm remembers what it has computed, and nobody what it held. */
  left({ measured }: Followed): void {
    if (measured === undefined) return
    measured.memoryBytes = 0
    if (measured.swarm === undefined) measured.computeUs = 0
  }

  /** Whether a task may fail for what it used, or for the time it took. */
  mayExceed({ measured }: Followed, message: string, elapsedMs: number): boolean {
    const [, amount = '', used = ''] = /^(\w+) (\d+) is above the limit/.exec(message) ?? []
    const most = { ...limits.hard, ...measured?.share }[amount as 'memoryBytes' | 'cpuTimeUs']
    if (amount !== '') {
      const said = amount === 'memoryBytes' ? measured?.memoryBytes : measured?.computeUs
      return Number(used) === said && Number(used) > (most ?? Number.POSITIVE_INFINITY)
    }
    if (message.includes(' together use or reserve ')) return measured?.swarm !== undefined
    // A process that was stopped may have begun before its claim was told of.
    return message.includes(' ran longer than the 900 ms') && elapsedMs >= 900
  }

  /** Whether a task may be canceled that nobody asked to cancel. */
  mayBeCanceled({ measured }: Followed, reason: string): boolean {
    if (measured === undefined) return false
    if (reason === 'its runtime was stopped') return measured.held !== undefined
    if (measured.swarm === undefined) return false
    return reason.startsWith('shed: ') || (this.#isClosed && reason.includes('was closed'))
  }

  /** After a commit: what the rows say is what was said of the work. */
  look(tasks: ReadonlyMap<number, Followed>, rows: WorkRows, leaseNow: number): void {
    this.#circuitRules(rows.circuits, tasks, leaseNow)
    this.#swarmRules(rows, tasks)
    this.#judgementRules(rows.judgements)
  }

  /** At the end: no judgement that was answered is lost (I1). */
  end({ judgements }: WorkRows): void {
    const there = new Set(judgements.map(({ agent, key }) => `${agent} ${key}`))
    for (const it of this.#judged)
      if (!there.has(it)) this.#findings.violated('I1', `the judgement ${it} was answered, and is gone`)
  }

  /** 15.1: judgements are numbered without a gap, none is changed, and none counts twice (I17). */
  #judgementRules(judgements: readonly Judgement[]): void {
    const keys = new Set<string>()
    const last = new Map<string, number>()
    for (const { agent, seq, key } of judgements) {
      if (seq !== (last.get(agent) ?? 0) + 1)
        this.#findings.violated('15.1', `judgement ${seq} of ${agent} follows ${last.get(agent) ?? 0}`)
      last.set(agent, seq)
      if (keys.has(`${agent} ${key}`)) this.#findings.violated('I17', `'${key}' of ${agent} counts twice`)
      keys.add(`${agent} ${key}`)
      const before = this.#judgements.get(`${agent} ${seq}`)
      if (before === undefined) this.#findings.count('judgements')
      else if (before !== key)
        this.#findings.violated('15.1', `judgement ${seq} of ${agent} was '${before}', and is '${key}'`)
      this.#judgements.set(`${agent} ${seq}`, key)
    }
  }

  /** 10.3: an open circuit takes nothing, half open it takes one, and what it refuses is refused for it. */
  #circuitRules(rows: readonly CircuitState[], tasks: ReadonlyMap<number, Followed>, leaseNow: number): void {
    const before = this.#circuits
    const after = new Map(rows.map((row) => [row.route, row]))
    this.#circuits = after
    for (const [route, { state }] of after)
      if (state !== 0 && (before.get(route)?.state ?? 0) === 0) this.#findings.count('circuits opened')
    for (const { task, type, swarm, isTaken } of this.#admitted.splice(0)) {
      const routes = [type, ...(swarm === undefined ? [] : [`$ku0/swarm/${swarm}`])]
      const shut = routes.filter((route) =>
        isShut(before.get(route), after.get(route), leaseNow, this.#circuitOpenMs),
      )
      if (isTaken && shut.length > 0)
        this.#findings.violated('10.3', `task ${task} was taken while the circuit of ${shut.join()} was open`)
      const isAnyKnown = routes.some((route) =>
        [before, after].some((circuits) => (circuits.get(route)?.state ?? 0) !== 0),
      )
      if (!isTaken && !isAnyKnown)
        this.#findings.violated(
          '10.3',
          `task ${task} was refused for a circuit, and that of ${routes.join()} is closed`,
        )
    }
    for (const { route, probe } of rows) {
      const state = probe === null ? undefined : tasks.get(probe)?.row.state
      if (state !== undefined && state >= COMPLETED)
        this.#findings.violated('10.3', `the probe of ${route}, task ${probe}, is ${nameOf(state)}`)
    }
  }

  /** 10.6: a swarm has no more agents than it may, and what they have spent is what they said. */
  #swarmRules({ usages }: WorkRows, tasks: ReadonlyMap<number, Followed>): void {
    for (const { name, of, spentUs } of this.#swarms.values()) {
      const agents = [...tasks.values()].filter(
        ({ measured }) => measured?.swarm === name && measured.of === of,
      )
      const living = agents.filter(({ row }) => row.state < COMPLETED).map(({ row }) => row.id)
      const counted = usages.filter(({ swarm }) => swarm === name).map(({ task }) => task)
      if (living.length > swarmTerms.maxAgents)
        this.#findings.violated(
          '10.6',
          `the swarm '${name}' has ${living.length} agents of ${swarmTerms.maxAgents}`,
        )
      if (inOrder(counted) !== inOrder(living))
        this.#findings.violated(
          '10.6',
          `the swarm '${name}' counts the tasks ${inOrder(counted)}, its agents are ${inOrder(living)}`,
        )
      const spent = agents.reduce(
        (sum, { row, measured }) => sum + (row.state < COMPLETED ? 0 : (measured?.computeUs ?? 0)),
        0,
      )
      if (spent !== spentUs)
        this.#findings.violated(
          '10.6',
          `the swarm '${name}' has spent ${spentUs} µs, its agents said ${spent}`,
        )
    }
  }
}

function inOrder(ids: readonly number[]): string {
  return ids.toSorted((a, b) => a - b).join(', ')
}

const nothing = { computeUs: 0, memoryBytes: 0 }

/** Open, and not long enough yet; or another's probe is under way before and after. That of a swarm goes with it. */
function isShut(
  before: CircuitState | undefined,
  after: CircuitState | undefined,
  leaseNow: number,
  openMs: number,
): boolean {
  if (before === undefined || after === undefined) return false
  if (before.state === OPEN) return leaseNow - (before.openedAt ?? 0) < openMs
  return (
    before.state === HALF_OPEN &&
    after.state === HALF_OPEN &&
    before.probe !== null &&
    before.probe === after.probe &&
    before.probeAt === after.probeAt &&
    leaseNow - (before.probeAt ?? 0) < openMs
  )
}

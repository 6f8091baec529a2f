import type { ExecutionConfig, IdCodec, Write } from '@ku0/agent-runtime-core'
import type { Answered, Audited } from './audited.ts'
import type { AuditRows } from './audit-rows.ts'
import type { LiveLease, WorkerState } from './stored-rows.ts'
import type { Findings } from './findings.ts'
import { type Followed, nameOf, RUNNING } from './followed.ts'
import { suspectFrom } from './row-rules.ts'
import type { Walk } from './walk.ts'
import type { StructureAudit } from './structure-audit.ts'
import type { WorkAudit } from './work-audit.ts'

/** The worker of leases that callers hold. */
const CALLER = 0

/** What the parts of the audit share. */
export interface AuditParts {
  readonly rows: AuditRows
  readonly work: WorkAudit
  readonly structures: StructureAudit
  readonly followed: Map<number, Followed>
  readonly findings: Findings
  readonly config: ExecutionConfig
  /** Ms since the beginning. */
  readonly monotonic: () => number
  readonly ids: IdCodec
}

/** The part of the audit that looks at leases: who holds what, since when, and who writes under it. */
export class LeaseAudit {
  readonly #parts: AuditParts
  readonly #findings: Findings
  readonly #processes = new Map<number, Audited>()
  readonly #byProcessId = new Map<string, Audited>()
  readonly #workers = new Map<number, { name: string; process: number }>()
  #live = new Map<number, LiveLease>()
  /** When leases ended, by task and fencing token. */
  readonly #endings = new Map<string, number>()
  #offset: number | undefined

  constructor(parts: AuditParts) {
    this.#parts = parts
    this.#findings = parts.findings
  }

  /** Those that are live, as they stood after the last commit that was looked at. */
  get live(): ReadonlyMap<number, LiveLease> {
    return this.#live
  }

  /** How many slots of workers are taken: what a caller holds takes none. */
  get ofWorkers(): number {
    return [...this.#live.values()].filter(({ worker }) => worker !== CALLER).length
  }

  /** The store's clock of leases, epoch ms. */
  get now(): number {
    this.#offset ??= Number(this.#parts.rows.meta('boot_offset'))
    return Math.floor(this.#parts.monotonic() + this.#offset)
  }

  knows(process: Audited): void {
    this.#byProcessId.set(process.processId, process)
  }

  /** The processes in which a task runs that may be what ends them. */
  suspecting(): ReadonlySet<Audited | undefined> {
    const { followed, config } = this.#parts
    const suspects = [...this.#live.values()].filter(
      ({ task }) => (followed.get(task)?.row.crashes ?? 0) >= suspectFrom(config.maxCrashes),
    )
    return new Set(suspects.map(({ process }) => this.#processes.get(process)))
  }

  /** For how long the lease of a task under a fencing token has been over, ms; 0 if it is not. */
  overFor(task: number, fence: number): number {
    const endedAt = this.#endings.get(`${task} ${fence}`)
    return endedAt === undefined ? 0 : this.#parts.monotonic() - endedAt
  }

  /** Who wrote under which lease, and whether that was its right: the lease as it stood before the turn (I9). */
  operation(process: Audited, operation: Write, value: unknown): void {
    if (!('leaseId' in operation) || !fencedKinds.has(operation.kind)) return
    const number = this.#parts.ids.leaseNumber(operation.leaseId)
    const lease = number === undefined ? undefined : this.#live.get(number)
    const isAccepted = fenceOf(value) === 'ok'
    this.#findings.count('writes')
    if (!isAccepted) {
      if (fenceOf(value) === 'stale') this.#findings.count('zombies')
      return
    }
    const row = lease === undefined ? undefined : this.#parts.followed.get(lease.task)?.row
    if (operation.kind === 'report')
      this.#parts.work.reported(
        lease === undefined ? undefined : this.#parts.followed.get(lease.task),
        operation,
      )
    const isLive = lease !== undefined && lease.expiresAt > this.now && row?.lease === lease.id
    if (isLive && lease.fence === row.fence) return
    // The same settlement again gets the first answer; nothing is written then.
    if (operation.kind === 'settle' && lease === undefined) return this.#repeated(operation)
    this.#findings.violated(
      'I9',
      `${process.name}: ${operation.kind} under lease ${number} was accepted, ${
        lease === undefined ? 'which had ended' : `which expired ${this.now - lease.expiresAt} ms before`
      }`,
    )
  }

  #repeated({ leaseId, settlement }: Extract<Write, { kind: 'settle' }>): void {
    const end = this.#parts.rows.endOf(this.#parts.ids.leaseNumber(leaseId) ?? 0)
    // A failure for which a supervisor has started the task again ends its lease as a retry.
    const isRestart =
      settlement.as === 'failed' && end?.reason === 'retry' && end.data.includes('"restartedBy"')
    const isSame =
      end !== undefined &&
      (end.reason === settlement.as || isRestart) &&
      (settlement.as !== 'completed' || end.data.includes(`"output":${settlement.output}`))
    if (!isSame)
      this.#findings.violated(
        'I9',
        `a settlement (${settlement.as}) under the ended lease ${leaseId} was accepted`,
      )
  }

  /** Nothing is refused to the holder of a live lease. */
  refusals(answered: readonly Answered[]): void {
    for (const { operation, value } of answered) {
      if (!('leaseId' in operation) || !fencedKinds.has(operation.kind) || fenceOf(value) !== 'stale')
        continue
      const lease = this.#live.get(this.#parts.ids.leaseNumber(operation.leaseId) ?? 0)
      if (lease !== undefined && lease.expiresAt > this.now)
        this.#findings.violated('I9', `${operation.kind} under the live lease ${lease.id} was refused`)
    }
  }

  /** I7, I9: whoever writes on behalf of a task holds its lease, which is live, in the process whose turn it is. */
  holds(process: Audited | undefined, walk: Walk, what: string): void {
    const lease = walk.lease === null ? undefined : this.#live.get(walk.lease)
    if (lease === undefined || walk.isFresh) {
      this.#findings.violated('I7', `task ${walk.id}: ${what} without a lease that was live before`)
      return
    }
    if (lease.expiresAt <= this.now)
      this.#findings.violated(
        'I9',
        `task ${walk.id}: ${what} ${this.now - lease.expiresAt} ms after the end of its lease`,
      )
    const owner = this.#processes.get(lease.process)
    if (process !== undefined && owner !== process)
      this.#findings.violated(
        'I9',
        `task ${walk.id}: ${what} by ${process.name}, the lease is ${owner?.name ?? 'nobody'}'s`,
      )
  }

  expired(walk: Walk, reason: 'expired' | 'owner_dead' | 'either'): void {
    walk.crashes += 1
    const lease = walk.lease === null ? undefined : this.#live.get(walk.lease)
    if (lease === undefined) {
      this.#findings.violated('I9', `task ${walk.id} lost a lease that was not live`)
      return
    }
    const isOver = lease.expiresAt <= this.now
    const isOrphan = this.#processes.get(lease.process)?.isDead === true
    this.#findings.count(reason === 'owner_dead' ? 'owners dead' : 'expiries')
    if (reason === 'expired' ? isOver : reason === 'owner_dead' ? isOrphan : isOver || isOrphan) return
    this.#findings.violated(
      'I9',
      `task ${walk.id} lost its lease by ${reason}, which had ${lease.expiresAt - this.now} ms left; its process is ${
        isOrphan ? 'dead' : 'alive'
      }`,
    )
  }

  /** After a commit: the leases that are live now. */
  follow(process: Audited | undefined, leases: ReadonlyMap<number, LiveLease>): void {
    this.#rules(process, leases)
    for (const [id, lease] of this.#live)
      if (!leases.has(id)) this.#endings.set(`${lease.task} ${lease.fence}`, this.#parts.monotonic())
    this.#live = new Map(leases)
  }

  /** I5, I9, I11: leases begin with a start, are renewed by their own process while they are live, and fill no worker too far. */
  #rules(process: Audited | undefined, leases: ReadonlyMap<number, LiveLease>): void {
    const ofTask = new Set<number>()
    const byWorker = new Map<string, number>()
    for (const lease of leases.values()) {
      if (ofTask.has(lease.task)) this.#findings.violated('I5', `task ${lease.task} has two live leases`)
      ofTask.add(lease.task)
      const row = this.#parts.followed.get(lease.task)?.row
      if (row?.state !== RUNNING || row.lease !== lease.id || row.fence !== lease.fence)
        this.#findings.violated(
          'I5',
          `lease ${lease.id} is live, its task ${lease.task} is ${nameOf(row?.state)} under ${row?.lease}`,
        )
      const worker = this.#workerOf(lease.worker)
      if (worker !== undefined) byWorker.set(worker.name, (byWorker.get(worker.name) ?? 0) + 1)
      const before = this.#live.get(lease.id)
      if (before === undefined) {
        this.#parts.work.granted(this.#parts.followed.get(lease.task), this.#processes.get(lease.process))
        if (lease.expiresAt !== this.now + this.#parts.config.leaseTtlMs)
          this.#findings.violated('I9', `lease ${lease.id} begins with ${lease.expiresAt - this.now} ms`)
      } else if (before.expiresAt !== lease.expiresAt) this.#renewed(process, before, lease)
    }
    for (const { row } of this.#parts.followed.values())
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
    if (before.expiresAt <= this.now)
      this.#findings.violated(
        'I9',
        `lease ${lease.id} was renewed ${this.now - before.expiresAt} ms after its end`,
      )
    if (lease.expiresAt !== this.now + this.#parts.config.leaseTtlMs)
      this.#findings.violated('I9', `lease ${lease.id} was renewed for ${lease.expiresAt - this.now} ms`)
  }

  /** The workers of a process as their rows stand. */
  workersOf(process: Audited): readonly WorkerState[] {
    return this.#parts.rows.workers().filter((row) => this.#processes.get(row.process) === process)
  }

  learnNames(): void {
    if (this.#processes.size < this.#byProcessId.size)
      for (const { id, processId } of this.#parts.rows.processes()) {
        const known = this.#byProcessId.get(processId)
        if (known !== undefined) this.#processes.set(id, known)
      }
  }

  #workerOf(id: number): { name: string; process: number } | undefined {
    if (!this.#workers.has(id))
      for (const { id: number, name, process } of this.#parts.rows.workers())
        this.#workers.set(number, { name, process })
    return this.#workers.get(id)
  }
}

function fenceOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return (value as { fenced?: string } | undefined)?.fenced
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
  'report',
  'openPipeline',
  'publish',
  'receive',
])

import type { Write } from '@ku0/agent-runtime-core'
import type { Message } from '@ku0/agent-runtime-persistence/testing'
import type { Answered, Audited } from './audited.ts'
import type { LiveLease, WorkerState } from './stored-rows.ts'
import type { Started } from './row-rules.ts'
import type { Broken } from './findings.ts'

/** What a commit left that a choice of workers goes by. */
export interface Chosen {
  /** What was started in it. */
  readonly started: readonly Started[]
  readonly leases: ReadonlyMap<number, LiveLease>
  readonly workers: readonly WorkerState[]
  /** By the clock of leases. */
  readonly now: number
  readonly leaseTtlMs: number
}

/**
 * The part of the audit that looks at which worker a task goes to (I12). What a process has asked of its store is known from its
 * messages: a demand counts once it has arrived, a registration and a drain with their commit.
 */
export class PlacementAudit {
  readonly #told = new Map<Audited, Told>()

  arrives(process: Audited, message: Message): void {
    if (message.to !== 'demand') return
    const { credits } = this.#toldBy(process)
    const given = credits.get(message.workerId)?.given ?? 0
    credits.set(message.workerId, { credit: message.credit, given })
  }

  answered(process: Audited, { operation }: Answered): void {
    const { workers } = this.#toldBy(process)
    for (const [workerId, types] of entered(operation)) workers.set(workerId, { types, isDraining: false })
    if (operation.kind !== 'drainWorkers' && operation.kind !== 'removeWorkers') return
    for (const workerId of operation.workerIds) {
      const worker = workers.get(workerId)
      if (operation.kind === 'removeWorkers') workers.delete(workerId)
      else if (worker !== undefined) workers.set(workerId, { ...worker, isDraining: true })
    }
  }

  /** At its end a store may commit several times in one turn: who had room in each of them is not seen. */
  ends(process: Audited): void {
    this.#told.delete(process)
  }

  /** I12: each start went to the worker with the least in its hands, then the one seen longest ago, then the least name. */
  *rules(process: Audited, { started, leases, workers, now, leaseTtlMs }: Chosen): Iterable<Broken> {
    const told = this.#told.get(process)
    if (told === undefined || started.length === 0) return
    const names = new Map(workers.map(({ id, name }) => [id, name]))
    const fresh = new Set(started.map(({ lease }) => lease))
    const held = new Map<number, number>()
    for (const { id, worker } of leases.values())
      if (!fresh.has(id)) held.set(worker, (held.get(worker) ?? 0) + 1)
    const candidates = workers.flatMap((row): Candidate[] => {
      const worker = told.workers.get(row.name)
      const credit = told.credits.get(row.name)
      const isStale = now - row.lastSeenAt >= leaseTtlMs
      if (!row.isRegistered || worker === undefined || credit === undefined || worker.isDraining || isStale)
        return []
      const taken = process.capacity - Math.max(0, credit.credit - credit.given)
      const inFlight = Math.max(0, taken, held.get(row.id) ?? 0)
      return [{ name: row.name, types: worker.types, lastSeenAt: row.lastSeenAt, inFlight }]
    })
    for (const { id, type, lease } of started.toSorted((a, b) => a.lease - b.lease)) {
      const [best] = candidates
        .filter(({ inFlight, types }) => inFlight < process.capacity && runs(types, type))
        .toSorted(comesFirst)
      const name = names.get(leases.get(lease)?.worker ?? 0)
      const chosen = candidates.find((worker) => worker.name === name)
      if (best === undefined || best !== chosen)
        yield ['I12', `task ${id} went to ${shown(chosen, name)}, the choice was ${shown(best, 'nobody')}`]
      if (chosen !== undefined) chosen.inFlight += 1
      const credit = told.credits.get(name ?? '')
      if (credit !== undefined) credit.given += 1
    }
  }

  #toldBy(process: Audited): Told {
    const known = this.#told.get(process) ?? { workers: new Map(), credits: new Map() }
    this.#told.set(process, known)
    return known
  }
}

/** What a store was told by its process: its workers, and how many tasks in all each of them would take. */
interface Told {
  readonly workers: Map<string, { readonly types: readonly string[]; readonly isDraining: boolean }>
  readonly credits: Map<string, { readonly credit: number; given: number }>
}

interface Candidate {
  readonly name: string
  readonly types: readonly string[]
  readonly lastSeenAt: number
  inFlight: number
}

function entered(operation: Write): readonly (readonly [workerId: string, types: readonly string[]])[] {
  return operation.kind === 'registerWorkers'
    ? operation.workers.map(({ workerId, types }) => [workerId, types])
    : []
}

function runs(types: readonly string[], type: string): boolean {
  return types.some((it) => it === '*' || it === type)
}

function comesFirst(a: Candidate, b: Candidate): number {
  return a.inFlight - b.inFlight || a.lastSeenAt - b.lastSeenAt || (a.name < b.name ? -1 : 1)
}

function shown(worker: Candidate | undefined, otherwise: string | undefined): string {
  return worker === undefined
    ? `${otherwise}`
    : `${worker.name} with ${worker.inFlight} in flight, seen at ${worker.lastSeenAt}`
}

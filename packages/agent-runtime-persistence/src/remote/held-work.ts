import type { Claim, LeaseNotice, Write } from '@ku0/agent-runtime-core'
import type { HelloWorker } from './protocol.ts'

interface WorkerState {
  readonly capacity: number
  readonly types: readonly string[]
  readonly lanes: HelloWorker['lanes']
  readonly settings: HelloWorker['settings']
  draining: boolean
  credit: number | undefined
  /** How many tasks it has received. */
  given: number
}

/** What a process has to tell a server that does not know it: its workers, their demand, and the leases that it holds. */
export class HeldWork {
  private readonly workers = new Map<string, WorkerState>()
  /** By lease: its task. */
  private readonly leases = new Map<string, string>()

  get isEmpty(): boolean {
    return this.leases.size === 0
  }

  hello(): readonly HelloWorker[] {
    return [...this.workers].map(
      ([workerId, { capacity, types, lanes, settings, draining, credit, given }]) => ({
        workerId,
        capacity,
        types,
        ...(lanes === undefined ? {} : { lanes }),
        ...(settings === undefined ? {} : { settings }),
        draining,
        ...(credit === undefined ? {} : { demand: { credit, given } }),
      }),
    )
  }

  held(): readonly { readonly leaseId: string; readonly taskId: string }[] {
    return [...this.leases].map(([leaseId, taskId]) => ({ leaseId, taskId }))
  }

  demand(workerId: string, credit: number): void {
    const worker = this.workers.get(workerId)
    if (worker !== undefined) worker.credit = credit
  }

  /** A write about workers is on its way: from then on a server that comes anew has to know of them. */
  sent(operation: Write): void {
    if (operation.kind === 'registerWorkers')
      for (const { workerId, capacity, types, lanes, settings } of operation.workers)
        this.workers.set(workerId, {
          capacity,
          types,
          lanes,
          settings,
          draining: false,
          credit: undefined,
          given: 0,
        })
    if (operation.kind === 'drainWorkers')
      for (const workerId of operation.workerIds) {
        const worker = this.workers.get(workerId)
        if (worker !== undefined) worker.draining = true
      }
  }

  /** What came of a write: leases that it ended, workers that left. */
  answered(operation: Write, outcome: unknown): void {
    if (operation.kind === 'removeWorkers')
      for (const workerId of operation.workerIds) this.workers.delete(workerId)
    if (!('leaseId' in operation)) return
    if (isOver(operation, outcome)) this.leases.delete(operation.leaseId)
  }

  claimed({ leaseId, taskId, workerId }: Claim): void {
    this.leases.set(leaseId, taskId)
    const worker = this.workers.get(workerId)
    if (worker !== undefined) worker.given += 1
  }

  noticed({ leaseId, verdict }: LeaseNotice): void {
    if (verdict !== 'yield') this.leases.delete(leaseId)
  }

  /** The line was silent for too long: nobody knows whether these leases still live. */
  lapse(): readonly LeaseNotice[] {
    const lost = this.held().map((it) => ({ ...it, verdict: 'lost' as const, reason: 'not renewed' }))
    this.leases.clear()
    return lost
  }
}

/** Whether a holder's write has ended its lease, or found that it had ended. */
function isOver(operation: Write, outcome: unknown): boolean {
  const fence =
    typeof outcome === 'object' && outcome !== null && 'fenced' in outcome ? outcome.fenced : outcome
  if (fence === 'stale') return true
  switch (operation.kind) {
    case 'settle':
    case 'release':
    case 'diverge':
      return true
    case 'suspend':
      return (outcome as { readonly suspended?: boolean }).suspended === true
    default:
      return false
  }
}

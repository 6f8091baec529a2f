import type { Claim } from '@ku0/agent-runtime-core'

/** The rows of a process on a line: its workers, and the leases and tasks that they have had. */
export class OwnWork {
  readonly #workers = new Set<string>()
  /** By lease: its task. The one that was used last stands last. */
  readonly #leases = new Map<string, string>()
  readonly #tasks = new Map<string, number>()

  hasWorker(workerId: string): boolean {
    return this.#workers.has(workerId)
  }

  addWorker(workerId: string): void {
    this.#workers.add(workerId)
  }

  removeWorker(workerId: string): void {
    this.#workers.delete(workerId)
  }

  /** Also of one that has ended: what is late is for the fence to refuse. */
  hasLease(leaseId: string): boolean {
    return this.#leases.has(leaseId)
  }

  hasTask(taskId: string): boolean {
    return this.#tasks.has(taskId)
  }

  claimed({ leaseId, taskId }: Pick<Claim, 'leaseId' | 'taskId'>): void {
    if (this.#leases.has(leaseId)) return
    this.#leases.set(leaseId, taskId)
    this.#tasks.set(taskId, (this.#tasks.get(taskId) ?? 0) + 1)
    for (const [oldest, task] of this.#leases) {
      if (this.#leases.size <= maxLeases) break
      this.#leases.delete(oldest)
      const left = (this.#tasks.get(task) ?? 1) - 1
      if (left === 0) this.#tasks.delete(task)
      else this.#tasks.set(task, left)
    }
  }
}

/** Far more than a process can hold at once. */
const maxLeases = 50_000

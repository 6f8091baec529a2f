import { createHash } from 'node:crypto'
import type { Write } from '@ku0/agent-runtime-core'
import type { Caller } from '../access/caller.ts'
import { refusal } from '../problem/problem.ts'
import type { LineHost } from './line-host.ts'
import { OwnWork } from './own-work.ts'
import { assertWriteAllowed } from './permission.ts'
import { noWorker, RequestWorker } from './request-worker.ts'

/** A worker as the registry has it. */
type RegisteredWorker = Extract<Write, { readonly kind: 'registerWorkers' }>['workers'][number]

/** The workers of a server that speak in requests. */
export class RequestWorkers {
  readonly #host: LineHost
  readonly #workers = new Map<string, RequestWorker>()
  readonly #coming = new Map<string, Promise<RequestWorker>>()
  readonly #listening: Disposable
  #isClosed = false

  constructor(host: LineHost) {
    this.#host = host
    this.#listening = host.store.listen({
      claimed: (claims) => {
        for (const claim of claims) this.#workers.get(claim.workerId)?.claimed(claim)
      },
      noticed: (notices) => {
        for (const notice of notices) for (const worker of this.#workers.values()) worker.noticed(notice)
      },
    })
  }

  async register(caller: Caller, capacity: number, types: readonly string[]): Promise<RequestWorker> {
    this.#assertRoom()
    const workerId = `${prefixOf(caller)}${this.#host.environment.ids.uuid()}`
    const worker = this.#enter({ workerId, caller, capacity, types, line: lineOf(workerId) }, false)
    try {
      const workers = [{ workerId, capacity, types }]
      assertWriteAllowed(worker, this.#host, { kind: 'registerWorkers', workers })
      await this.#host.lines.register(workers)
      return worker
    } catch (error) {
      this.#leave(worker)
      throw error
    }
  }

  /** A worker of the caller. One that this server does not know, because it was started after it or had given it up, is looked for in the store. */
  async find(caller: Caller, workerId: string): Promise<RequestWorker> {
    if (!workerId.startsWith(prefixOf(caller))) throw noWorker(workerId)
    const known = this.#workers.get(workerId)
    if (known !== undefined) return known
    this.#assertRoom()
    const coming = this.#coming.get(workerId) ?? this.#restore(caller, workerId)
    this.#coming.set(workerId, coming)
    return coming.finally(() => this.#coming.delete(workerId))
  }

  /** It leaves: what it holds goes back to the queue. */
  async remove(worker: RequestWorker): Promise<void> {
    this.#leave(worker)
    await this.#host.store.write({ kind: 'removeWorkers', workerIds: [worker.workerId] })
  }

  close(): void {
    this.#isClosed = true
    for (const worker of this.#workers.values()) this.#leave(worker)
    this.#listening[Symbol.dispose]()
  }

  async #restore(caller: Caller, workerId: string): Promise<RequestWorker> {
    const rows = await this.#host.store.read({ kind: 'workers' })
    const row = rows.find((it) => it.workerId === workerId)
    if (row === undefined) throw noWorker(workerId)
    const { capacity, types } = row
    this.#assertOpen()
    const worker: RegisteredWorker = { workerId, capacity, types }
    if (!this.#mayStill(caller, worker)) throw noWorker(workerId)
    // Silent for long, it may be taken for gone at any moment.
    await this.#host.lines.register([worker])
    const leases = await this.#host.lines.held([workerId])
    const entered = this.#enter({ ...worker, caller, line: lineOf(workerId) }, true)
    for (const { leaseId, taskId, yields } of leases) entered.holds(leaseId, taskId, yields)
    return entered
  }

  /** Its token may have been bound to other types since. Then it is unknown, and learns what it may run when it registers again. */
  #mayStill(caller: Caller, worker: RegisteredWorker): boolean {
    const work = new OwnWork()
    try {
      assertWriteAllowed({ caller, work }, this.#host, { kind: 'registerWorkers', workers: [worker] })
      return true
    } catch {
      return false
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw refusal('no_such_worker', 'the server is stopping')
  }

  #enter(given: ConstructorParameters<typeof RequestWorker>[1], wasKnown: boolean): RequestWorker {
    this.#assertOpen()
    const worker: RequestWorker = new RequestWorker(this.#host, given, wasKnown, () => this.#leave(worker))
    this.#workers.set(given.workerId, worker)
    this.#host.own(worker, given.workerId)
    return worker
  }

  /** Until it is heard of again it is given nothing, and its leases are not renewed. */
  #leave(worker: RequestWorker): void {
    worker.end()
    if (!this.#workers.delete(worker.workerId)) return
    this.#host.disown(worker.workerId)
    this.#host.lines.absent([worker.workerId])
  }

  #assertRoom(): void {
    const { maxLines } = this.#host.limits
    if (this.#workers.size + this.#coming.size >= maxLines)
      throw refusal('too_many_requests', `${maxLines} workers are connected (maxLines)`, {
        'retry-after': '1',
      })
  }
}

/** The beginning of the ids of a token's workers: so every server of a store knows their owner. */
function prefixOf({ name }: Caller): string {
  const readable = name.replaceAll(/[^\w-]/g, '-').slice(0, 64)
  return `${readable}.${createHash('sha256').update(name).digest('hex').slice(0, 16)}.`
}

/** The name of its line in the store. */
function lineOf(workerId: string): string {
  return createHash('sha256').update(`worker ${workerId}`).digest('hex')
}

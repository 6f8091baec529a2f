import type { Caller } from '../access/caller.ts'
import type { ServerLimits } from '../limits.ts'
import { problemOf, refusal } from '../problem/problem.ts'

/** The effect of one slice of a bulk action: how many of its tasks changed, and what became of the others. */
interface BulkDone {
  readonly changed: number
  /** Retried before. */
  readonly before?: number
  /** Their retry was refused. */
  readonly rejected?: number
  /** Why there is no room for more: the action stops there. */
  readonly full?: { readonly message: string }
}
export type BulkStep = (taskIds: readonly string[]) => Promise<BulkDone>

/** A bulk action: counted, under way or over. */
export interface BulkAction {
  readonly token: string
  readonly action: 'cancel' | 'retry'
  readonly state: 'counted' | 'running' | 'stopped' | 'done' | 'failed'
  readonly count: number
  readonly done: number
  readonly changed: number
  readonly before: number
  readonly rejected: number
  readonly problem?: string
}

interface Entry {
  readonly caller: Caller
  readonly taskIds: readonly string[]
  readonly step: BulkStep
  action: BulkAction
}

/** The bulk actions of a server, in memory: after a restart a caller counts again, and what was done is not done twice. */
export class BulkActions {
  readonly #maxActions: number
  readonly #stopped: AbortSignal
  readonly #entries = new Map<string, Entry>()

  constructor(limits: ServerLimits, stopped: AbortSignal) {
    this.#maxActions = limits.maxBulkActions
    this.#stopped = stopped
  }

  /** Keeps what was counted; the oldest that does not run makes room. Throws a 429 if all of them run. */
  add(
    caller: Caller,
    token: string,
    action: BulkAction['action'],
    taskIds: readonly string[],
    step: BulkStep,
  ): BulkAction {
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size < this.#maxActions) break
      if (entry.action.state !== 'running') this.#entries.delete(oldest)
    }
    if (this.#entries.size >= this.#maxActions)
      throw refusal('too_many_requests', `${this.#maxActions} bulk actions run (maxBulkActions)`, {
        'retry-after': '5',
      })
    const none = { done: 0, changed: 0, before: 0, rejected: 0 }
    const counted: BulkAction = { token, action, state: 'counted', count: taskIds.length, ...none }
    this.#entries.set(token, { caller, taskIds, step, action: counted })
    return counted
  }

  /** A caller's own action. */
  find(caller: Caller, token: string): BulkAction | undefined {
    return this.#of(caller, token)?.action
  }

  start(caller: Caller, token: string): BulkAction | undefined {
    const entry = this.#of(caller, token)
    if (entry === undefined || entry.action.state !== 'counted') return entry?.action
    entry.action = { ...entry.action, state: 'running' }
    void this.#run(entry)
    return entry.action
  }

  stop(caller: Caller, token: string): BulkAction | undefined {
    const entry = this.#of(caller, token)
    if (entry === undefined) return undefined
    const { state } = entry.action
    if (state === 'running' || state === 'counted') entry.action = { ...entry.action, state: 'stopped' }
    return entry.action
  }

  async #run(entry: Entry): Promise<void> {
    try {
      for (let first = 0; first < entry.taskIds.length; first += SLICE) {
        if (entry.action.state !== 'running') return
        if (this.#stopped.aborted) return this.#end(entry, 'stopped')
        const slice = entry.taskIds.slice(first, first + SLICE)
        const { changed, before = 0, rejected = 0, full } = await entry.step(slice)
        const { action } = entry
        entry.action = {
          ...action,
          // The rest of a slice that found no room was not looked at.
          done: action.done + (full === undefined ? slice.length : changed + before + rejected),
          changed: action.changed + changed,
          before: action.before + before,
          rejected: action.rejected + rejected,
        }
        if (full !== undefined) return this.#end(entry, 'stopped', full.message)
      }
      if (entry.action.state === 'running') this.#end(entry, 'done')
    } catch (error) {
      this.#end(entry, 'failed', problemOf(error).body.detail)
    }
  }

  #end(entry: Entry, state: BulkAction['state'], problem?: string): void {
    entry.action = { ...entry.action, state, ...(problem === undefined ? {} : { problem }) }
  }

  #of(caller: Caller, token: string): Entry | undefined {
    const entry = this.#entries.get(token)
    return entry?.caller === caller ? entry : undefined
  }
}

/** Tasks at once: what arrives together shares a commit, which takes some 10 ms of the store's time. */
const SLICE = 200

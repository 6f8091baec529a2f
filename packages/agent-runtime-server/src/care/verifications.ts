import { RuntimeError, type Timers } from '@ku0/agent-runtime-core'
import type { Verification, VerifyOptions, VerifyProgress } from '@ku0/agent-runtime-persistence'
import { problemOf, refusal } from '../problem/problem.ts'

/** A verification of the store: under way or over. */
export interface VerificationRun extends VerifyProgress {
  readonly id: string
  readonly state: 'running' | 'done' | 'stopped' | 'failed'
  readonly report?: Verification
  /** Why it failed, and the code of that. */
  readonly problem?: string
  readonly code?: string
}

interface Entry {
  readonly stop: AbortController
  run: VerificationRun
}

/** Verifies a store and calls `onProgress` on the way. */
export type Verify = (options: VerifyOptions) => Promise<Verification>

/**
 * The verifications that a server was asked for, in memory. One reads the whole store, so there is one at a time; the last few that are over are kept for
 * whoever started them.
 */
export class Verifications {
  readonly #closing: AbortSignal
  readonly #timers: Timers
  readonly #report: (error: unknown) => void
  readonly #entries = new Map<string, Entry>()
  /** The one that reads the store, also after it was stopped: until its thread is gone. */
  #working: { readonly entry: Entry; readonly ended: Promise<void> } | undefined

  constructor(closing: AbortSignal, timers: Timers, report: (error: unknown) => void) {
    this.#closing = closing
    this.#timers = timers
    this.#report = report
  }

  /** Waits for one that was stopped to end. Throws a 429 while another one runs, or where the stopped one takes long to end. */
  async start(
    id: string,
    options: Pick<VerifyOptions, 'maxFaults' | 'since'>,
    verify: Verify,
  ): Promise<VerificationRun> {
    await this.#endOfStopped()
    if (this.#working !== undefined) {
      const { run } = this.#working.entry
      const does = run.state === 'running' ? 'runs' : 'is about to end'
      throw refusal('too_many_requests', `the verification ${run.id} ${does}; one runs at a time`, {
        'retry-after': '5',
      })
    }
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size < MOST_KEPT) break
      this.#entries.delete(oldest)
    }
    const stop = new AbortController()
    const entry: Entry = { stop, run: { id, state: 'running', tasks: 0, events: 0 } }
    this.#entries.set(id, entry)
    const signal = AbortSignal.any([this.#closing, stop.signal])
    const ended = this.#run(entry, verify, { ...options, signal }).finally(() => {
      this.#working = undefined
    })
    this.#working = { entry, ended }
    return entry.run
  }

  /** Throws a 404 for one that is unknown, also after a restart. */
  find(id: string): VerificationRun {
    return this.#of(id).run
  }

  /** Ends one that runs; one that is over stays as it is. */
  stop(id: string): VerificationRun {
    const entry = this.#of(id)
    if (entry.run.state === 'running') {
      entry.run = { ...entry.run, state: 'stopped' }
      entry.stop.abort()
    }
    return entry.run
  }

  /** Resolves when none works any more. */
  async ended(): Promise<void> {
    await this.#working?.ended
  }

  /** Resolves when the one that works has ended, or after a while; at once where it was not stopped. */
  async #endOfStopped(): Promise<void> {
    if (this.#working === undefined || this.#working.entry.run.state === 'running') return
    const late = Promise.withResolvers<void>()
    const timer = this.#timers.after(LONGEST_END_MS, late.resolve)
    await Promise.race([this.#working.ended, late.promise])
    timer.cancel()
  }

  async #run(entry: Entry, verify: Verify, options: VerifyOptions): Promise<void> {
    const onProgress = (progress: VerifyProgress) => {
      entry.run = { ...entry.run, ...progress }
    }
    try {
      const report = await verify({ ...options, onProgress })
      if (entry.run.state === 'running') entry.run = { ...entry.run, state: 'done', report }
    } catch (error) {
      if (options.signal?.aborted === true) {
        entry.run = { ...entry.run, state: 'stopped' }
        return
      }
      const { status, detail, code } = problemOf(error).body
      if (status >= 500) this.#report(error)
      entry.run = { ...entry.run, state: 'failed', problem: detail, code }
    }
  }

  #of(id: string): Entry {
    const entry = this.#entries.get(id)
    if (entry === undefined)
      throw problemOf(new RuntimeError('not_found', `there is no verification ${id} on this server`))
    return entry
  }
}

const MOST_KEPT = 8
/** How long a new one waits for one that was stopped. Its thread ends after the slice that it reads, and slices of a large store take seconds. */
const LONGEST_END_MS = 10_000

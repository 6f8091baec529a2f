import { RuntimeError } from '@ku0/agent-runtime-core'
import type { Verification, VerifyOptions, VerifyProgress } from '@ku0/agent-runtime-persistence'
import { problemOf, refusal } from '../problem/problem.ts'

/** A verification of the store: under way or over. */
export interface VerificationRun extends VerifyProgress {
  readonly id: string
  readonly state: 'running' | 'done' | 'stopped' | 'failed'
  readonly report?: Verification
  readonly problem?: string
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
  readonly #report: (error: unknown) => void
  readonly #entries = new Map<string, Entry>()

  constructor(closing: AbortSignal, report: (error: unknown) => void) {
    this.#closing = closing
    this.#report = report
  }

  /** Throws a 429 while another one runs. */
  start(id: string, options: Pick<VerifyOptions, 'maxFaults' | 'since'>, verify: Verify): VerificationRun {
    for (const { run } of this.#entries.values())
      if (run.state === 'running')
        throw refusal('too_many_requests', `the verification ${run.id} runs; one runs at a time`, {
          'retry-after': '5',
        })
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size < MOST_KEPT) break
      this.#entries.delete(oldest)
    }
    const stop = new AbortController()
    const entry: Entry = { stop, run: { id, state: 'running', tasks: 0, events: 0 } }
    this.#entries.set(id, entry)
    const signal = AbortSignal.any([this.#closing, stop.signal])
    void this.#run(entry, verify, { ...options, signal })
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
      const { status, detail } = problemOf(error).body
      if (status >= 500) this.#report(error)
      entry.run = { ...entry.run, state: 'failed', problem: detail }
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

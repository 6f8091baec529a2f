import type { StoreSeal, StoreVerification } from '@ku0/agent-runtime-core'
import { ApiError } from './errors.ts'
import type { CallOptions } from './options.ts'
import type { Transport } from './transport.ts'

export type { StoreFault, StoreSeal, StoreVerification } from '@ku0/agent-runtime-core'

/** The options of {@link Care.verifyStore}. */
export interface VerifyStoreOptions extends CallOptions {
  /** How many faults to list in full: 1 to 10 000, 100 by default. */
  readonly maxFaults?: number | undefined
  /** The seal of an earlier verification: only what came after it is read. */
  readonly since?: StoreSeal | undefined
  /** Called again and again with what was looked at so far. */
  readonly onProgress?: ((progress: { readonly tasks: number; readonly events: number }) => void) | undefined
}

/** The findings about a store and its surroundings: of a file `problems`, of PostgreSQL `checks`. */
export interface StoreInspection {
  /** All that was promised holds. */
  readonly ok: boolean
  readonly [more: string]: unknown
}

/** Looks after the store behind the server; it needs the scope `admin`. */
export interface Care {
  /**
   * Checks, in the server, that the store holds what was written, and waits for what is found; an aborted signal ends it there, too. Throws
   * `too_many_requests` while another one runs, and an error with the code by which it failed there.
   */
  verifyStore(options?: VerifyStoreOptions): Promise<StoreVerification>
  /** How the store is set up, and what is wrong with that. */
  inspectStore(options?: CallOptions): Promise<StoreInspection>
}

interface Run {
  readonly id: string
  readonly state: 'running' | 'done' | 'stopped' | 'failed'
  readonly tasks: number
  readonly events: number
  readonly report?: Omit<StoreVerification, 'since'> & { readonly sealed: number | null }
  readonly problem?: string
  readonly code?: string
}

/** The care of a store, on a transport. */
export function careOn(transport: Transport): Care {
  return {
    async verifyStore({ signal, onProgress, ...body } = {}) {
      signal?.throwIfAborted()
      // Whoever aborts it now would not know which one to end.
      let run = (await transport.json({ method: 'POST', path: '/verifications', body })) as Run
      const path = `/verifications/${run.id}`
      try {
        for (let wait = 10; run.state === 'running'; wait = Math.min(500, wait * 2)) {
          onProgress?.({ tasks: run.tasks, events: run.events })
          await transport.pause(wait, signal)
          run = (await transport.json({ path, signal })) as Run
        }
      } catch (error) {
        // Nobody waits for what it finds. If that is not heard, it ends by itself.
        if (signal?.aborted === true) await transport.send({ method: 'DELETE', path }).catch(() => undefined)
        throw error
      }
      if (run.report === undefined) throw endedEarly(run)
      const { sealed: since, seal, ...report } = run.report
      return { ...report, since, seal }
    },
    inspectStore: async ({ signal } = {}) =>
      (await transport.json({ path: '/inspection', signal })) as StoreInspection,
  }
}

function endedEarly({ state, problem, tasks, code = 'internal' }: Run): ApiError {
  return new ApiError({
    type: 'about:blank',
    status: 500,
    title: 'A verification ended early',
    code,
    detail: `the server verified ${tasks} tasks and then ended: ${problem ?? state}`,
  })
}

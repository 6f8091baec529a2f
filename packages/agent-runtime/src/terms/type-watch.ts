import { type Clock, type ExecutionStore, typeDifferences, type TypeSettings } from '@ku0/agent-runtime-core'
import type { LogLine } from '../api/logger.ts'
import { SaidOnce } from './said-once.ts'

interface TypeWatchParts {
  readonly store: Pick<ExecutionStore, 'info' | 'read'>
  readonly clock: Clock
  readonly log: LogLine
  readonly settings: () => ReadonlyMap<string, TypeSettings>
  /** Settings that workers alone decide, and so may be unknown here. */
  readonly leftOut: ReadonlySet<string>
}

/** So long a process that submits does not look again whether workers have come that know its types differently, ms. */
const LOOK_MS = 60_000

/**
 * Says in the log in which settings of its task types a process differs from the workers of others: when it starts, and while it submits, since
 * workers may come later. Each difference is said once. Source: `docs/semantics.md 8.11`.
 */
export class TypeWatch {
  readonly #parts: TypeWatchParts
  readonly #said = new SaidOnce()
  #lookedAt: number | undefined

  constructor(parts: TypeWatchParts) {
    this.#parts = parts
  }

  /** Looks now, without keeping anybody waiting: a store that cannot answer costs only this look. */
  look(): void {
    this.#lookedAt = this.#parts.clock.monotonic()
    void this.#compare().catch(() => undefined)
  }

  /** Looks if the last look was a while ago. */
  lookAgain(): void {
    const { clock } = this.#parts
    if (this.#lookedAt !== undefined && clock.monotonic() - this.#lookedAt >= LOOK_MS) this.look()
  }

  async #compare(): Promise<void> {
    const { store, log, settings, leftOut } = this.#parts
    const workers = await store.read({ kind: 'workers' })
    const others = workers.filter(({ processId }) => processId !== store.info.processId)
    if (others.every((worker) => worker.settings === undefined)) return
    for (const { type, setting, here, there, workerId } of typeDifferences(settings(), others)) {
      if (here === undefined && leftOut.has(setting)) continue
      if (!this.#said.isNew(type, setting, there ?? '')) continue
      const fields = {
        type,
        setting,
        workerId,
        ...(here === undefined ? {} : { here }),
        ...(there === undefined ? {} : { there }),
      }
      log(
        'warn',
        'a worker knows this task type differently: give both processes the same definition',
        fields,
      )
    }
  }
}

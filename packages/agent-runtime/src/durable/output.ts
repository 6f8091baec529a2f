import type { Host } from './host.ts'
import { type Memos, noMemos } from './pass/memos.ts'

/** What the output needs from its pass. */
export interface EmittingPass {
  readonly attempt: Host
  readonly memos: Memos
}

/**
 * The chunks that a pass emits. A handler that runs again emits again what earlier passes have stored; those
 * chunks are not written again. They are recognised by their values, because code that runs side by side
 * emits in any order. If the stored chunks cannot be read, a chunk is rather stored twice than not at all.
 * Source: `docs/semantics.md 9.4`.
 */
export class Output {
  readonly #pass: EmittingPass
  /** Chunks of earlier passes that have not been emitted again: their number, by the hash of the value. */
  #earlier: Promise<Map<string, number>> | undefined

  constructor(pass: EmittingPass) {
    this.#pass = pass
  }

  async append(text: string, comesAgain: boolean): Promise<void> {
    const { attempt, memos } = this.#pass
    if (comesAgain && memos !== noMemos) this.#earlier ??= this.#readEarlier().catch(() => new Map())
    // Once the stored chunks are requested, every emit waits for them, so that the order of the calls stays.
    const earlier = await this.#earlier
    if (comesAgain && earlier !== undefined) {
      const hash = attempt.parts.environment.digest.sha256Hex(text)
      const left = earlier.get(hash) ?? 0
      earlier.set(hash, left - 1)
      if (left > 0) return
    }
    const round = comesAgain ? { round: memos.rejections.length } : {}
    await attempt.lease.write({
      kind: 'appendOutput',
      leaseId: attempt.claim.leaseId,
      chunks: [text],
      ...round,
    })
  }

  async #readEarlier(): Promise<Map<string, number>> {
    const { attempt, memos } = this.#pass
    const { claim, parts } = attempt
    const earlier = new Map<string, number>()
    for (let after = 0; ;) {
      const chunks = await parts.store.read({ kind: 'output', taskId: claim.taskId, after, limit: STRETCH })
      for (const { attempt: of, round, data } of chunks ?? []) {
        if (of !== claim.attempt || round !== memos.rejections.length) continue
        const hash = parts.environment.digest.sha256Hex(data)
        earlier.set(hash, (earlier.get(hash) ?? 0) + 1)
      }
      const last = chunks?.at(-1)
      if (last === undefined) return earlier
      after = last.seq
    }
  }
}

const STRETCH = 256

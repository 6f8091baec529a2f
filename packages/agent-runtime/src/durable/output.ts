import { guarded } from './pass/guarded.ts'
import { surroundingStep } from './step/inside-step.ts'
import { assertEmitted, type ExchangeTerms } from '../terms/exchange.ts'
import { noMemos } from './pass/memos.ts'
import type { Pass } from './pass/pass.ts'
import type { Scope } from './pass/scope.ts'

/** `ctx.emit`: appends to the task's output stream. Source: `docs/semantics.md 9`. */
export function emit(pass: Pass, scope: Scope, terms: ExchangeTerms, chunk: unknown): Promise<void> {
  return guarded(scope, () => {
    assertEmitted(terms, chunk)
    const text = scope.attempt.parts.values.encode(chunk, {
      what: 'an emitted value',
      maxBytes: scope.attempt.parts.config.maxPayloadBytes,
    })
    // A later pass does not run the step's function, and a handler that starts from a snapshot leaves out
    // earlier work.
    const comesAgain = surroundingStep(pass) === undefined && !pass.isFromSnapshot
    return pass.output.append(text, comesAgain)
  })
}

/**
 * The chunks that a pass emits. A handler that runs again emits again what earlier passes have stored; those
 * chunks are not written again. They are recognised by their values, because code that runs side by side
 * emits in any order. If the stored chunks cannot be read, a chunk is rather stored twice than not at all.
 * Source: `docs/semantics.md 9.4`.
 */
export class Output {
  readonly #pass: Pass
  /** Chunks of earlier passes that have not been emitted again: their number, by the hash of the value. */
  #earlier: Promise<Map<string, number>> | undefined

  constructor(pass: Pass) {
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

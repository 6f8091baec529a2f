import { encode } from '@ku0/agent-runtime-core'
import type { Attempt } from '../execution/attempt.ts'
import { guarded } from './guarded.ts'

/** `ctx.emit`: appends to the task's output stream. Source: `docs/semantics.md 9`. */
export function emit(attempt: Attempt, chunk: unknown): Promise<void> {
  return guarded(attempt, () => {
    const text = encode(chunk, { what: 'an emitted value', maxBytes: attempt.parts.config.maxPayloadBytes })
    return attempt.write({ kind: 'appendOutput', leaseId: attempt.claim.leaseId, chunks: [text] })
  })
}

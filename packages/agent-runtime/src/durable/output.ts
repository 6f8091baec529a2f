import { encode } from '@ku0/agent-runtime-core'
import { guarded } from './guarded.ts'
import type { Scope } from './scope.ts'

/** `ctx.emit`: appends to the task's output stream. Source: `docs/semantics.md 9`. */
export function emit(scope: Scope, chunk: unknown): Promise<void> {
  return guarded(scope, () => {
    const text = encode(chunk, {
      what: 'an emitted value',
      maxBytes: scope.attempt.parts.config.maxPayloadBytes,
    })
    return scope.attempt.write({ kind: 'appendOutput', leaseId: scope.attempt.claim.leaseId, chunks: [text] })
  })
}

import { encode } from '@ku0/agent-runtime-core'
import { guarded } from './pass/guarded.ts'
import type { Scope } from './pass/scope.ts'

/** `ctx.checkpoint`: the newest snapshot replaces the one before. */
export function saveCheckpoint(scope: Scope, data: unknown): Promise<void> {
  return guarded(scope, () => {
    const text = encode(data, { what: 'a checkpoint', maxBytes: scope.attempt.parts.config.maxPayloadBytes })
    return scope.attempt.lease.write({ kind: 'checkpoint', leaseId: scope.attempt.claim.leaseId, data: text })
  })
}

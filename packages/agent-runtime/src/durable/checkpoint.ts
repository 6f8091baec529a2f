import { guarded } from './pass/guarded.ts'
import type { Scope } from './pass/scope.ts'

/** `ctx.checkpoint`: the newest snapshot replaces the one before. */
export function saveCheckpoint(scope: Scope, data: unknown): Promise<void> {
  return guarded(scope, () => {
    const { config, values } = scope.attempt.parts
    const text = values.encode(data, { what: 'a checkpoint', maxBytes: config.maxPayloadBytes })
    return scope.attempt.lease.write({ kind: 'checkpoint', leaseId: scope.attempt.claim.leaseId, data: text })
  })
}

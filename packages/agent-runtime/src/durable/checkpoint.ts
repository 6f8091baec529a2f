import { encode } from '@ku0/agent-runtime-core'
import type { Attempt } from '../execution/attempt.ts'
import { guarded } from './guarded.ts'

/** `ctx.checkpoint`: the newest snapshot replaces the one before. */
export function saveCheckpoint(attempt: Attempt, data: unknown): Promise<void> {
  return guarded(attempt, () => {
    const text = encode(data, { what: 'a checkpoint', maxBytes: attempt.parts.config.maxPayloadBytes })
    return attempt.write({ kind: 'checkpoint', leaseId: attempt.claim.leaseId, data: text })
  })
}

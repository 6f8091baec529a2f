import { encode } from '@ku0/agent-runtime-core'
import type { Attempt } from '../execution/attempt.ts'
import { guarded } from './guarded.ts'

/** `ctx.heartbeat`: leases are renewed without it; what it reports is kept with the lease. */
export function heartbeat(attempt: Attempt, report: { readonly progress?: unknown } = {}): Promise<void> {
  return guarded(attempt, async () => {
    if (!('progress' in report)) return 'ok'
    const text = encode(report.progress, {
      what: 'a progress report',
      maxBytes: attempt.parts.config.maxInlineBytes,
    })
    return attempt.write({ kind: 'progress', leaseId: attempt.claim.leaseId, progress: text })
  })
}

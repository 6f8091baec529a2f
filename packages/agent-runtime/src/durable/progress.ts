import { encode } from '@ku0/agent-runtime-core'
import { assertOptions } from '../rules.ts'
import { guarded } from './guarded.ts'
import type { Scope } from './scope.ts'

/** `ctx.heartbeat`: leases are renewed without it; what it reports is kept with the lease. */
export function heartbeat(scope: Scope, report: { readonly progress?: unknown } = {}): Promise<void> {
  return guarded(scope, async () => {
    assertOptions('heartbeat', report, rules)
    if (!('progress' in report)) return 'ok'
    const text = encode(report.progress, {
      what: 'a progress report',
      maxBytes: scope.attempt.parts.config.maxInlineBytes,
    })
    return scope.attempt.write({ kind: 'progress', leaseId: scope.attempt.claim.leaseId, progress: text })
  })
}

const rules = { progress: ['', () => true] } as const

import { assertOptions } from '@ku0/agent-runtime-core'
import { type Heartbeat, heartbeatRules, readHeartbeat } from '../workload/heartbeat.ts'
import { guarded } from './guarded.ts'
import type { Scope } from './scope.ts'

/** `ctx.heartbeat`: leases are renewed without it; what it reports is kept with the lease, and counts where that has a profile. */
export function heartbeat(scope: Scope, report: Heartbeat = {}): Promise<void> {
  return guarded(scope, async () => {
    assertOptions('heartbeat', report, heartbeatRules)
    const { attempt } = scope
    if (attempt.watch !== undefined) return attempt.watch.heartbeat(report)
    const { progress } = readHeartbeat(report, attempt.parts.config.maxInlineBytes)
    if (progress === undefined) return 'ok'
    return attempt.write({ kind: 'progress', leaseId: attempt.claim.leaseId, progress })
  })
}

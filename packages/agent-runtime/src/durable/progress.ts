import { assertOptions } from '@ku0/agent-runtime-core'
import type { Heartbeat } from '../api/profiles.ts'
import { heartbeatRules } from '../terms/heartbeat.ts'
import { guarded } from './pass/guarded.ts'
import type { Scope } from './pass/scope.ts'

/**
 * `ctx.heartbeat`: leases are renewed without it. The report is stored with the lease, and counts against the
 * limits of its profile.
 */
export function heartbeat(scope: Scope, report: Heartbeat = {}): Promise<void> {
  return guarded(scope, async () => {
    assertOptions('heartbeat', report, heartbeatRules)
    await scope.attempt.heartbeat(report)
  })
}

import type { ExecutionConfigInput } from '@ku0/agent-runtime-core'

/** Short leases, so that who is stopped loses them; nothing else may end an attempt, and no burst is refused. */
export const historyConfig: ExecutionConfigInput = {
  leaseTtlMs: 400,
  heartbeatIntervalMs: 80,
  maxCrashes: 1_000_000,
}

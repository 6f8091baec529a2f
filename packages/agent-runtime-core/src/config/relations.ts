import type { ConfigWarning, ExecutionConfig } from './schema.ts'

/** Each interval of renewal, and the lifetime that it renews. */
const renewals = [
  ['heartbeatIntervalMs', 'leaseTtlMs'],
  ['presenceIntervalMs', 'presenceTtlMs'],
] as const

/** The settings that contradict others, with the values that would not. */
export function conflictsIn(config: ExecutionConfig): { path: string; allowed: string }[] {
  const conflicts = []
  for (const [interval, ttl] of renewals) {
    if (config[interval] >= config[ttl]) {
      conflicts.push({ path: interval, allowed: `less than ${ttl}, ${config[ttl]}` })
    }
  }
  if (config.batchBackpressureThreshold > config.queueDepthLimit) {
    const allowed = `at most queueDepthLimit, ${config.queueDepthLimit}`
    conflicts.push({ path: 'batchBackpressureThreshold', allowed })
  }
  return conflicts
}

/** The settings that are allowed and most likely mistakes. */
export function warningsFor(config: ExecutionConfig): ConfigWarning[] {
  return renewals
    .filter(([interval, ttl]) => config[interval] * 3 > config[ttl])
    .map(([interval, ttl]) => ({
      path: interval,
      message: `${interval} ${config[interval]} is more than a third of ${ttl} ${config[ttl]}: one late renewal may lose it`,
    }))
}

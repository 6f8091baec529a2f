/** A setting that is allowed and most likely a mistake. */
export interface ConfigWarning {
  readonly path: string
  readonly message: string
}

/** The settings that bound each other. */
interface Related {
  readonly heartbeatIntervalMs: number
  readonly leaseTtlMs: number
  readonly presenceIntervalMs: number
  readonly presenceTtlMs: number
  readonly queueDepthLimit: number
  readonly batchBackpressureThreshold: number
}

/** Each interval of renewal, and the lifetime that it renews. */
const renewals = [
  ['heartbeatIntervalMs', 'leaseTtlMs'],
  ['presenceIntervalMs', 'presenceTtlMs'],
] as const

/** The settings that contradict others, with the values that would not. */
export function conflictsIn(config: Related): { path: string; allowed: string }[] {
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
export function warningsFor(config: Related): ConfigWarning[] {
  return renewals
    .filter(([interval, ttl]) => config[interval] * 3 > config[ttl])
    .map(([interval, ttl]) => ({
      path: interval,
      message: `${interval} ${config[interval]} is more than a third of ${ttl} ${config[ttl]}: one late renewal may lose it`,
    }))
}

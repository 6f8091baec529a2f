import { MAX_DURATION_MS } from '../config/setting.ts'
import { flagRule, type Rule, type Rules } from '../check/rules.ts'
import { MAX_AMOUNT } from './classes.ts'
import type { ProfileConfig, ResourceLimit } from './schema.ts'

/** The rules of the schema of a profile's config, for programs that pass one: these rules need no schemas. */
export const profileConfigRules: Rules<ProfileConfig> = {
  baselineLatencyMs: amountOf('ms', MAX_DURATION_MS),
  baselineComputeUs: amountOf('microseconds', MAX_AMOUNT),
  baselineMemoryBytes: amountOf('bytes', MAX_AMOUNT),
  maxDurationMs: amountOf('ms', MAX_DURATION_MS),
  heartbeatRequired: flagRule,
}

/** The same for the limits of one kind. */
export const resourceLimitRules: Rules<ResourceLimit> = {
  cpuTimeUs: amountOf('microseconds', MAX_AMOUNT),
  memoryBytes: amountOf('bytes', MAX_AMOUNT),
  durationMs: amountOf('ms', MAX_DURATION_MS),
}

function amountOf(unit: string, most: number): Rule {
  const allowed = `a whole number of ${unit} from 1 to ${most}`
  return [
    allowed,
    (value) => Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= most,
  ]
}

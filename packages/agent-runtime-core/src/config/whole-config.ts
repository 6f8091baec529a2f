import { type ConfigWarning, conflictsIn, warningsFor } from './relations.ts'
import type { ExecutionConfig } from './schema.ts'
import { MAX_COUNT, MAX_DURATION_MS } from './setting.ts'

/**
 * The configuration of a program that sets nothing. It stands here beside the defaults of the schema, so that such a program loads no schemas; a test
 * holds that both are the same.
 */
export const defaultConfig: ExecutionConfig = Object.freeze({
  leaseTtlMs: 30_000,
  heartbeatIntervalMs: 5_000,
  schedulerTickMs: 100,
  maxInFlightPerWorker: 4,
  queueDepthLimit: 1_000,
  batchBackpressureThreshold: 500,
  maxDelayed: 100_000,
  maxRejectedKept: 10_000,
  maxCrashes: 5,
  maxStallMs: 600_000,
  drainGraceMs: 30_000,
  abortGraceMs: 30_000,
  cleanupTimeoutMs: 10_000,
  killGraceMs: 5_000,
  maxInlineBytes: 262_144,
  maxPayloadBytes: 1_048_576,
  presenceTtlMs: 90_000,
  maxWaits: 1_000,
  maxBackOffs: 10_000,
  maxSignals: 1_000,
  maxSchedules: 10_000,
  maxCatchUp: 100,
  maxEvaluationsKept: 1_000,
  maxEvaluatedAgents: 10_000,
  maxChildren: 10_000,
  presenceIntervalMs: 30_000,
  circuitScarLimit: 1,
  circuitOpenMs: 30_000,
  scarFactor: 5,
  preemption: false,
  maxClients: 100_000,
})

/** The names of all settings, those that have no default included. */
export const settingNames: readonly string[] = [
  ...Object.keys(defaultConfig),
  'quotaConfig',
  'retention',
  'shares',
  'agingMs',
]

/** Each configuration that was read, with the settings that its program names. */
const whole = new WeakMap<object, ReadonlySet<string>>([[defaultConfig, new Set()]])

/**
 * The whole configuration of a value that needs no check of its settings: undefined, or a configuration that
 * was read before.
 */
export function wholeConfig(given: unknown): ExecutionConfig | undefined {
  if (given === undefined) return defaultConfig
  return typeof given === 'object' && given !== null && whole.has(given)
    ? (given as ExecutionConfig)
    : undefined
}

/** Settings with bounds of their own: the schema looks at them. */
const bounded: ReadonlySet<string> = new Set(['maxCatchUp', 'circuitScarLimit', 'scarFactor'])

/**
 * Reads settings that are plainly right: numbers and flags within their bounds that contradict no other setting. Undefined for all else, right or wrong:
 * the schema reads it then, and says what is wrong. So a program that sets a limit starts without the schemas.
 */
export function readPlainConfig(
  given: unknown,
): { readonly config: ExecutionConfig; readonly warnings: readonly ConfigWarning[] } | undefined {
  const known = wholeConfig(given)
  if (known !== undefined) return { config: known, warnings: warningsFor(known) }
  const settings = plainSettings(given)
  if (settings === undefined) return undefined
  const config = Object.freeze({ ...defaultConfig, ...settings })
  if (conflictsIn(config).length > 0) return undefined
  return { config: markWhole(config, settings), warnings: warningsFor(config) }
}

function plainSettings(given: unknown): Partial<ExecutionConfig> | undefined {
  try {
    if (Object.getPrototypeOf(given) !== Object.prototype) return undefined
    const entries: [string, unknown][] = Object.entries(given as object)
    if (!entries.every(([name, value]) => isPlain(name, value))) return undefined
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  } catch {
    return undefined
  }
}

function isPlain(name: string, value: unknown): boolean {
  if (value === undefined) return settingNames.includes(name)
  if (!Object.hasOwn(defaultConfig, name) || bounded.has(name)) return false
  if (typeof defaultConfig[name as keyof ExecutionConfig] === 'boolean') return typeof value === 'boolean'
  const most = name.endsWith('Ms') ? MAX_DURATION_MS : MAX_COUNT
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most
}

/** Remembers a configuration in which nothing is wrong and nothing is missing. `given`: what its program wrote. */
export function markWhole(config: ExecutionConfig, given: unknown): ExecutionConfig {
  const before = typeof given === 'object' && given !== null ? whole.get(given) : undefined
  whole.set(config, before ?? namesIn(given))
  return config
}

/** The settings that the program of a configuration names; all others have their defaults. */
export function namedSettings(config: ExecutionConfig): ReadonlySet<string> {
  return whole.get(config) ?? namesIn(config)
}

function namesIn(given: unknown): ReadonlySet<string> {
  if (typeof given !== 'object' || given === null) return new Set()
  try {
    return new Set(
      Object.keys(given).filter((name) => (given as Record<string, unknown>)[name] !== undefined),
    )
  } catch {
    // It could be read once, and cannot any more.
    return new Set()
  }
}

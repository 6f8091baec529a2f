import {
  type ConfigurationRecord,
  type ExecutionConfigInput,
  type SettingDifference,
  settingDifferences,
  settingsAmong,
  statedSettings,
  storeSettingsOf,
} from '@ku0/agent-runtime-core'
import { toJson } from './json.ts'
import type { Line } from './printer.ts'
import { table } from './table.ts'
import { unlikeText } from './unlike.ts'
import { ago, many } from './words.ts'

/** The settings in force for all processes on a store, and those of the configuration file that differ. */
export interface InForce {
  readonly settings: ConfigurationRecord['settings']
  readonly since: number
  readonly processes: ConfigurationRecord['processes']
  /** `here`: in the configuration file; undefined where that names no setting of the store. */
  readonly differences: readonly SettingDifference[]
}

/** Undefined where no process that runs states any. */
export async function inForceFor(
  configurations: readonly ConfigurationRecord[],
  config: ExecutionConfigInput | undefined,
): Promise<InForce | undefined> {
  const now = configurations.find((it) => it.inForce)
  if (now === undefined) return undefined
  const { settings, since, processes } = now
  return { settings, since, processes, differences: await differencesFrom(config, settings) }
}

/** A file that names no setting of the store takes those of others, and differs in none. */
async function differencesFrom(
  config: ExecutionConfigInput | undefined,
  settings: ConfigurationRecord['settings'],
): Promise<readonly SettingDifference[]> {
  if (config === undefined) return []
  const { parseExecutionConfig } = await import('@ku0/agent-runtime-core/schemas')
  const own = parseExecutionConfig(config).config
  return statedSettings(own) === undefined ? [] : settingDifferences(storeSettingsOf(own), settings)
}

/** All of them, with what the configuration file has in their place. */
export function inForceLines(found: InForce | undefined, now: number): readonly Line[] {
  if (found === undefined)
    return ['no process that runs names a setting of the store: each goes by the defaults']
  const { settings, since, differences } = found
  const here = new Map(differences.map((it) => [it.setting, it.here]))
  const rows = Object.entries(settings).map(([name, value]) => [name, toJson(value), ''])
  const unlike = differences.map(({ setting, there }) => [
    setting,
    there ?? '-',
    { text: here.get(setting) ?? 'not set', style: 'yellow' as const },
  ])
  const isWhole = new Set(unlike.map(([name]) => name))
  return [
    `in force for all processes since ${ago(since, now)}, from ${processesText(found)}`,
    ...table(
      ['SETTING OF THE STORE', 'IN FORCE', 'IN THIS FILE'],
      [...rows.filter(([name]) => !isWhole.has(name)), ...unlike],
    ),
  ]
}

/** A line for each setting in which a process, or the configuration file, is otherwise than in force. */
export function unlikeLines(
  configurations: readonly ConfigurationRecord[],
  found: InForce | undefined,
): readonly Line[] {
  const lines = [
    ...settingsAmong(configurations).map(unlikeText),
    ...(found?.differences ?? []).map(
      ({ setting, here, there }) =>
        `this configuration file differs: ${setting} is ${there ?? 'not set'} in force, and ${here ?? 'not set'} here`,
    ),
  ]
  return lines.map((text) => ({ text, style: 'yellow' }))
}

/** `process 4725 on web-2 and 2 more processes`. */
export function processesText({ processes }: Pick<InForce, 'processes'>): string {
  const [first, ...others] = processes
  if (first === undefined) return 'a process that has ended'
  const more = others.length === 0 ? '' : ` and ${many(others.length, 'more process', 'more processes')}`
  return `process ${first.pid} on ${first.host}${more}`
}

import { canonical } from '../codec/codec.ts'
import { isRecord } from '../check/rules.ts'
import type { ExecutionConfig } from './schema.ts'
import { defaultConfig, namedSettings } from './whole-config.ts'

/**
 * The settings that hold for a whole store, whichever process acts: how much is let in, in which order it starts, and how long it is kept. The others are
 * those of a process: its leases and workers, its shutdown, and what one task may do where its handler runs. Source: `docs/semantics.md 8.12`.
 */
export const storeSettings = [
  'queueDepthLimit',
  'batchBackpressureThreshold',
  'quotaConfig',
  'maxDelayed',
  'maxRejectedKept',
  'maxCrashes',
  'maxSignals',
  'maxSchedules',
  'maxCatchUp',
  'maxEvaluationsKept',
  'maxEvaluatedAgents',
  'circuitScarLimit',
  'circuitOpenMs',
  'scarFactor',
  'preemption',
  'shares',
  'retention',
  'maxClients',
  'agingMs',
] as const satisfies readonly (keyof ExecutionConfig)[]

/** The settings of a store as they are in force, or as a process states them; one that is unset is absent. */
export type StoreSettings = Partial<Pick<ExecutionConfig, (typeof storeSettings)[number]>>

/** The settings of a configuration that hold for a whole store. */
export function storeSettingsOf(config: ExecutionConfig): StoreSettings {
  return Object.fromEntries(
    storeSettings.flatMap((name) => (config[name] === undefined ? [] : [[name, config[name]]])),
  )
}

/**
 * The settings of its store that a process states, as a text that another process can compare: all of them, or undefined if its program names none. Such a
 * process takes the settings of others.
 */
export function statedSettings(config: ExecutionConfig): string | undefined {
  const named = namedSettings(config)
  return storeSettings.some((name) => named.has(name)) ? canonical(storeSettingsOf(config)) : undefined
}

/** A configuration with the settings of its store that are in force. One that a text of another version lacks stays as it is. */
export function withSettings(own: ExecutionConfig, text: string): ExecutionConfig {
  const found: unknown = JSON.parse(text)
  if (!isRecord(found)) throw new TypeError('the settings of a store are an object')
  const isTaken = (name: string) => Object.hasOwn(found, name) || unset.has(name)
  const names = storeSettings.filter(isTaken)
  const taken = names.flatMap((name) => (found[name] === undefined ? [] : [[name, found[name]] as const]))
  const kept = Object.entries(own).filter(([name]) => !(names as readonly string[]).includes(name))
  return Object.freeze(Object.fromEntries([...kept, ...taken]) as unknown as ExecutionConfig)
}

/** The settings without a default: where one is absent, it is not set. */
const unset: ReadonlySet<string> = new Set(
  storeSettings.filter((name) => !Object.hasOwn(defaultConfig, name)),
)

/** The settings that some process of a store states, or stated lately. */
export interface ConfigurationRow {
  /** Settings that came later have greater numbers. */
  readonly id: number
  readonly settings: string
  /** How many processes that have not ended state them. */
  readonly processes: number
}

/** The settings in force: among those that living processes state, the ones that came last. */
export function inForce<Row extends Pick<ConfigurationRow, 'id' | 'processes'>>(
  rows: readonly Row[],
): Row | undefined {
  return rows
    .filter(({ processes }) => processes > 0)
    .reduce<Row | undefined>((last, row) => (last === undefined || row.id > last.id ? row : last), undefined)
}

/** The effect of a process that states its settings on the rows of a store. */
export interface ConfigurationVerdict {
  /** The row of this process. */
  readonly id: number
  /** It is to be made, and is in force from now on. */
  readonly isNew: boolean
  /** Rows that nobody needs any more. */
  readonly removed: readonly number[]
}

/**
 * Settings that no living process states are new and come last, so they are in force. Settings that others have replaced do not come back while a process of the others
 * lives: so a program of before that starts again during a deploy changes nothing. Source: `docs/semantics.md 8.12`.
 */
export function decideConfiguration(
  rows: readonly ConfigurationRow[],
  settings: string,
): ConfigurationVerdict {
  const same = rows.find((row) => row.settings === settings)
  const last = inForce(rows)
  if (same !== undefined && (same.processes > 0 || (last !== undefined && same.id < last.id)))
    return { id: same.id, isNew: false, removed: [] }
  return {
    id: Math.max(0, ...rows.map(({ id }) => id)) + 1,
    isNew: true,
    removed: rows.filter(({ processes }) => processes === 0).map(({ id }) => id),
  }
}

/** A setting, by its path, that two configurations have differently; undefined where one of them has none. */
export interface SettingDifference {
  readonly setting: string
  readonly here: string | undefined
  readonly there: string | undefined
}

/** Each setting of its own in which two configurations differ. Settings that only one version of the program knows are no difference. */
export function settingDifferences(here: StoreSettings, there: StoreSettings): readonly SettingDifference[] {
  return storeSettings.flatMap((name) => differing(name, here[name], there[name]))
}

function differing(path: string, here: unknown, there: unknown): readonly SettingDifference[] {
  if (isRecord(here) && isRecord(there)) {
    const names = [...new Set([...Object.keys(here), ...Object.keys(there)])].toSorted()
    return names.flatMap((name) => differing(`${path}.${name}`, here[name], there[name]))
  }
  const [mine, theirs] = [textOf(here), textOf(there)]
  return mine === theirs ? [] : [{ setting: path, here: mine, there: theirs }]
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : canonical(value)
}

/** Settings that living processes of a store state. */
export interface ConfigurationRecord {
  readonly settings: StoreSettings
  readonly inForce: boolean
  /** When they came, epoch ms. */
  readonly since: number
  /** The processes that state them. */
  readonly processes: readonly { readonly processId: string; readonly host: string; readonly pid: number }[]
}

/** Each setting that living processes have otherwise than it is in force, with one of them: that of fewest processes is likely to be the one to change. */
export function settingsAmong(
  records: readonly ConfigurationRecord[],
): readonly (SettingDifference & { readonly process: ConfigurationRecord['processes'][number] })[] {
  const now = records.find((record) => record.inForce)
  if (now === undefined) return []
  return records
    .filter((record) => record !== now)
    .flatMap(({ settings, processes: [process] }) =>
      process === undefined
        ? []
        : settingDifferences(now.settings, settings).map((it) => ({ ...it, process })),
    )
}

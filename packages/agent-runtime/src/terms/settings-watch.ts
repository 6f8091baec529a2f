import {
  type ConfigurationRecord,
  type ExecutionConfig,
  type ExecutionStore,
  statedSettings,
  settingDifferences,
  storeSettingsOf,
} from '@ku0/agent-runtime-core'
import type { LogLine } from '../api/logger.ts'
import { SaidOnce } from './said-once.ts'

interface SettingsWatchParts {
  readonly store: Pick<ExecutionStore, 'info' | 'read'>
  readonly config: ExecutionConfig
  readonly log: LogLine
}

/**
 * Says in the log in which settings of the store this process differs from those in force, or from those of other processes where its own are in force: when it
 * starts, and whenever others come into force. Each difference is said once. A program that names no setting of the store takes those of others, and is
 * told nothing. Source: `docs/semantics.md 8.12`.
 */
export class SettingsWatch {
  readonly #parts: SettingsWatchParts
  readonly #states: boolean
  readonly #said = new SaidOnce()
  #wasInForce = true

  constructor(parts: SettingsWatchParts) {
    this.#parts = parts
    this.#states = statedSettings(parts.config) !== undefined
  }

  /** Looks now, without keeping anybody waiting: a store that cannot answer costs only this look. */
  look(): void {
    if (this.#states) void this.#compare().catch(() => undefined)
  }

  async #compare(): Promise<void> {
    const { store, config, log } = this.#parts
    const { configurations = [] } = await store.read({ kind: 'stats' })
    const { processId } = store.info
    const isOwn = ({ processes }: ConfigurationRecord) => processes.some((it) => it.processId === processId)
    const own = configurations.find(isOwn)
    const now = configurations.find(({ inForce }) => inForce)
    // A store that was opened elsewhere has the settings that it was opened with.
    if (own === undefined || now === undefined) return
    const here = storeSettingsOf(config)
    if (own !== now) {
      this.#wasInForce = false
      for (const { setting, here: mine, there: inForce } of settingDifferences(here, now.settings))
        if (this.#said.isNew('replaced', setting, mine ?? '', inForce ?? ''))
          log('warn', REPLACED, { setting, ...given({ here: mine, inForce }), process: nameOf(now) })
      return
    }
    if (!this.#wasInForce) log('info', 'the settings of this process are in force for all')
    this.#wasInForce = true
    for (const other of configurations)
      for (const { setting, here: mine, there } of settingDifferences(here, other.settings))
        if (this.#said.isNew('replaces', setting, mine ?? '', there ?? ''))
          log('warn', REPLACES, { setting, ...given({ here: mine, there }), process: nameOf(other) })
  }
}

const REPLACED =
  'this setting of the store differs from the one in force, which a process brought that came later: give all processes the same config'
const REPLACES =
  'this setting of the store is in force for all, and differs from that of a process which came before: give all processes the same config'

/** One of the processes that state the settings. */
function nameOf({ processes: [process] }: ConfigurationRecord): string {
  return process === undefined ? 'unknown' : `${process.pid} on ${process.host}`
}

function given(fields: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined),
  )
}

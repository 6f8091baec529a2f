import {
  type ExecutionConfig,
  StoreError,
  type StoreSettings,
  storeSettingsOf,
  withSettings,
} from '@ku0/agent-runtime-core'
import type { Database } from './database.ts'
import type { EngineSetting } from './engine-setting.ts'
import { got, type Steps } from './steps.ts'

/** The configuration by which an engine decides: that of its process, with the settings of the store that are in force for all. */
export class InForce {
  config: ExecutionConfig
  private readonly own: ExecutionConfig
  private readonly follows: boolean
  private readonly db: Database
  /** The row of the settings that {@link config} has; undefined where they are the process's own, which nobody states. */
  private row: number | undefined
  private hasNews = false

  constructor({ config, states, follows = true }: EngineSetting, db: Database) {
    this.own = config
    this.config = config
    this.follows = follows
    this.db = db
    this.row = states === undefined ? undefined : db.configuration
  }

  /** Takes those that the row of this number has. True if they are other ones. */
  *take(row: number | undefined): Steps<boolean> {
    if (!this.follows || row === this.row) return false
    const config = row === undefined ? this.own : this.read(yield* got(this.db.settings(row)))
    this.row = row
    this.config = config
    this.db.configured(config)
    this.hasNews = true
    return true
  }

  /** What the process is to be told. */
  takeNews(): StoreSettings | undefined {
    if (!this.hasNews) return undefined
    this.hasNews = false
    return storeSettingsOf(this.config)
  }

  private read(text: string): ExecutionConfig {
    try {
      return withSettings(this.own, text)
    } catch (cause) {
      throw new StoreError(
        'store_corrupt',
        `${this.db.info.location}: the settings in force (configuration) cannot be read; run verify`,
        { cause },
      )
    }
  }
}

import { statedSettings, type ExecutionConfig } from '@ku0/agent-runtime-core'

/** The attitude of a process towards the settings of its store: see `OpenStoreOptions.settings`. */
export type SettingsMode = 'stated' | 'followed' | 'own'

/** The same as data, which crosses to the thread of a store. */
export interface Stance {
  /** What it states of them, for all. */
  readonly states: string | undefined
  /** Whether it takes those that are in force. */
  readonly follows: boolean
}

/** The same where a process may say nothing: then it states none, and follows. */
export type GivenStance = { readonly [K in keyof Stance]?: Stance[K] | undefined }

/** A program that names no setting of its store states none. */
export function stanceOf(config: ExecutionConfig, mode: SettingsMode = 'stated'): Stance {
  return { states: mode === 'stated' ? statedSettings(config) : undefined, follows: mode !== 'own' }
}

import type { StoreOptions } from '@ku0/agent-runtime'
import type { Settings } from '../settings/settings.ts'

/** The settings as the runtime takes them. */
export function optionsOf({
  store,
  durability,
  config,
}: Settings): Pick<StoreOptions, 'store' | 'durability' | 'config'> {
  return { store, durability, ...(config === undefined ? {} : { config }) }
}

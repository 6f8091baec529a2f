import type { StoreOptions } from '@ku0/agent-runtime'
import type { Settings } from '../settings/settings.ts'
import { isServer } from '../store-argument.ts'

/** The settings as the runtime takes them. A server has a durability of its own, and wants a token. */
export function optionsOf(
  { store, makesStore, durability, config, token }: Settings,
  existing = !makesStore,
): Pick<StoreOptions, 'store' | 'existing' | 'durability' | 'config' | 'token'> {
  const settings = config === undefined ? {} : { config }
  if (!isServer(store)) return { store, existing, durability, ...settings }
  return { store, ...settings, ...(token === undefined ? {} : { token }) }
}

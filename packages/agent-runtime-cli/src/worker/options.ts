import type { StoreOptions } from '@ku0/agent-runtime'
import type { Settings } from '../settings/settings.ts'

/** Whether a store's URL names a server in front of it. */
export function isServer(store: string): boolean {
  return /^https?:/i.test(store)
}

/** The settings as the runtime takes them. A server has a durability of its own, and wants a token. */
export function optionsOf(
  { store, makesStore, durability, config, token }: Settings,
  existing = !makesStore,
): Pick<StoreOptions, 'store' | 'existing' | 'durability' | 'config' | 'token'> {
  const settings = config === undefined ? {} : { config }
  if (!isServer(store)) return { store, existing, durability, ...settings }
  return { store, ...settings, ...(token === undefined ? {} : { token }) }
}

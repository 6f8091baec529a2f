import type { StoreOptions } from '@ku0/agent-runtime'
import type { Settings } from '../settings/settings.ts'

/** The settings as the runtime takes them. A server has a durability of its own, and wants a token. */
export function optionsOf({
  store,
  durability,
  config,
  token,
}: Settings): Pick<StoreOptions, 'store' | 'durability' | 'config' | 'token'> {
  const settings = config === undefined ? {} : { config }
  if (!/^https?:/i.test(store)) return { store, durability, ...settings }
  return { store, ...settings, ...(token === undefined ? {} : { token }) }
}

import type { Call } from './call.ts'
import { UsageError } from './complain.ts'
import { storeUrl } from './store-argument.ts'

/** The store that a command looks after: one itself, or the one behind a server. */
export type PlaceOfCare =
  | { readonly store: string; readonly server?: undefined }
  | { readonly server: string; readonly token: string | undefined }

/** The store or the server that a command was given as its argument, or else that of the settings. */
export async function placeOfCare({
  args: [given],
  options,
  settings,
}: Pick<Call, 'args' | 'options' | 'settings'>): Promise<PlaceOfCare> {
  if (given !== undefined && options['server'] !== undefined)
    throw new UsageError('give either a store or --server')
  if (given !== undefined && !isServer(given)) return { store: storeUrl(given) }
  const { server, store, token } = await settings()
  const asked = given ?? server ?? (isServer(store) ? store : undefined)
  return asked === undefined ? { store } : { server: asked, token }
}

function isServer(url: string): boolean {
  return /^https?:\/\//i.test(url)
}

import type { Call } from './call.ts'
import { assertNoServer } from './connect.ts'
import { storeUrl } from './store-argument.ts'

/** The URL of the store that a command was given as its argument, or else of the settings. */
export async function storeOf({ args: [given], settings }: Pick<Call, 'args' | 'settings'>): Promise<string> {
  if (given !== undefined) return storeUrl(given)
  const read = await settings()
  assertNoServer(read)
  return read.store
}

import type { ExecutionStore } from '@ku0/agent-runtime-core'
import type { Client } from './api/client.ts'
import type { KnownStore } from './api/store-url.ts'
import { readClientOptions } from './checked-options.ts'
import { assertStoreUrl, onStore } from './opened-store.ts'
import type { ClientOptions } from './options.ts'

/**
 * Opens a client, which submits tasks, follows them and answers them, and runs none. It loads no scheduler
 * and needs no handler: tasks are submitted by a contract (`defineContract`), by a definition, or by the name
 * of their type.
 *
 *     await using client = await createClient({ store: 'sqlite:tasks.db' })
 *     const receipt = await client.submit('review', { repo: 'a/b' })
 *     const report = await client.result(receipt)
 *
 * Throws a `ConfigError` that names every bad option and setting, including an open store that another
 * client, worker or runtime uses, and `store_*` if the store cannot be opened; then nothing is left open.
 */
export async function createClient<const Store extends string | ExecutionStore>(
  given: ClientOptions & { readonly store: Store & KnownStore<Store> },
): Promise<Client> {
  const checked = await readClientOptions(given, assertStoreUrl)
  return onStore(checked, async (store) => (await loaded()).composeClient(checked, store))
}

const loaded = () => import('./composed-client.ts')

import type { ExecutionStore } from '@ku0/agent-runtime-core'
import type { Runtime } from './api/runtime.ts'
import type { KnownStore } from './api/store-url.ts'
import { readRuntimeOptions } from './checked-options.ts'
import { assertStoreUrl, onStore } from './opened-store.ts'
import type { RuntimeOptions } from './options.ts'

/**
 * Creates a runtime, which submits tasks and runs them: opens the store, attaches telemetry and registers the
 * workers. Throws a `ConfigError` that names every bad option and setting, including an open store that
 * another runtime uses, and `store_*` if the store cannot be opened; then nothing is left open.
 */
export async function createRuntime<const Store extends string | ExecutionStore>(
  given: RuntimeOptions & { readonly store: Store & KnownStore<Store> },
): Promise<Runtime> {
  const checked = await readRuntimeOptions(given, assertStoreUrl)
  return onStore(checked, async (store) => (await loaded()).composeRuntime(checked, store))
}

const loaded = () => import('./composed-runtime.ts')

import type { Runtime } from './api/runtime.ts'
import { readRuntimeOptions } from './checked-options.ts'
import { onStore, parseStoreUrl } from './opened-store.ts'
import type { RuntimeOptions } from './options.ts'

/**
 * Puts a runtime together, which submits tasks and runs them: opens the store, attaches telemetry, registers the workers. Throws a
 * `ConfigError` naming every bad option and setting, or an opened store that another runtime has, and `store_*` when the store cannot be
 * opened; nothing is left open then.
 */
export async function createRuntime(given: RuntimeOptions): Promise<Runtime> {
  const checked = await readRuntimeOptions(given, parseStoreUrl)
  return onStore(checked, async (store) => (await loaded()).composeRuntime(checked, store))
}

const loaded = () => import('./composed-runtime.ts')

import type { Runtime } from './api/runtime.ts'
import { readRuntimeOptions } from './checked-options.ts'
import { assertOutsideRunners } from './isolation/inside-runner.ts'
import { assertStoreUrl, onStore } from './opened-store.ts'
import type { RuntimeOptions } from './options.ts'

/**
 * Creates a runtime, which submits tasks and runs them: opens the store, attaches telemetry and registers the
 * workers. Throws a `ConfigError` that names every bad option and setting, including an open store that
 * another runtime uses, and `store_*` if the store cannot be opened; then nothing is left open.
 */
export async function createRuntime(given: RuntimeOptions): Promise<Runtime> {
  // Without type parameters: a handler that uses the runtime of its own type would otherwise have no type that the compiler can infer.
  assertOutsideRunners('createRuntime')
  const checked = await readRuntimeOptions(given, assertStoreUrl)
  return onStore(checked, async (store) => (await loaded()).composeRuntime(checked, store))
}

const loaded = () => import('./composed-runtime.ts')

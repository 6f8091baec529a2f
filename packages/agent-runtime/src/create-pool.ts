import type { PoolOptions, ProcessPool } from './api/pool.ts'
import { readPoolOptions } from './checked-options.ts'
import { assertOutsideRunners } from './isolation/inside-runner.ts'
import { onStore, parseStoreUrl } from './opened-store.ts'

/**
 * Starts a pool of worker processes on a store. Each process imports the module of task definitions and runs its tasks. The pool starts and
 * drains processes as the queue asks for, and replaces those that die.
 *
 *     await using pool = await createPool({ store: 'sqlite:tasks.db', module: new URL('./tasks.ts', import.meta.url), max: 4 })
 *
 * Resolves when `min` workers take tasks. Throws a `ConfigError` that names every bad option, and what keeps the first workers from starting;
 * nothing is left running then.
 */
export async function createPool(given: PoolOptions): Promise<ProcessPool> {
  assertOutsideRunners('createPool')
  const checked = await readPoolOptions(given, parseStoreUrl)
  return onStore(checked, async (store) => (await loaded()).composePool(checked, store))
}

const loaded = () => import('./composed-pool.ts')

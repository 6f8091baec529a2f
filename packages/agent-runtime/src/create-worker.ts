import type { ExecutionStore } from '@ku0/agent-runtime-core'
import type { Worker } from './api/worker.ts'
import type { KnownStore } from './api/store-url.ts'
import { readWorkerOptions } from './checked-options.ts'
import { assertOutsideRunners } from './isolation/inside-runner.ts'
import { assertStoreUrl, onStore } from './opened-store.ts'
import type { WorkerProcessOptions } from './options.ts'

/**
 * Starts the workers of a process that only runs tasks: opens the store, attaches telemetry, registers the workers. They also fire the schedules
 * that are due. Tasks come from clients and runtimes of other processes on the store.
 *
 *     await using worker = await createWorker({ store: 'sqlite:tasks.db', tasks: [review], signals: true })
 *
 * Throws as `createRuntime` does.
 */
export async function createWorker<const Store extends string | ExecutionStore>(
  given: WorkerProcessOptions & { readonly store: Store & KnownStore<Store> },
): Promise<Worker> {
  assertOutsideRunners('createWorker')
  const checked = await readWorkerOptions(given, assertStoreUrl)
  return onStore(checked, async (store) => (await loaded()).composeWorker(checked, store))
}

const loaded = () => import('./composed-worker.ts')

import type { ExecutionStore } from '@ku0/agent-runtime-core'
import type { LogLine } from './api/logger.ts'
import type { WorkerSpec } from './api/worker.ts'
import type { WorkerProcessOptions } from './options.ts'

/**
 * Says when a store that was opened elsewhere, by the program or behind a server, gives a worker fewer tasks at once than were asked for: its own
 * limit is in force. A store that was opened here has the limit of these options. Source: `docs/decisions/0060-capacity-that-is-asked-for.md`.
 */
export async function tellLimit(
  store: Pick<ExecutionStore, 'read'>,
  { store: given, workers }: Pick<WorkerProcessOptions, 'store' | 'workers'>,
  specs: readonly WorkerSpec[],
  log: LogLine,
): Promise<void> {
  if (typeof given === 'string' && !/^https?:/i.test(given)) return
  const [spec] = specs
  if (spec === undefined || typeof workers !== 'object' || workers.capacity === undefined) return
  // Whoever may not look at the workers is not told.
  const rows = await store.read({ kind: 'workers' }).catch(() => [])
  const capacity = rows.find(({ workerId }) => workerId === spec.workerId)?.capacity
  if (capacity === undefined || capacity >= spec.capacity) return
  log(
    'warn',
    `workers.capacity ${spec.capacity} is more than the store allows: each worker runs ${capacity} tasks at once; open the store with config: { maxInFlightPerWorker: ${spec.capacity} }`,
    { setting: 'workers.capacity' },
  )
}

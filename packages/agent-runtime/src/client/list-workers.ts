import { type ExecutionStore, RESERVED, type WorkerStatus } from '@ku0/agent-runtime-core'

/** The registered workers of every process on the store, without the runtime's own task types. */
export async function listWorkers(store: Pick<ExecutionStore, 'read'>): Promise<readonly WorkerStatus[]> {
  const workers = await store.read({ kind: 'workers' })
  return workers.map((worker) => ({
    ...worker,
    types: worker.types.filter((type) => !type.startsWith(RESERVED)),
  }))
}

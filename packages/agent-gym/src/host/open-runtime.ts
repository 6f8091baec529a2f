import { createRuntime, type Runtime, type TaskDefinition } from '@ku0/agent-runtime'
import { type ExecutionStore } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { openStore } from '@ku0/agent-runtime-persistence'
import type { HostOptions } from './protocol.ts'

/** A runtime as a scenario's process has it. */
export interface OpenRuntime {
  readonly runtime: Runtime
  /** The store itself where it is in memory: nobody else can read it. */
  readonly inMemory: ExecutionStore | undefined
  close(): Promise<void>
}

/** Opens the runtime the way a user does: a store by its URL, in its own thread, with telemetry, draining on SIGTERM. */
export async function openRuntime(
  options: HostOptions,
  tasks: readonly TaskDefinition[],
): Promise<OpenRuntime> {
  const { scenario, processName } = options
  const { config } = parseExecutionConfig(scenario.config)
  const spec = scenario.processes.find(({ name }) => name === processName)
  const inMemory =
    options.store === 'sqlite::memory:' ? await openStore(options.store, { config }) : undefined
  const runtime = await createRuntime({
    strict: false,
    store: inMemory ?? options.store,
    tasks,
    config: scenario.config,
    workers: spec?.workers === undefined ? 0 : withoutUndefined(spec.workers),
    durability: scenario.durability,
    signals: true,
    logger: false,
    start: options.startsWorkers,
  })
  return {
    runtime,
    inMemory,
    async close() {
      await runtime.stop()
      await inMemory?.close()
    },
  }
}

function withoutUndefined({
  count,
  capacity,
  types,
}: {
  count: number
  capacity: number
  types?: string[] | undefined
}) {
  return types === undefined ? { count, capacity } : { count, capacity, types }
}

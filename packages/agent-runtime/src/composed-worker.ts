import type { ExecutionStore } from '@ku0/agent-runtime-core'
import type { TaskDefinition } from './api/task-definition.ts'
import type { Worker } from './api/worker.ts'
import { type CheckedOptions, workersOf } from './checked-options.ts'
import { Lifetime } from './client/lifetime.ts'
import { graphTask } from './graph/graph-task.ts'
import type { WorkerProcessOptions } from './options.ts'
import { StrictMode } from './replay/strict-mode.ts'
import { takeStore } from './store-handle.ts'
import { StoreWorker } from './store-worker.ts'
import { isolationOf, isStrict, surroundingsOf, tellFailure, watch } from './surroundings.ts'
import { tellLimit } from './told-limit.ts'
import { valuesOf } from './terms/value-codec.ts'

/** Puts a worker together around a store that is open, or is being opened for it alone. */
export async function composeWorker(
  checked: CheckedOptions<WorkerProcessOptions, TaskDefinition>,
  given: ExecutionStore | Promise<ExecutionStore>,
): Promise<Worker> {
  const { options, config, warnings } = checked
  const surroundings = surroundingsOf(options, options.telemetry, warnings)
  const { environment, log, trace } = surroundings
  const values = valuesOf(options)
  const definitions = new Map([...checked.types, [graphTask.type, graphTask]])
  const isolating = isolationOf(options, definitions)
  // Without isolated types no turn passes here.
  const isolation = isolating && (await isolating)
  const { store, release } = await takeStore(given, log)
  let watching: Disposable | undefined
  const crew = workersOf(checked, store.info.processId, [graphTask.type])
  const worker = new StoreWorker({
    store,
    config,
    values,
    environment,
    definitions,
    ...crew,
    rateLimited: options.rateLimited,
    isolation,
    lifetime: new Lifetime('worker'),
    log,
    trace,
    strict: isStrict(options) ? new StrictMode({ store, config, values, definitions, log }) : undefined,
    whenFailed: (error) => void tellFailure(error, options, log, () => worker.stop({ drain: false })),
    release: async () => {
      try {
        await release()
      } finally {
        watching?.[Symbol.dispose]()
      }
    },
  })
  try {
    watching = watch(worker, options, surroundings)
    if (options.start !== false) {
      await worker.start()
      await tellLimit(store, options, crew.workers, log)
    }
  } catch (error) {
    await worker.stop({ drain: false })
    throw error
  }
  return worker
}

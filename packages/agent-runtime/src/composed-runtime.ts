import type { ExecutionStore } from '@ku0/agent-runtime-core'
import type { Runtime } from './api/runtime.ts'
import type { TaskDefinition } from './api/task-definition.ts'
import { type CheckedOptions, workersOf } from './checked-options.ts'
import { KnownTypes } from './client/known-types.ts'
import { Lifetime } from './client/lifetime.ts'
import { graphTask } from './graph/graph-task.ts'
import type { RuntimeOptions } from './options.ts'
import { StrictMode } from './replay/strict-mode.ts'
import { takeStore } from './store-handle.ts'
import { StoreRuntime } from './store-runtime.ts'
import { isolationOf, isStrict, surroundingsOf, tellFailure, watch } from './surroundings.ts'
import { tellLimit } from './told-limit.ts'
import { valuesOf } from './terms/value-codec.ts'

/** Puts a runtime together around a store that is open, or is being opened for it alone. */
export async function composeRuntime(
  checked: CheckedOptions<RuntimeOptions, TaskDefinition>,
  given: ExecutionStore | Promise<ExecutionStore>,
): Promise<Runtime> {
  const { options, config, warnings } = checked
  const surroundings = surroundingsOf(options, options.telemetry, warnings)
  const { environment, log, trace } = surroundings
  const definitions = new Map([...checked.types, [graphTask.type, graphTask]])
  const isolating = isolationOf(options, definitions)
  const isolation = isolating && (await isolating)
  // No turn passes without isolated types, and none before the runtime listens to a store that is open: it would begin alone.
  const taken = takeStore(given, log)
  const { store, release } = taken instanceof Promise ? await taken : taken
  const values = valuesOf(options)
  let watching: Disposable | undefined
  const crew = workersOf(checked, store.info.processId, [graphTask.type])
  const runtime = new StoreRuntime({
    store,
    config,
    values,
    environment,
    definitions,
    types: new KnownTypes(definitions, 'refused'),
    ...crew,
    comparesTypes: crew.workers.length === 0,
    agreements: options.agreements ?? [],
    evaluation: options.evaluation ?? {},
    watchdog: options.watchdog,
    rateLimited: options.rateLimited,
    isolation,
    lifetime: new Lifetime('runtime'),
    log,
    trace,
    strict: isStrict(options) ? new StrictMode({ store, config, values, definitions, log }) : undefined,
    whenFailed: (error) => void tellFailure(error, options, log, () => runtime.stop({ drain: false })),
    release: async () => {
      try {
        await release()
      } finally {
        watching?.[Symbol.dispose]()
      }
    },
  })
  try {
    watching = watch(runtime, options, surroundings)
    if (options.start !== false) {
      await runtime.start()
      await tellLimit(store, options, crew.workers, log)
    }
  } catch (error) {
    await runtime.stop({ drain: false })
    throw error
  }
  return runtime
}

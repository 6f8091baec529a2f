import type { ExecutionStore } from '@ku0/agent-runtime-core'
import type { Client } from './api/client.ts'
import type { CheckedOptions } from './checked-options.ts'
import { StoreClient } from './client/client.ts'
import { KnownTypes } from './client/known-types.ts'
import { Lifetime } from './client/lifetime.ts'
import type { ClientOptions } from './options.ts'
import { takeStore } from './store-handle.ts'
import { surroundingsOf, tellFailure } from './surroundings.ts'
import { graphTerms } from './terms/graph-contract.ts'
import type { TaskTerms } from './terms/task-definition.ts'
import { valuesOf } from './terms/value-codec.ts'

/** Puts a client together around a store that is open, or is being opened for it alone. */
export async function composeClient(
  { options, config, warnings, types }: CheckedOptions<ClientOptions, TaskTerms>,
  given: ExecutionStore | Promise<ExecutionStore>,
): Promise<Client> {
  const telemetry = options.trace === false ? false : undefined
  const { environment, log, trace } = surroundingsOf(options, telemetry, warnings)
  const values = valuesOf(options)
  const { store, release } = await takeStore(given, log)
  const client: Client = new StoreClient({
    store,
    config,
    values,
    environment,
    types: new KnownTypes(
      new Map([...types, [graphTerms.type, graphTerms]]),
      options.tasks === undefined ? 'taken' : 'refused',
    ),
    agreements: options.agreements ?? [],
    evaluation: options.evaluation ?? {},
    comparesTypes: true,
    lifetime: new Lifetime('client'),
    log,
    trace,
    whenFailed: (error) => void tellFailure(error, options, log, () => client.close()),
    release,
  })
  return client
}

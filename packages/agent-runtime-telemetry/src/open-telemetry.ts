import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { RuntimeError } from '@ku0/agent-runtime-core'

/** The API of OpenTelemetry. An application that wants metrics and spans has it; other programs need not install it. */
export type OpenTelemetry = typeof import('@opentelemetry/api')

/** The providers that an application registers through any copy of the API of this major version. */
export interface SharedApi {
  readonly version?: unknown
  readonly metrics?: unknown
  readonly trace?: unknown
}

/** Where every copy of the API of this major version keeps what is registered. */
const sharedKey = Symbol.for('opentelemetry.js.api.1')

/** The API that is registered in this process; undefined where no program ever registered anything. */
export function registeredApi(): SharedApi | undefined {
  // oxlint-disable-next-line no-restricted-properties -- the API's own global, which it shows in no other way
  return (globalThis as Readonly<Record<symbol, SharedApi | undefined>>)[sharedKey]
}

/** A bundler resolves a literal when it builds, and fails where the optional peer is not installed; so this is none. */
const apiName: [string] = ['@opentelemetry/api']

let loaded: OpenTelemetry | undefined
let isMissing = false

/**
 * The copy of the API that is installed for the runtime, loaded on first use; undefined where there is none. It is loaded at once and not by `import()`,
 * since a submission takes the trace context of its caller with it, and by the URL of `import`, so that it is the copy that ES modules get.
 */
export function installedApi(): OpenTelemetry | undefined {
  if (loaded !== undefined || isMissing) return loaded
  try {
    const file = fileURLToPath(import.meta.resolve(...apiName))
    loaded = createRequire(import.meta.url)(file) as OpenTelemetry
  } catch {
    isMissing = true
  }
  return loaded
}

/** The same, where a provider was found with it. */
export function theApi(): OpenTelemetry {
  const api = installedApi()
  if (api === undefined)
    throw new RuntimeError('internal', 'a provider was found without the API of OpenTelemetry')
  return api
}

/** The API where something is registered. Until then it is not loaded: most programs register nothing. */
export function apiInUse(): OpenTelemetry | undefined {
  return registeredApi() === undefined ? undefined : installedApi()
}

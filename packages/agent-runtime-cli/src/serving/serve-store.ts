import { once } from 'node:events'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { type Client, createClient, createRuntime } from '@ku0/agent-runtime'
import { ConfigError, type ExecutionStore, RuntimeError, withoutUndefined } from '@ku0/agent-runtime-core'
import { openStore } from '@ku0/agent-runtime-persistence'
import {
  isReachedByOthers,
  type ListeningServer,
  type ReportSource,
  serve,
  type ServeOptions,
} from '@ku0/agent-runtime-server'
import type { Call } from '../call.ts'
import { assertThere, openOrMake } from '../connect.ts'
import { ended, say } from '../screen/lifetime.ts'
import type { Settings } from '../settings/settings.ts'
import { shownUrl } from '../store-argument.ts'
import type { TaskTypes } from '../task-types.ts'
import { reportsIn } from './reports-in.ts'
import { failing } from '../worker/failing.ts'
import { optionsOf } from '../worker/options.ts'

/** How a command serves its store. */
export interface Serving {
  /** Runs these beside serving. */
  readonly types?: TaskTypes | undefined
  readonly readOnly?: boolean
  readonly hasConsole: boolean
  /** A folder with reports of the gym. */
  readonly reports?: string | undefined
  /** Called once it listens. */
  readonly onListening?: (server: ListeningServer) => void
}

/** Serves a store until the command is stopped: then it refuses requests, ends the streams, lets requests end, and gives back its tasks. */
export async function serveStore(
  call: Call,
  settings: Settings,
  { types, readOnly = false, hasConsole, reports: folder, onListening }: Serving,
): Promise<number> {
  const reports =
    folder === undefined ? undefined : await reportsIn(resolve(call.outlet.folder ?? process.cwd(), folder))
  if (isReachedByOthers(settings.serve)) await assertMayHaveTokens(settings)
  await assertPortFree(settings)
  const failure = failing()
  const definitions = types?.definitions ?? []
  const { capacity } = settings.worker
  const { config, durability } = settings
  // With lines, so that workers of other machines need no database. Each says how many tasks it runs at once, unless a limit is set.
  await using opened = closing(
    await openOrMake(settings, call.print, (existing) =>
      openStore(settings.store, {
        durability,
        existing,
        checked: false,
        lines: true,
        config: { maxInFlightPerWorker: MOST_CAPACITY, ...withoutUndefined(config ?? {}) },
      }),
    ),
  )
  const { store } = opened
  const agreements = types?.agreements ?? []
  const base = { ...optionsOf(settings), store, agreements, onFailure: failure.tell }
  await using runtime: Client =
    definitions.length === 0
      ? await createClient({ ...base, ...(types === undefined ? {} : { tasks: types.types }) })
      : await createRuntime({ ...base, tasks: definitions, workers: { capacity } })
  const server = await listen(call, runtime, settings, { readOnly, hasConsole, reports, store })
  const { url, port } = server
  const isMoved = settings.serve.port === undefined && port !== DEFAULT_PORT
  const runs = definitions.map(({ type }) => type)
  const what = runs.length === 0 ? '' : `, and runs ${runs.join(', ')}`
  say(
    call,
    { type: 'ready', url, port, store: shownUrl(settings.store), types: runs, readOnly },
    `ready: serves ${shownUrl(settings.store)} at ${url}${isMoved ? ` (${DEFAULT_PORT} is taken)` : ''}${readOnly ? ', read-only' : ''}${what}`,
  )
  onListening?.(server)
  try {
    await ended(call.signal, failure.failed)
    say(call, { type: 'draining' }, 'draining')
  } finally {
    await server.close()
  }
  await runtime.close()
  say(call, { type: 'stopped' }, 'stopped')
  return 0
}

/** A store that is not there has no tokens: it is not made for a server that would not start on it. */
async function assertMayHaveTokens(settings: Settings): Promise<void> {
  try {
    await assertThere(settings)
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'not_found') throw needsTokens(settings)
  }
}

/** A port that was asked for and is taken refuses the command before it makes a store. */
async function assertPortFree(settings: Settings): Promise<void> {
  const { host, port = 0 } = settings.serve
  if (port === 0) return
  const probe = createServer()
  try {
    probe.listen(port, host)
    await once(probe, 'listening')
  } catch (error) {
    throw told(error, settings)
  }
  probe.close()
  await once(probe, 'close')
}

/** Closes the store after all that uses it. */
function closing(store: ExecutionStore): { readonly store: ExecutionStore } & AsyncDisposable {
  return { store, [Symbol.asyncDispose]: () => store.close() }
}

async function listen(
  call: Call,
  runtime: Client,
  settings: Settings,
  {
    readOnly,
    hasConsole,
    reports,
    store,
  }: {
    readonly readOnly: boolean
    readonly hasConsole: boolean
    readonly reports: ReportSource | undefined
    readonly store: ExecutionStore
  },
): Promise<ListeningServer> {
  const { host, hosts, port, redact, limits } = settings.serve
  const report = (error: unknown, instance?: string) => {
    const message = textOf(error)
    const of = instance === undefined ? '' : ` (request ${instance})`
    say(
      call,
      { type: 'error', message, ...(instance === undefined ? {} : { instance }) },
      `error: ${message}${of}`,
    )
  }
  const options: ServeOptions = {
    host,
    hosts,
    redact,
    limits,
    readOnly,
    remoteWorkers: store,
    storeUrl: settings.store,
    tokens: 'store',
    console: hasConsole ? await assetsOf() : undefined,
    reports,
    onError: report,
  }
  try {
    return await serve(runtime, { ...options, port: port ?? DEFAULT_PORT })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE' && port === undefined) return await serve(runtime, { ...options, port: 0 })
    throw told(error, settings)
  }
}

/** The most that `--capacity` takes. */
const MOST_CAPACITY = 1_000_000

/** A port that nobody asked for may be another one; which one it is, the command says. */
const DEFAULT_PORT = 7007

async function assetsOf() {
  const { consoleAssets } = await import('@ku0/agent-runtime-console')
  return consoleAssets()
}

/** The error in the words of the command line. */
function told(error: unknown, settings: Settings): unknown {
  const { host, port } = settings.serve
  if (error instanceof ConfigError)
    return error.problems.some(({ path }) => path === 'tokens') ? needsTokens(settings) : error
  const { code, message } = error as NodeJS.ErrnoException
  if (code !== undefined && listenCodes.has(code))
    return new RuntimeError(
      'invalid_config',
      `${host}, port ${port ?? DEFAULT_PORT}, cannot be listened on: ${message}`,
      {
        cause: error,
      },
    )
  return error
}

function needsTokens({ serve: { host, hosts } }: Settings): RuntimeError {
  return new RuntimeError(
    'invalid_config',
    `a server that is reached as ${[host, ...hosts].join(', ')} needs tokens, and its store holds none that is accepted: make one with agent-runtime token create NAME --scopes read,submit`,
  )
}

const listenCodes: ReadonlySet<string> = new Set([
  'EADDRINUSE',
  'EADDRNOTAVAIL',
  'EACCES',
  'ENOTFOUND',
  'EAI_AGAIN',
])

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

import {
  assertOptions,
  type ExecutionConfig,
  type ExecutionStore,
  flagRule,
  invalid,
  isEnvironment,
  isOneOf,
  readPlainConfig,
  type Rules,
} from '@ku0/agent-runtime-core'
import { assertClockSinceBoot } from './clock-since-boot.ts'
import { assertNodeSupported } from './node-version.ts'
import type { StoreFront } from './line/front.ts'
import { passLines, withLines } from './line/store-lines.ts'
import { openThreadStore } from './line/store-thread.ts'
import { isRemoteUrl } from './remote/url.ts'
import { isPostgresUrl, parsePostgresUrl } from './postgres/connection/url.ts'
import { parseStoreUrl } from './store-url.ts'
import { stanceOf } from './stance.ts'
import { chainDigest, systemClocks, systemEnvironment, systemIdentity } from './system.ts'
import { type OpenStoreOptions } from './open-store-options.ts'

/**
 * Opens a store: `sqlite:PATH` (made when missing, its folder must exist), `sqlite::memory:`, or
 * `postgres://USER:PASSWORD@HOST/DATABASE?schema=NAME` (its tables are made when missing; it needs the package `pg`), or
 * `https://HOST`, a server of the runtime in front of a store, with a `token`. {@link parseStoreUrl} says which
 * other forms of a file's name are understood. Rejects with a StoreError that
 * names what was wrong and what to do; an existing file that is not a store is left as it is. Options that are not as they should be are
 * refused before anything is opened: with `invalid_argument`, and settings with a ConfigError.
 */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<ExecutionStore> {
  assertOptions('openStore', options, openRules)
  const { checked = true, ...rest } = options
  const store = await openUnchecked(url, rest)
  if (!checked) return store
  // A runtime does not need it: it starts without.
  const { CheckedStore } = await import('./checked/checked-store.ts')
  const checkedStore = new CheckedStore(store)
  if (rest.lines === true) passLines(store, checkedStore)
  return checkedStore
}

const openRules: Rules<OpenStoreOptions> = {
  // Whoever reads the settings says what is wrong with them.
  config: ['settings', () => true],
  durability: isOneOf(['full', 'normal']),
  acceptLoss: flagRule,
  existing: flagRule,
  thread: flagRule,
  checked: flagRule,
  lines: flagRule,
  settings: isOneOf(['stated', 'followed', 'own']),
  token: ['a text', (given) => typeof given === 'string' && given !== ''],
  environment: ['an object with clock, timers, ids, random, digest', isEnvironment],
}

async function openUnchecked(url: string, options: OpenStoreOptions): Promise<StoreFront> {
  if (isRemoteUrl(url)) {
    const { openRemoteStore } = await import('./remote/open-remote.ts')
    return openRemoteStore(url, options)
  }
  if (options.token !== undefined)
    throw invalid('token is for a remote store, https://HOST; a database has none')
  const store = await openDatabase(url, options)
  if (options.lines === true) await withLines(store, await configOf(options.config))
  return store
}

async function openDatabase(url: string, options: OpenStoreOptions): Promise<StoreFront> {
  const path = isPostgresUrl(url) ? url : parseStoreUrl(url)
  if (isPostgresUrl(url)) assertPostgresOptions(url, options)
  assertNodeSupported()
  if (options.environment === undefined) {
    const clocks = systemClocks()
    if (clocks !== undefined) assertClockSinceBoot(clocks)
  }
  // Without a turn of the event loop in between: what the caller loads next would keep the thread from its start.
  const config = readPlainConfig(options.config)?.config ?? (await configOf(options.config))
  const environment = options.environment ?? systemEnvironment()
  const identity = options.environment
    ? { processId: environment.ids.uuid(), host: 'virtual', bootId: 'virtual', pid: 0 }
    : systemIdentity(environment.ids.uuid())
  const shared = {
    path,
    config,
    durability: options.durability ?? 'full',
    acceptLoss: options.acceptLoss ?? false,
    existing: options.existing ?? false,
    identity,
    lines: options.lines ?? false,
    ...stanceOf(config, options.settings),
  } as const
  if (isPostgresUrl(url) && (options.thread === false || options.environment !== undefined)) {
    const { openInlinePostgres } = await import('./line/inline-postgres.ts')
    const isVirtual = options.environment !== undefined
    const { acceptLoss, existing, lines, states, follows } = shared
    const opening = {
      url,
      config,
      environment,
      chain: chainDigest,
      identity,
      isVirtual,
      lines,
      acceptLoss,
      existing,
      states,
      follows,
    }
    return (await openInlinePostgres(opening)).store
  }
  if (options.thread === false || options.environment !== undefined) {
    // The engine is loaded only where it runs: beside a thread the process starts without it.
    const { openInlineStore } = await import('./line/inline-store.ts')
    return openInlineStore({ ...shared, environment, chain: chainDigest })
  }
  return openThreadStore(shared, environment)
}

/** What only a file has: on PostgreSQL the server decides it. */
function assertPostgresOptions(url: string, { durability }: OpenStoreOptions): void {
  parsePostgresUrl(url)
  if (durability === 'normal')
    throw invalid(
      `durability: 'normal' is for a SQLite file; leave it out for a store on PostgreSQL, which syncs as its server is set up`,
    )
}

/** The schemas look at settings that are not plainly right, and are loaded only then. */
async function configOf(given: unknown): Promise<ExecutionConfig> {
  const plain = readPlainConfig(given)
  if (plain !== undefined) return plain.config
  const { parseExecutionConfig } = await import('@ku0/agent-runtime-core/schemas')
  return parseExecutionConfig(given).config
}

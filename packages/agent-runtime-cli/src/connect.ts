import { existsSync, statSync } from 'node:fs'
import type { Client, DeployCheck } from '@ku0/agent-runtime'
import { RuntimeError } from '@ku0/agent-runtime-core'
import type { Connection } from './remote.ts'
import type { Printer } from './screen/printer.ts'
import type { Settings } from './settings/settings.ts'
import { UsageError } from './complain.ts'
import { isServer, shownUrl } from './store-argument.ts'
import type { TaskTypes } from './task-types.ts'

/** How a command opens its store. */
export interface ConnectOptions {
  /** Notes that the command has made its store, whose name may have been misspelt. */
  readonly print?: Pick<Printer, 'note'> | undefined
  /** Submissions by name are checked by these. */
  readonly types?: TaskTypes | undefined
  /** Whether its own settings hold for it; by default it takes those of the processes that run. */
  readonly settings?: 'own' | undefined
}

/**
 * Opens a client for one command, the only thing through which commands reach a store or a server. The engine of a store runs in this
 * thread: a command that asks one question starts sooner without a second one.
 */
export async function connect(settings: Settings, options: ConnectOptions = {}): Promise<Connection> {
  const { server, token } = settings
  if (server === undefined) return connectStore(settings, options)
  const { connectServer } = await import('./remote.ts')
  return connectServer(server, token)
}

/** The same for commands that need the store itself, whatever server the settings name. */
export async function connectStore(
  settings: Settings,
  { types, settings: mode, print }: ConnectOptions = {},
): Promise<Client> {
  const { store, makesStore, durability, config } = settings
  const { createClient } = await import('@ku0/agent-runtime')
  if (makesStore) assertNoServer(store)
  else await assertThere(settings)
  const open = (existing: boolean) =>
    createClient({
      store,
      durability,
      existing,
      settings: mode ?? 'followed',
      thread: false,
      logger: false,
      ...(config === undefined ? {} : { config }),
      ...(types === undefined ? {} : { tasks: types.types, agreements: types.agreements }),
    })
  return openOrMake(settings, print, open)
}

/** Opens a store, and makes it if it is not there and the settings allow that, which it notes. */
export async function openOrMake<Opened>(
  { store, makesStore }: Settings,
  print: Pick<Printer, 'note'> | undefined,
  open: (existing: boolean) => Promise<Opened>,
): Promise<Opened> {
  try {
    return await open(true)
  } catch (error) {
    // `invalid_argument`: a store in memory is there only once it is made.
    const code = makesStore ? (error as { readonly code?: unknown }).code : undefined
    if (code !== 'not_found' && code !== 'store_schema' && code !== 'invalid_argument') throw error
    const opened = await open(false)
    if (code === 'not_found') print?.note(`made the new store ${shownUrl(store)}`)
    return opened
  }
}

/** The tasks that new code is checked against: those of the store itself, which is there, or of a server that takes workers. */
export async function placeOfReplay(
  settings: Settings,
): Promise<Pick<DeployCheck, 'store' | 'token' | 'config' | 'thread'>> {
  const { server, token, store, config } = settings
  if (server === undefined) await assertThere(settings)
  const access = server === undefined || token === undefined ? {} : { token }
  return { store: server ?? store, config, thread: false, ...access }
}

/** Opening would make a store that is not there: a question about it would be answered with nothing. */
export async function assertThere({ store, values }: Settings): Promise<void> {
  const { assertStoreUrl, parseStoreUrl } = await import('@ku0/agent-runtime-persistence')
  assertNoServer(store)
  assertStoreUrl(store)
  // A server says itself that it has no such database.
  if (/^postgres(?:ql)?:/i.test(store)) return
  const path = parseStoreUrl(store)
  if (path === ':memory:')
    throw new RuntimeError(
      'invalid_argument',
      'a store in memory lives in its own process only; name a file with --store',
    )
  const isEmpty = existsSync(path) && statSync(path).size === 0
  if (existsSync(path) && !isEmpty) return
  const { from, where } = values.find(({ name }) => name === 'store') ?? { from: 'default' }
  const origin = from === 'default' ? '; name it with --store' : ` (named by ${where ?? from})`
  throw new RuntimeError(
    'not_found',
    `there is no store at ${path}${isEmpty ? ', the file is empty' : ''}${origin}`,
  )
}

/** A server that is named as a store belongs to the other flag. */
function assertNoServer(store: string): void {
  if (isServer(store))
    throw new UsageError(`${shownUrl(store)} is a server, and no store: use --server ${shownUrl(store)}`)
}

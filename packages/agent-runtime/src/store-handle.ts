import { ConfigError, type ExecutionStore } from '@ku0/agent-runtime-core'
import type { LogLine } from './api/logger.ts'

/** The store of one client, worker or runtime. */
export interface StoreHandle {
  readonly store: ExecutionStore
  /** Closes a store that was opened for its holder, and lets another holder have any other. */
  readonly release: () => Promise<void>
}

/**
 * Takes a store that is open, in this turn, or one that is being opened for its holder alone. Throws a `ConfigError` for a store that somebody else holds.
 */
export function takeStore(
  given: ExecutionStore | Promise<ExecutionStore>,
  log: LogLine,
): StoreHandle | Promise<StoreHandle> {
  if (given instanceof Promise) return takeOpening(given, log)
  assertFree(given)
  taken.add(given)
  return {
    store: given,
    release: async () => {
      taken.delete(given)
    },
  }
}

async function takeOpening(opening: Promise<ExecutionStore>, log: LogLine): Promise<StoreHandle> {
  const store = await opening
  const { acceptedLoss } = store.info
  if (acceptedLoss !== undefined)
    log('warn', 'the store was opened although commits are missing', { ...acceptedLoss })
  return { store, release: () => store.close() }
}

/** Opened stores whose holder has not stopped. */
const taken = new WeakSet<ExecutionStore>()

/** A holder that stops ends its process in the store, whoever else uses the same handle. */
function assertFree(store: ExecutionStore): void {
  if (!taken.has(store)) return
  const instead =
    "open it again by its URL 'sqlite:PATH' or with openStore, or stop the other runtime first; a store in memory serves one runtime"
  throw new ConfigError([{ path: 'store', allowed: `an open store that no other runtime uses: ${instead}` }])
}

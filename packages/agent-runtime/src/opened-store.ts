import type { ExecutionConfig, ExecutionStore } from '@ku0/agent-runtime-core'
import { assertStoreUrl, openStore, parseStoreUrl } from '@ku0/agent-runtime-persistence'
import type { StoreOptions } from './options.ts'

export { assertStoreUrl, parseStoreUrl }

/**
 * Puts something together on the store of its options. A store that is given by its URL is opened meanwhile, so that its thread loads its
 * part of the program while this thread loads the rest; nothing is left open when that fails.
 */
export async function onStore<T>(
  { options, config }: { readonly options: StoreOptions; readonly config: ExecutionConfig },
  compose: (store: ExecutionStore | Promise<ExecutionStore>) => Promise<T>,
): Promise<T> {
  const { store } = options
  if (typeof store !== 'string') return compose(store)
  const opening = open(store, config, options)
  // Whoever awaits it says so; until then it may fail unheard.
  opening.catch(() => undefined)
  try {
    return await compose(opening)
  } catch (error) {
    await opening.then(
      (opened) => opened.close(),
      () => undefined,
    )
    throw error
  }
}

function open(url: string, config: ExecutionConfig, options: StoreOptions): Promise<ExecutionStore> {
  const { durability, acceptLoss, existing, settings, thread, environment, token } = options
  return openStore(url, {
    config,
    checked: false,
    ...(token === undefined ? {} : { token }),
    ...(durability === undefined ? {} : { durability }),
    ...(settings === undefined ? {} : { settings }),
    ...(acceptLoss === undefined ? {} : { acceptLoss }),
    ...(existing === undefined ? {} : { existing }),
    ...(environment === undefined ? {} : { environment }),
    ...(thread === undefined ? {} : { thread }),
  })
}

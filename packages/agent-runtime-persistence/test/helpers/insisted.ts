import { StoreError } from '@ku0/agent-runtime-core'

const passing: ReadonlySet<string> = new Set(['store_busy', 'store_unavailable'])

/** As a caller does it: what is refused while the server is away, or busy for long, is asked again. */
export async function insisted<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof StoreError) || !passing.has(error.code)) throw error
    }
  }
}

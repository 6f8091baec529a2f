import type { Clock } from '@ku0/agent-runtime-core'
import { beatWord } from './thread-messages.ts'

/** For a store's thread: the ms since the event loop of its process last showed life. */
export function watchStalls(signal: Int32Array, clock: Clock): () => number {
  let seen = -1
  let at = 0
  return () => {
    const now = clock.monotonic()
    const count = Atomics.load(signal, beatWord)
    if (count !== seen) {
      seen = count
      at = now
    }
    return now - at
  }
}

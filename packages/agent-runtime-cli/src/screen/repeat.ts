import type { Call } from '../call.ts'

/** Shows something once, or with `--watch` again and again until the command is ended. Returns what the command exits with. */
export async function show(call: Call, look: (isWatching: boolean) => Promise<void>): Promise<number> {
  const { watch, every = 1_000 } = call.options as { readonly watch?: boolean; readonly every?: number }
  if (watch !== true) {
    await look(false)
    return 0
  }
  while (!call.signal.aborted) {
    await look(true)
    await call.system.sleep(Math.max(100, every), call.signal)
  }
  return 0
}

import { describeError } from '@ku0/agent-runtime-core'
import type { Call } from '../call.ts'
import { say } from '../screen/lifetime.ts'

/** The work that runs again after each reload. */
interface Reloading<Loaded> {
  /** Loads the files as they are now; throws if they cannot be used. */
  readonly load: () => Promise<Loaded>
  /** Runs until the signal of this call is aborted, and resolves when it has drained. */
  readonly run: (call: Call, loaded: Loaded) => Promise<number>
}

/**
 * Runs, and whenever a reload is asked for, drains and runs again with the newly loaded files. Files that cannot be loaded change nothing:
 * they are reported, and the run that is under way goes on.
 */
export async function runReloading<Loaded>(
  call: Call,
  first: Loaded,
  { load, run }: Reloading<Loaded>,
): Promise<number> {
  let stop = new AbortController()
  let next: { readonly loaded: Loaded } | undefined
  const reload = async () => {
    try {
      next = { loaded: await load() }
      say(call, { type: 'reloading' }, 'reloading: the task types were loaded anew')
      stop.abort(new Error('reloaded'))
    } catch (error) {
      const why = describeError(error).message
      say(call, { type: 'reload.failed', why }, `goes on with the task types that it has: ${why}`)
    }
  }
  using _ = call.outlet.onReload?.(() => void reload())
  for (let loaded = first; ;) {
    const code = await run({ ...call, signal: AbortSignal.any([call.signal, stop.signal]) }, loaded)
    if (call.signal.aborted || next === undefined) return code
    ;({ loaded } = next)
    next = undefined
    stop = new AbortController()
  }
}

import type { Call } from '../call.ts'
import type { Connection } from '../remote.ts'
import { say } from '../screen/lifetime.ts'
import { lasting } from '../screen/words.ts'
import type { Settings } from '../settings/settings.ts'
import { findStuck } from '../watchdog.ts'

/** Looks for stuck tasks every `watchdog.everyMs`, and reports each when it is found, once while it stays stuck. Source: `docs/semantics.md 8.6`. */
export function watchStuck(call: Call, client: Connection, { watchdog }: Settings): AsyncDisposable {
  const stopped = new AbortController()
  const watching = watch(call, client, watchdog, stopped.signal)
  return {
    [Symbol.asyncDispose]: async () => {
      stopped.abort()
      await watching
    },
  }
}

async function watch(
  call: Call,
  client: Connection,
  limits: Settings['watchdog'],
  signal: AbortSignal,
): Promise<void> {
  const { everyMs = EVERY_MS } = limits
  let known = new Set<string>()
  for (;;) {
    await call.system.sleep(everyMs, signal)
    if (signal.aborted) return
    const found = await stuckNow(client, limits, call.system.now())
    for (const it of found) {
      if (known.has(nameOf(it))) continue
      const { type: task, ...facts } = it
      const text = `stuck: ${task} ${it.taskId}, ${it.what} for ${lasting(it.forMs)}: ${it.why}`
      say(call, { type: 'task.stuck', task, ...facts }, text)
    }
    known = new Set(found.map(nameOf))
  }
}

/** A store that cannot be read now is reported by its runtime. */
async function stuckNow(client: Connection, limits: Settings['watchdog'], now: number): Promise<Found> {
  try {
    return (await findStuck(client, limits, now)).found
  } catch {
    return []
  }
}

type Found = Awaited<ReturnType<typeof findStuck>>['found']

function nameOf({ what, taskId }: Found[number]): string {
  return `${what} ${taskId}`
}

const EVERY_MS = 60_000

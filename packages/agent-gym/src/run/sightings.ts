import type { Trigger } from '../scenario/scenario.ts'

/** What can be counted while a scenario runs. */
type Sighting = Trigger['on']

/** Counts what happens, so that faults can be placed by it and not by time. */
export interface Sightings {
  see(
    on: Sighting,
    about: { readonly group?: string | undefined; readonly process?: string | undefined },
  ): void
  /** Resolves when the trigger's count was reached (and its `thenMs` passed); rejects when the signal aborts. */
  reached(trigger: Trigger, signal: AbortSignal): Promise<void>
  /** Where a trigger stands, for a message: `12 of 50 entered`. */
  describe(trigger: Trigger): string
}

export function createSightings(): Sightings {
  const counts = new Map<string, number>()
  const waiting = new Set<{ readonly trigger: Trigger; readonly go: () => void }>()
  const countOf = ({ on, group, process }: Trigger) => counts.get(nameOf(on, group, process)) ?? 0
  return {
    see(on, { group, process }) {
      for (const name of new Set([
        nameOf(on),
        nameOf(on, group),
        nameOf(on, undefined, process),
        nameOf(on, group, process),
      ])) {
        counts.set(name, (counts.get(name) ?? 0) + 1)
      }
      for (const waiter of waiting) {
        if (countOf(waiter.trigger) < waiter.trigger.count) continue
        waiting.delete(waiter)
        waiter.go()
      }
    },
    async reached(trigger, signal) {
      if (countOf(trigger) < trigger.count) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const waiter = { trigger, go: resolve }
        waiting.add(waiter)
        await abortable(promise, signal).finally(() => waiting.delete(waiter))
      }
      if (trigger.thenMs > 0) await pause(trigger.thenMs, signal)
    },
    describe(trigger) {
      const about = [
        trigger.group && `of group ${trigger.group}`,
        trigger.process && `in process ${trigger.process}`,
      ]
      return [`${countOf(trigger)} of ${trigger.count} ${trigger.on}`, ...about.filter(Boolean)].join(' ')
    },
  }
}

/** The promise, or the signal's reason when that comes first. Leaves no listener behind. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const onAbort = () => aborted.reject(signal.reason as Error)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Some ms later, or the signal's reason when that comes first. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  try {
    await abortable(
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, ms)
      }),
      signal,
    )
  } finally {
    clearTimeout(timer)
  }
}

function nameOf(on: string, group = '', process = ''): string {
  return `${on}/${group}/${process}`
}

import { createHook } from 'node:async_hooks'
import { getEventListeners } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'

/** What a process holds at one moment. A leak is what stays above an earlier count when all work is over. */
export interface ResourceCount {
  /** Open sockets, pipes, threads, watched files and the like, by kind: `process.getActiveResourcesInfo()` without timers. */
  readonly handles: Readonly<Record<string, number>>
  /** Open descriptors by what they lead to, from `/proc/self/fd`; null where there is no such folder. */
  readonly descriptors: Readonly<Record<string, number>> | null
  /** Timers that are armed, those included that do not keep the process alive: counted by `async_hooks`. */
  readonly timers: number
  /** Listeners on `process`, and abort listeners left on the signals of attempts that are over. */
  readonly listeners: number
}

/** Counts the resources of this process. */
export interface ResourceWatch {
  count(signals: readonly AbortSignal[]): ResourceCount
  /** Counts until nothing is above the baseline, for as long as `graceMs`: what ends by itself is no leak. */
  countSettled(
    signals: readonly AbortSignal[],
    baseline: ResourceCount,
    graceMs: number,
  ): Promise<ResourceCount>
}

/** Starts watching. Timers are counted from here on, unless that would disturb: each new resource costs a little then. */
export function watchResources(options: { readonly timers: boolean }): ResourceWatch {
  const timers = new Set<number>()
  const hook = createHook({
    // Following every promise would slow everything down.
    trackPromises: false,
    init(id, type) {
      if (type === 'Timeout') timers.add(id)
    },
    destroy(id) {
      timers.delete(id)
    },
  })
  if (options.timers) hook.enable()
  const count = (signals: readonly AbortSignal[]): ResourceCount => ({
    handles: countHandles(),
    descriptors: countDescriptors(),
    timers: timers.size,
    listeners: countListeners(signals),
  })
  return {
    count,
    async countSettled(signals, baseline, graceMs) {
      const until = performance.now() + graceMs
      for (;;) {
        // The end of a timer, the one just waited for included, is reported a turn of the loop later.
        await new Promise((resolve) => setImmediate(resolve))
        await new Promise((resolve) => setImmediate(resolve))
        const now = count(signals)
        if (leaksBetween(baseline, now).length === 0 || performance.now() >= until) return now
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
  }
}

/** One kind of resource of which there is more than before. */
export interface Leak {
  readonly kind: 'handles' | 'timers' | 'listeners' | 'processes' | 'handlers' | 'leases' | 'quotas'
  readonly what: string
  readonly count: number
}

/** What is there after that was not there before. */
export function leaksBetween(before: ResourceCount, after: ResourceCount): readonly Leak[] {
  const leaks: Leak[] = []
  const more = (kind: Leak['kind'], what: string, from: number, to: number) => {
    if (to > from) leaks.push({ kind, what, count: to - from })
  }
  for (const [kind, count] of Object.entries(after.handles))
    more('handles', kind, before.handles[kind] ?? 0, count)
  // A handle that is open has a descriptor as well: count it once.
  if (leaks.length === 0 && before.descriptors !== null && after.descriptors !== null) {
    for (const [target, count] of Object.entries(after.descriptors)) {
      more('handles', `descriptor of ${target}`, before.descriptors[target] ?? 0, count)
    }
  }
  more('timers', 'timer', before.timers, after.timers)
  more('listeners', 'listener', before.listeners, after.listeners)
  return leaks
}

function countHandles(): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) {
    if (kind === 'Timeout' || kind === 'Immediate') continue
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}

function countDescriptors(): Record<string, number> | null {
  try {
    const counts: Record<string, number> = {}
    for (const descriptor of readdirSync('/proc/self/fd')) {
      const target = targetOf(descriptor)
      if (target !== undefined) counts[target] = (counts[target] ?? 0) + 1
    }
    return counts
  } catch {
    return null
  }
}

/** A file's name, or `pipe`, `socket` and the like; undefined for the descriptor that the listing itself took. */
function targetOf(descriptor: string): string | undefined {
  try {
    const target = readlinkSync(`/proc/self/fd/${descriptor}`)
    // The event loop opens it with the first file that is watched, and keeps it. A watch that is left shows among the handles.
    if (target === 'anon_inode:inotify') return undefined
    return target.startsWith('/') ? basename(target) : target.replace(/:?\[.*$/, '')
  } catch {
    return undefined
  }
}

function countListeners(signals: readonly AbortSignal[]): number {
  const onProcess = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
  return signals.reduce((sum, signal) => sum + getEventListeners(signal, 'abort').length, onProcess)
}

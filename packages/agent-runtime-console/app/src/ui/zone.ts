import { useSyncExternalStore } from 'react'

export const zones = ['local', 'UTC'] as const
export type Zone = (typeof zones)[number]
const SLOT = 'agent-runtime time zone'

const watchers = new Set<() => void>()
let zone = zones.find((it) => it === localStorage.getItem(SLOT)) ?? 'local'

/** In which time zone moments are shown; what calls this is drawn again when somebody chooses another. */
export function useZone(): Zone {
  return useSyncExternalStore(watch, () => zone)
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

export function chooseZone(next: Zone): void {
  zone = next
  localStorage.setItem(SLOT, next)
  for (const watcher of watchers) watcher()
}

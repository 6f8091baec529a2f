import { useSyncExternalStore } from 'react'

export const zones = ['local', 'UTC'] as const
export type Zone = (typeof zones)[number]
const SLOT = 'agent-runtime time zone'

const watchers = new Set<() => void>()
let zone = zones.find((it) => it === localStorage.getItem(SLOT)) ?? 'local'

/** In which time zone pages show moments; a page that calls this is shown again when it changes. */
export function useZone(): Zone {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    () => zone,
  )
}

export function chosenZone(): Zone {
  return zone
}

export function chooseZone(next: Zone): void {
  zone = next
  localStorage.setItem(SLOT, next)
  for (const watcher of watchers) watcher()
}

/** A formatter of moments for each time zone. */
export function formatsOf(options: Intl.DateTimeFormatOptions): Readonly<Record<Zone, Intl.DateTimeFormat>> {
  const of = (more: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en', { hourCycle: 'h23', ...options, ...more })
  return { local: of({}), UTC: of({ timeZone: 'UTC' }) }
}

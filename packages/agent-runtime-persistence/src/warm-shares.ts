import { type SharesConfig } from '@ku0/agent-runtime-core'
import {
  newClient,
  poolAmong,
  shareOrderOf,
  WorkingSet,
  type ShareBook,
  type ClientRow,
  type Instant,
  type StreamRow,
  type Surroundings,
} from '@ku0/agent-runtime-core/transition'
import type { Cache } from './cache.ts'
import type { Load } from './sqlite/load.ts'

/** Clients, how much each has under way, and their order, from the rows of the store. */
export function warmShares(cache: Cache, load: Load, config: SharesConfig): void {
  cache.next.client = load.nextClient()
  for (const client of load.clients()) cache.clients.set(client.name, client)
  const running = new Map(load.runningByStream())
  for (const { id, client: name, depth } of cache.streams.values()) {
    const known = cache.clients.get(name) ?? newClient(cache.next.client++, name)
    const inUse = running.get(id) ?? 0
    if (depth + inUse === 0) continue
    cache.clients.set(name, { ...known, queued: known.queued + depth, running: known.running + inUse })
  }
  for (const client of Array.from(cache.clients.values())) {
    const streams = (cache.streamsByClient.get(client.name) ?? []).flatMap(
      (id) => cache.streams.get(id) ?? [],
    )
    const pool = poolAmong(
      streams.filter(({ depth }) => depth > 0),
      config,
    )
    if (pool !== client.pool) cache.clients.set(client.name, { ...client, pool })
  }
  cache.takeOrder(shareOrderOf(cache.streams.values(), cache.clients, config))
}

/**
 * The same where the order as of the commit `since` is kept: what other processes have changed since moves to its new place. The
 * streams of the cache are still those of then.
 */
export function renewShares(
  cache: Cache,
  load: Load,
  changed: { readonly since: number; readonly streams: readonly StreamRow[] },
  { now, around }: { readonly now: Instant; readonly around: Surroundings },
): void {
  cache.next.client = Math.max(cache.next.client, load.nextClient())
  const ws = new WorkingSet(cache, now, around)
  const { shares } = ws
  if (shares === undefined) throw new Error('there are no shares to renew')
  const rows = load.clientsSince(changed.since)
  renumber(ws, shares, rows)
  for (const row of rows) {
    const before = ws.client(row.name)
    shares.takeOver(row, before)
  }
  for (const row of changed.streams) {
    const before = cache.streams.get(row.id)
    if (before === undefined) ws.addStream(row)
    else ws.streams.set(row.id, row)
    shares.count(row, row.depth - (before?.depth ?? 0))
  }
  const running = new Map<string, number>()
  for (const [stream, count] of load.runningByStream()) {
    const { client } = ws.stream(stream)
    running.set(client, (running.get(client) ?? 0) + count)
  }
  const put = (client: ClientRow) => {
    const count = running.get(client.name) ?? 0
    if (client.running !== count) shares.putClient({ ...client, running: count }, client)
  }
  for (const client of Array.from(ws.allClients())) put(client)
  for (const name of running.keys()) put(ws.client(name))
  cache.absorbShares(ws, shares)
  cache.next.client = ws.nextClient
}

/** A client that has no row yet has its number in this process only: where another process has given that to one with a row, it gets a new one. */
function renumber(ws: WorkingSet, shares: ShareBook, rows: readonly ClientRow[]): void {
  if (rows.length === 0) return
  const names = new Map(rows.map(({ id, name }) => [id, name]))
  for (const client of Array.from(ws.allClients())) {
    const owner = names.get(client.id)
    if (owner !== undefined && owner !== client.name)
      shares.putClient({ ...client, id: ws.nextClient++ }, client)
  }
}

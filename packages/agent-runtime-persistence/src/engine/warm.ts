import type { SharesConfig } from '@ku0/agent-runtime-core'
import {
  type Amounts,
  heldByClient,
  newClient,
  poolAmong,
  shareOrderOf,
  openWorkingSet,
  type WorkingSet,
  type Shares,
  type ClientRow,
  type Instant,
  type Surroundings,
} from '@ku0/agent-runtime-core/transition'
import type { Cache } from './cache.ts'
import type { Database, Kept } from './database.ts'
import { got, type Steps } from './steps.ts'

interface Warming {
  /** The commit that the streams and shares of the cache are of; undefined where it has none. */
  readonly since: number | undefined
  readonly now: Instant
  readonly around: Surroundings
}

/** Fills a cache that has lost what another process may have changed. Runs in a transaction. Returns the row of the settings in force. */
export function* warm(cache: Cache, db: Database, it: Warming): Steps<number | undefined> {
  const { shares } = it.around.config
  const removed = shares === undefined ? cache.clientsRemoved : yield* got(db.clientsRemoved())
  const isFresh = it.since === undefined || removed !== cache.clientsRemoved
  const since = isFresh ? undefined : it.since
  const kept = yield* got(
    db.keep({
      since,
      shares: shares !== undefined,
      dominant: shares?.dominant !== undefined,
      held: cache.running,
    }),
  )
  if (since === undefined || kept.touched === undefined) cache.clear(since !== undefined)
  else cache.clearChanged(kept.touched, kept.streams)
  if (shares !== undefined && !isFresh) yield* renewShares(cache, db, kept, it)
  for (const row of kept.streams) cache.keepStream(row)
  if (shares !== undefined && isFresh) warmShares(cache, kept, shares)
  // Without shares only those are known that somebody asked for, and nothing tells which of them have changed.
  if (shares === undefined) cache.clients.clear()
  cache.clientsRemoved = removed
  cache.keep(kept)
  return kept.configuration
}

/** Clients, how much each has under way, and their order, from the rows of the store. */
function warmShares(cache: Cache, kept: Kept, config: SharesConfig): void {
  const { clients, runningByStream, next } = kept
  cache.next.client = next.client
  for (const client of clients) cache.clients.set(client.name, client)
  const running = new Map(runningByStream)
  for (const { id, client: name, depth } of cache.streams.values()) {
    const known = cache.clients.get(name) ?? newClient(cache.next.client++, name, config.startCredits)
    const inUse = running.get(id) ?? 0
    if (depth + inUse === 0) continue
    cache.clients.set(name, { ...known, queued: known.queued + depth, running: known.running + inUse })
  }
  for (const [name, holds] of heldByClient(kept.heldByStream, config, (stream) =>
    cache.streams.get(stream),
  )) {
    const client = cache.clients.get(name)
    if (client !== undefined) cache.clients.set(name, { ...client, holds })
  }
  for (const client of Array.from(cache.clients.values())) {
    const streams = (cache.streamsByClient.get(client.name) ?? []).flatMap(
      (id) => cache.streams.get(id) ?? [],
    )
    const pool = poolAmong(streams, config)
    if (pool !== client.pool) cache.clients.set(client.name, { ...client, pool })
  }
  cache.takeOrder(shareOrderOf(cache.streams.values(), cache.clients, config))
}

/**
 * The same where the order as of the commit `since` is kept: what other processes have changed since moves to its new place. The
 * streams of the cache are still those of then. Where the standing of an agent was not known, it begins again once it is.
 */
function* renewShares(cache: Cache, db: Database, kept: Kept, it: Warming): Steps<void> {
  cache.next.client = Math.max(cache.next.client, kept.next.client)
  for (;;) {
    const ws = openWorkingSet(cache, it.now, it.around)
    const { shares } = ws
    if (shares === undefined) throw new Error('there are no shares to renew')
    moveChanged(cache, ws, shares, kept)
    moveHeld(
      ws,
      shares,
      heldByClient(kept.heldByStream, it.around.config.shares, (stream) => ws.stream(stream)),
    )
    if (cache.unknownAgents.size === 0) {
      cache.absorbShares(ws, shares)
      cache.next.client = ws.nextClient
      return
    }
    cache.take(yield* got(db.load({ reputations: [...cache.unknownAgents] })))
  }
}

function moveChanged(
  cache: Cache,
  ws: WorkingSet,
  shares: Shares,
  { clients, streams, runningByStream }: Kept,
): void {
  renumber(ws, shares, clients)
  for (const row of clients) {
    const before = ws.client(row.name)
    shares.takeOver(row, before)
  }
  for (const row of streams) {
    const before = cache.streams.get(row.id)
    if (before === undefined) ws.addStream(row)
    else ws.streams.put(row.id, row)
    shares.count(row, row.depth - (before?.depth ?? 0))
  }
  const running = new Map<string, number>()
  for (const [stream, count] of runningByStream) {
    const { client } = ws.stream(stream)
    running.set(client, (running.get(client) ?? 0) + count)
  }
  const put = (client: ClientRow) => {
    const count = running.get(client.name) ?? 0
    if (client.running !== count) shares.putClient({ ...client, running: count }, client)
  }
  for (const client of Array.from(ws.clients.all())) put(client)
  for (const name of running.keys()) put(ws.client(name))
}

function moveHeld(ws: WorkingSet, shares: Shares, held: ReadonlyMap<string, Amounts>): void {
  for (const client of Array.from(ws.clients.all())) {
    const holds = held.get(client.name) ?? {}
    if (!isSameAmounts(client.holds ?? {}, holds)) shares.putClient({ ...client, holds }, client)
  }
}

function isSameAmounts(a: Amounts, b: Amounts): boolean {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name])
}

/** A client that has no row yet has its number in this process only: where another process has given that to one with a row, it gets a new one. */
function renumber(ws: WorkingSet, shares: Shares, rows: readonly ClientRow[]): void {
  if (rows.length === 0) return
  const names = new Map(rows.map(({ id, name }) => [id, name]))
  for (const client of Array.from(ws.clients.all())) {
    const owner = names.get(client.id)
    if (owner !== undefined && owner !== client.name)
      shares.putClient({ ...client, id: ws.nextClient++ }, client)
  }
}

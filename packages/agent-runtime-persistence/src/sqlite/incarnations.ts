import {
  fits,
  type Ids,
  type PastIncarnation,
  type Rules,
  StoreError,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import type { Db } from './open.ts'

/** One that is over, and what the next began with. */
export interface Incarnation extends PastIncarnation {
  /** When the next began, epoch ms. */
  readonly at: number
  /** Above which the fencing tokens of the next are. */
  readonly fenceFloor: number
}

const incarnationRules: Rules<Incarnation> = {
  storeId: ['17 hex digits', (value) => typeof value === 'string' && /^[0-9a-f]{17}$/.test(value)],
  tasks: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  leases: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  at: wholeNumber(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  fenceFloor: wholeNumber(1, Number.MAX_SAFE_INTEGER),
}

/** Those before this one, the oldest first; undefined when what is written there cannot be read. */
export function pastIncarnations(db: Db): readonly Incarnation[] | undefined {
  return readIncarnations(incarnationsText(db))
}

/** What a store says of them; nothing in its first one. */
export function incarnationsText(db: Db): string | undefined {
  return db.prepare<[], string>("SELECT value FROM meta WHERE key = 'incarnations'").pluck().get()
}

/** Those that a text tells of. Throws where it cannot be read. */
export function knownIncarnations(text: string | undefined, location: string): readonly Incarnation[] {
  const past = readIncarnations(text)
  if (past !== undefined) return past
  throw new StoreError(
    'store_corrupt',
    `${location}: its earlier incarnations (meta, incarnations) cannot be read; restore a backup`,
  )
}

function readIncarnations(text: string | undefined): readonly Incarnation[] | undefined {
  try {
    const past: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(past) && past.every((it) => fits(it, incarnationRules)) ? past : undefined
  } catch {
    return undefined
  }
}

/** Marks a copy: whoever opens it as a store begins a new incarnation with it. */
export function markCopy(db: Db): void {
  db.exec("INSERT OR REPLACE INTO meta (key, value) VALUES ('copied', '1')")
}

export function isMarkedCopy(db: Db): boolean {
  return db.prepare("SELECT 1 FROM meta WHERE key = 'copied'").get() !== undefined
}

/** The id of a store, or of an incarnation of it, that begins. */
export function freshStoreId(ids: Ids): string {
  return ids.uuid().replaceAll('-', '').slice(0, 17)
}

/** The text of {@link knownIncarnations} once the one that is stored is over. */
export function withThisOver(db: Db, at: number): string {
  const past = pastIncarnations(db)
  const count = (sql: string) => db.prepare<[], number | null>(sql).pluck().get() ?? 0
  const before = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'store_id'").pluck().get() ?? ''
  const over: Incarnation = {
    storeId: before,
    tasks: count('SELECT max(id) FROM task'),
    leases: count('SELECT max(id) FROM lease'),
    at,
    // By the time, since of two copies of one store neither knows of the other.
    fenceFloor: Math.max(
      (past?.at(-1)?.fenceFloor ?? 0) + TOKENS,
      Math.min(Math.floor(at / 1_000), 2 ** 32) * TOKENS,
    ),
  }
  return JSON.stringify([...(past ?? []), over])
}

/** Whoever held a lease in the incarnation before is not to write in this one, not even before it is found out that its process is gone. */
export const endsLeases = 'UPDATE lease SET expires_at = last_heartbeat_at WHERE state = 0'

/**
 * Begins a new incarnation: its ids and fencing tokens are others than those that were given, after what is here, in the one before.
 * Call it in a transaction. Source: `docs/reliability.md` D25.
 */
export function beginIncarnation(db: Db, storeId: string, at: number): void {
  const put = db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)')
  put.run('incarnations', withThisOver(db, at))
  put.run('store_id', storeId)
  db.exec(`${endsLeases}; DELETE FROM meta WHERE key = 'copied'`)
}

/** So many claims of one task come before its tokens reach those of an incarnation that began a second later. */
const TOKENS = 2 ** 20

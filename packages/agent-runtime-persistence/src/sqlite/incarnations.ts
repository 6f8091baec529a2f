import { fits, type PastIncarnation, type Rules, wholeNumber } from '@ku0/agent-runtime-core'
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
  const text = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'incarnations'").pluck().get()
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

/**
 * Begins a new incarnation: its ids and fencing tokens are others than those that were given, after what is here, in the one before.
 * Call it in a transaction. Source: `docs/reliability.md` D25.
 */
export function beginIncarnation(db: Db, storeId: string, at: number): void {
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
  const put = db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)')
  put.run('incarnations', JSON.stringify([...(past ?? []), over]))
  put.run('store_id', storeId)
  // Whoever held one then is not to write here, not even before it is found out that its process is gone.
  db.exec(
    "UPDATE lease SET expires_at = last_heartbeat_at WHERE state = 0; DELETE FROM meta WHERE key = 'copied'",
  )
}

/** So many claims of one task come before its tokens reach those of an incarnation that began a second later. */
const TOKENS = 2 ** 20

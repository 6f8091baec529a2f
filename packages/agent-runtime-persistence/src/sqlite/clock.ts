import type { Clock } from '@ku0/agent-runtime-core'
import type { Instant } from '@ku0/agent-runtime-core/transition'
import type { Db } from './open.ts'

/**
 * The clock that judges leases on SQLite: monotonic since boot, plus an offset that all processes of one boot read from the
 * database. So a wall clock that differs between processes, or jumps, moves no lease. After a boot the offset is set anew;
 * processes of an earlier boot are proven gone (`docs/semantics.md 4.7, 4.10`). Called in a transaction.
 */
export function openLeaseClock(db: Db, clock: Clock, bootId: string): () => Instant {
  const read = db.prepare<[string], string>('SELECT value FROM meta WHERE key = ?').pluck()
  const write = db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)')
  const stored = read.get('boot_id') === bootId ? offsetIn(read.get('boot_offset')) : undefined
  const offset = stored ?? Math.round(clock.now() - clock.monotonic())
  if (stored === undefined) {
    write.run('boot_id', bootId)
    write.run('boot_offset', String(offset))
  }
  return () => ({ at: Math.floor(clock.now()), leaseAt: Math.floor(clock.monotonic() + offset) })
}

/** How an offset is stored. An empty text is none: it would count as 0, and leases would be judged by it. */
export const offsetForm = /^-?\d+$/

/** The offset in a text, ms; undefined for a text that is none. */
export function offsetIn(text: string | undefined): number | undefined {
  return text !== undefined && offsetForm.test(text) ? Number(text) : undefined
}

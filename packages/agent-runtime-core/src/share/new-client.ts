import { MICRO } from '../budget/usage.ts'
import { defaultCredits } from './client.ts'
import type { ClientRow } from './row.ts'
import { OPEN } from './open-pool.ts'

/** The row of a client that nobody has set and that has no tasks yet. */
export function newClient(id: number, name: string, credits: number = defaultCredits): ClientRow {
  return {
    id,
    name,
    credits: Math.round(credits * MICRO),
    tier: 'marketplace',
    time: 0,
    floor: 0,
    spent: 0,
    reserved: 0,
    entries: 0,
    asks: null,
    queued: 0,
    running: 0,
    pool: OPEN,
    seen: 0,
    stalled: false,
  }
}

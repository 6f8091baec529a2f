import { MICRO } from '../budget/usage.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import type { Needs } from '../transition/needs.ts'
import { ledgerEntryOf, MAX_CREDITS } from './entry.ts'
import { post } from './post.ts'
import type { EntryRow } from './row.ts'

export function purchaseNeeds(needs: Needs, { name, key }: Write<'purchaseCredits'>): void {
  needs.client(name)
  if (key !== undefined) needs.entry(name, key)
}

/** A client buys credits, once for each key. Source: `docs/semantics.md 11.8`. */
export function purchase(ws: WorkingSet, it: Write<'purchaseCredits'>): OutcomeOf<'purchaseCredits'> {
  const { name, key = null, note = null } = it
  const amount = Math.round(it.amount * MICRO)
  const before = key === null ? undefined : ws.entry(name, key)
  if (before !== undefined)
    return before.amount === amount
      ? { as: 'purchased', entry: recordOf(ws, before), deduplicated: true }
      : { as: 'conflict', entry: recordOf(ws, before) }
  if (ws.clients.get(name) === undefined && ws.clientCount >= ws.config.maxClients) return { as: 'full' }
  const client = ws.client(name)
  if (client.credits + amount > MAX_CREDITS * MICRO)
    return { as: 'too_many', credits: client.credits / MICRO }
  const after = post(ws, client, { kind: 'purchase', amount, key, note })
  ws.putClient(after, client)
  return { as: 'purchased', entry: recordOf(ws, ws.lastEntry), deduplicated: false }
}

/** A purchase is about no task. */
function recordOf(ws: WorkingSet, row: EntryRow) {
  return ledgerEntryOf(row, ws.ids, () => null)
}

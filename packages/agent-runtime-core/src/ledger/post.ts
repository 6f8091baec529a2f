import type { ClientRow } from '../share/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { stillAsks } from './ask.ts'
import type { EntryRow } from './row.ts'

type Posting = Pick<EntryRow, 'kind' | 'amount'> & Partial<Pick<EntryRow, 'held' | 'task' | 'key' | 'note'>>

/**
 * Adds an entry to a client's ledger and returns the client with what the entry makes of its credits; its row is put by the caller. An entry that
 * would change nothing is left out. Every change of credits goes through here, so that they are the sum of the entries. Source:
 * `docs/semantics.md 11.8`.
 */
export function post(ws: WorkingSet, client: ClientRow, it: Posting): ClientRow {
  if (it.amount === 0 && (it.held ?? 0) === 0) return client
  // A client that had credits before it had a ledger brings them in.
  const isFirst = client.entries === 0 && client.credits !== 0
  const opened = isFirst
    ? append(ws, { ...client, credits: 0 }, { kind: 'opening', amount: client.credits })
    : client
  return append(ws, opened, it)
}

function append(ws: WorkingSet, client: ClientRow, it: Posting): ClientRow {
  const { kind, amount, held = 0, task = null, key = null, note = null } = it
  const after: ClientRow = {
    ...client,
    credits: client.credits + amount,
    reserved: client.reserved + held,
    entries: client.entries + 1,
    asks: stillAsks(client, client.credits + amount),
  }
  const { name, entries: seq, credits, reserved } = after
  ws.addEntry({ client: name, seq, at: ws.now.at, kind, amount, held, credits, reserved, task, key, note })
  return after
}

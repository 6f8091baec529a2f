import type { ClientRecord, CreditRequest } from './client.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import { MICRO } from '../budget/usage.ts'
import { post } from '../ledger/post.ts'
import type { ClientRow } from './row.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** Sets a client's share; settings that are left out keep their values. Source: `docs/semantics.md 11.1`. */
export function putClient(ws: WorkingSet, it: Write<'putClient'>): OutcomeOf<'putClient'> {
  const { name, credits, tier } = it
  if (ws.clients.get(name) === undefined && ws.clientCount >= ws.config.maxClients) return { as: 'full' }
  const before = ws.client(name)
  const after = { ...before, ...(tier === undefined ? {} : { tier }) }
  ws.putClient(credits === undefined ? after : withCredits(ws, after, Math.round(credits * MICRO)), before)
  return { as: 'put', client: recordIn(ws, ws.client(name)) }
}

/** A client that has a ledger, is to have one, or asks for credits gets an entry for it. */
function withCredits(ws: WorkingSet, client: ClientRow, credits: number): ClientRow {
  if (client.entries === 0 && client.asks === null && ws.config.shares?.ledger !== true)
    return { ...client, credits }
  return post(ws, client, { kind: 'set', amount: credits - client.credits })
}

/** Forgets a client that has nothing queued, due or not, and nothing running; a later task of it makes it again. */
export function removeClient(ws: WorkingSet, { name }: Write<'removeClient'>): OutcomeOf<'removeClient'> {
  const row = ws.clients.get(name)
  if (row === undefined) return { as: 'unknown' }
  const delayed = ws.shares === undefined ? 0 : delayedOf(ws, name)
  if (row.queued + row.running + delayed + row.reserved > 0)
    return { as: 'busy', client: recordIn(ws, row), delayed }
  ws.dropClient(name)
  return { as: 'removed' }
}

function delayedOf(ws: WorkingSet, client: string): number {
  let sum = 0
  for (const stream of ws.streamsOf(client)) sum += ws.stream(stream).delayed
  return sum
}

function recordIn(ws: WorkingSet, row: ClientRow): ClientRecord {
  return clientRecordOf(row, (task) => ws.taskId(task))
}

/** As a person reads it. */
export function clientRecordOf(row: ClientRow, idOf: (task: number) => string): ClientRecord {
  const { name, credits, tier, time, spent, reserved, entries, asks, queued, running } = row
  return {
    name,
    credits: credits / MICRO,
    tier,
    virtualTime: time / MICRO,
    spent: spent / MICRO,
    reserved: reserved / MICRO,
    entries,
    ...(asks === null ? {} : { asks: creditRequestOf(asks, credits, idOf) }),
    queued,
    running,
  }
}

function creditRequestOf(
  { task, at: since, cost }: NonNullable<ClientRow['asks']>,
  credits: number,
  idOf: (task: number) => string,
): CreditRequest {
  return { taskId: idOf(task), asked: cost / MICRO, missing: (cost - credits) / MICRO, since }
}

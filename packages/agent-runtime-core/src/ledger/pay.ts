import type { AccountRow } from '../budget/row.ts'
import type { ClientRow } from '../share/row.ts'
import type { TaskRow } from '../task/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { streamOf } from '../queue/stream.ts'
import { post } from './post.ts'

/** The cost of a task that is over, in millionths: what it reported, or its estimate. */
export function costOf({ cost, used }: AccountRow): number {
  const reported = used?.cost ?? 0
  return reported > 0 ? reported : cost
}

/**
 * A client once a task of it is over: its cost is taken from what was reserved for it, and the rest from the free credits; or what is left of the
 * reservation goes back to them. Source: `docs/semantics.md 11.8`.
 */
export function paid(ws: WorkingSet, client: ClientRow, { id: task, account }: TaskRow): ClientRow {
  // Without a reservation it started without a ledger.
  if (account?.reserved === undefined) return client
  const { reserved } = account
  const cost = costOf(account)
  const used = Math.min(cost, reserved)
  const settled = post(ws, client, { kind: 'settle', amount: used - cost, held: 0 - used, task })
  return post(ws, settled, { kind: 'refund', amount: reserved - used, held: used - reserved, task })
}

/** The same in a process without shares: what was reserved in another is settled all the same. */
export function payWithoutShares(ws: WorkingSet, task: TaskRow): void {
  if (task.account?.reserved === undefined) return
  const client = ws.client(ws.stream(streamOf(task)).client)
  ws.putClient(paid(ws, client, task), client)
}

import { accountOf } from '../budget/account.ts'
import { MICRO } from '../budget/usage.ts'
import { canonical } from '../codec/codec.ts'
import type { StreamRow } from '../queue/row.ts'
import type { ClientRow } from '../share/row.ts'
import type { TaskRow } from '../task/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/**
 * A task whose turn has come lacks credits of its client: it asks for them, once for each shortage. The event stands in its chain, the request with its
 * client. Source: `docs/semantics.md 11.9`.
 */
export function askForCredits(ws: WorkingSet, { client: name }: StreamRow, task: TaskRow): void {
  const client = ws.client(name)
  if (client.asks !== null) return
  const account = accountOf(task)
  const { cost } = account
  const { at } = ws.now
  const { credits, entries: entry, queued: tasks } = client
  const [has, asked, missing] = [credits / MICRO, cost / MICRO, (cost - credits) / MICRO]
  ws.move(
    task,
    { account: { ...account, asked: entry } },
    'credits.asked',
    canonical({ asked, client: name, credits: has, entry, missing, tasks }),
  )
  ws.putClient({ ...client, asks: { task: task.id, at, cost } }, client)
}

/** A client asks until its credits cover what the task needs. */
export function stillAsks({ asks }: ClientRow, credits: number): ClientRow['asks'] {
  return asks === null || credits < asks.cost ? asks : null
}

/** A task that asked for credits has left the queue. */
export function endAsk(ws: WorkingSet, { client: name }: StreamRow, task: TaskRow): void {
  const client = ws.clients.get(name)
  if (client?.asks?.task === task.id) ws.putClient({ ...client, asks: null }, client)
}

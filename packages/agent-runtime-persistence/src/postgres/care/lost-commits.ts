import { StoreError, type DataLoss } from '@ku0/agent-runtime-core'
import { readLoss, lostCommits, withLoss } from '../../care/loss-records.ts'
import { type Statement, statement } from '../connection/statement.ts'
import type { Session } from '../connection/session.ts'

/** Commits that a process has seen and the server lacks. */
interface SeenLoss {
  readonly kind: 'lost_tail' | 'other_history'
  /** The last commit that the process has seen. */
  readonly commit: number
  readonly storeId: string
  /** When the process opened the store, by the clock of the server. */
  readonly openedAt: number
}

/**
 * Tells the processes that start afterwards, which have seen none of what is missing. Of several such rows the one stays that names the latest
 * commit. A loss that was accepted after this process had opened the store is not told again, nor one of another store.
 * Source: `docs/decisions/0059-lost-commits-on-postgresql.md`.
 */
export function toldLoss({ kind, commit, storeId, openedAt }: SeenLoss): Statement {
  return statement(
    `INSERT INTO meta SELECT '${lostCommits}', json_build_object('kind', $1::text, 'anchored', $2::bigint, 'lastGood', coalesce(good.number, 0), 'lastGoodAt', good.at)::text
     FROM meta AS store LEFT JOIN (SELECT number, at FROM journal WHERE number < $2::bigint ORDER BY number DESC LIMIT 1) AS good ON true
     WHERE store.key = 'store_id' AND store.value = $3::text AND NOT EXISTS (
       SELECT FROM meta, json_array_elements(value::json) AS loss WHERE key = 'accepted_losses' AND (loss->>'acceptedAt')::bigint >= $4::bigint
         AND (loss->>'lastGood')::bigint < $2::bigint)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE (meta.value::json->>'anchored')::bigint < $2::bigint`,
    [kind, commit, storeId, openedAt],
  )
}

/** The loss that a process has told of, as long as nobody has accepted it. */
export const lossText = `SELECT value FROM meta WHERE key = '${lostCommits}'`

/** In the transaction that opens a store: refuses it with `store_data_loss` where commits are missing, or keeps a record that this was accepted. */
export async function acceptLosses(
  on: Session,
  location: string,
  { accepts, at }: { readonly accepts: boolean; readonly at: number },
): Promise<DataLoss | undefined> {
  const { rows } = await on.query(
    `SELECT (${lossText}), (SELECT value FROM meta WHERE key = 'accepted_losses')`,
  )
  const [text, records] = rows[0] as [string | null, string | null]
  if (text === null) return undefined
  const loss = readLoss(text)
  if (loss === undefined)
    throw new StoreError(
      'store_corrupt',
      `${location}: the record of lost commits is damaged; another program changed it: restore a backup`,
    )
  if (!accepts) throw lossTold(location, loss)
  const kept = withLoss(records ?? undefined, location, { ...loss, acceptedAt: at })
  await on.query(
    "INSERT INTO meta VALUES ('accepted_losses', $1::text) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    [kept],
  )
  await on.query(`DELETE FROM meta WHERE key = '${lostCommits}'`)
  return loss
}

/** Of a store that is not opened, or copied, for what it lacks. */
export function lossTold(location: string, loss: DataLoss): StoreError {
  const { anchored, lastGood, lastGoodAt } = loss
  const good = lastGoodAt === null ? 'nothing' : `commit ${lastGood} of ${new Date(lastGoodAt).toISOString()}`
  return new StoreError(
    'store_data_loss',
    `${location} has lost commits: a process had seen commit ${anchored}, and the last good one is ${good}. Restore the server that has them; or open the store once with acceptLoss: true to continue with what is left`,
    { details: { ...loss, location } },
  )
}

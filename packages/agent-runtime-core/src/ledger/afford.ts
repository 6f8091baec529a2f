import { MICRO } from '../budget/usage.ts'
import type { StreamRow } from '../queue/row.ts'
import type { SharesConfig } from '../share/schema.ts'
import type { Objection } from '../submit/verdict.ts'
import type { Submission } from '../submit/submission.ts'
import type { TaskRow } from '../task/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** Whether a task that starts next waits for credits: those of its client, in millionths, do not cover its estimate. An estimate of 0 needs none. Source: `docs/semantics.md 11.9`. */
export function wantsCredits(
  shares: Pick<SharesConfig, 'ledger' | 'outOfCredits'> | undefined,
  credits: number,
  account: TaskRow['account'],
): boolean {
  if (shares?.ledger !== true || (account?.outOfCredits ?? shares.outOfCredits) === 'run') return false
  // It was charged at its first start.
  if ((account?.charge ?? null) !== null) return false
  const asked = account?.cost ?? MICRO
  return asked > 0 && credits < asked
}

/** The same for a task of a stream. */
export function lacksCredits(
  ws: WorkingSet,
  { client }: StreamRow,
  { account }: Pick<TaskRow, 'account'>,
): boolean {
  return ws.shares !== undefined && wantsCredits(ws.config.shares, ws.client(client).credits, account)
}

/** Why a submission is refused because its client has too few credits. Source: `docs/semantics.md 11.9`. */
export function exceededCredits(ws: WorkingSet, it: Submission): Objection | undefined {
  const { shares } = ws.config
  if (shares?.ledger !== true || (it.outOfCredits ?? shares.outOfCredits) !== 'reject') return undefined
  const name = it.client ?? ''
  const row = ws.clients.get(name)
  const credits = row === undefined ? shares.startCredits : row.credits / MICRO
  const asked = it.cost ?? 1
  const cost = Math.round(asked * MICRO)
  const missing = (cost - Math.round(credits * MICRO)) / MICRO
  if (cost === 0 || missing <= 0) return undefined
  const agreement = it.labels?.['agreement']
  const under = agreement === undefined ? '' : ` under the agreement ${JSON.stringify(agreement)}`
  return {
    message: `client ${JSON.stringify(name)} has ${credits} credits, and the task${under} is estimated to cost ${asked}: ${missing} missing; buy credits, and submit it again`,
    verdict: { by: 'credits', client: name, credits, asked },
  }
}

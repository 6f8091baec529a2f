import type { LedgerPlace, OutcomeOf } from '@ku0/agent-runtime-core'
import type { PruneDeps } from './prune-pass.ts'

/**
 * One pass over the ledgers of all clients, a commit at a time; the number of entries that went into opening entries. `between` is called before
 * each and may throw.
 */
export async function foldPass(
  { store, retention, clock }: PruneDeps,
  dryRun: boolean,
  between: () => void,
): Promise<number> {
  const rule = retention?.ledger ?? 'forever'
  if (rule === 'forever') return 0
  const until = Math.floor(clock.now()) - rule.ageMs
  let folded = 0
  let place: LedgerPlace | undefined
  do {
    between()
    const answer: OutcomeOf<'foldLedger'> = await store.write({ kind: 'foldLedger', ...place, until, dryRun })
    folded += answer.folded
    place = answer.next
  } while (place !== undefined)
  return folded
}

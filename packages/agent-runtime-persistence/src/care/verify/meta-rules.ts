import { oldestOf } from '../../migration.ts'
import { migrations } from '../../sqlite/schema.ts'
import { offsetForm } from '../../sqlite/clock.ts'
import { lostCommits, readLosses } from '../loss-records.ts'
import { pastIncarnations } from '../../sqlite/incarnations.ts'
import type { Db } from '../../sqlite/open.ts'
import type { Faults } from './faults.ts'

/** What a store knows of itself: each row that it opens with is there, and of its form. In a transaction. */
export function checkMeta(db: Db, faults: Faults): void {
  const rows = new Map(db.prepare<[], [string, string]>('SELECT key, value FROM meta').raw().all())
  const last = db.prepare<[], number | null>('SELECT max(number) FROM journal').pluck().get() ?? 0
  for (const [key, { form, words, since }] of Object.entries(rules)) {
    const value = rows.get(key)
    if (value === undefined) {
      // What opening a store writes may be missing in one that was left before anything was written to it.
      if (since === 'made' || last > 0) faults.add('row', `meta, ${key}`, words, 'none')
    } else if (!form.test(value)) faults.add('row', `meta, ${key}`, words, value)
  }
  const until = Number(rows.get('pruned_unhashed_until'))
  if (until > last) faults.add('row', 'meta, pruned_unhashed_until', `commit ${last} at most`, until)
  for (const [index, { expected, actual }] of readLosses(rows.get('accepted_losses')).faults.entries())
    faults.add('row', `meta, accepted_losses, fault ${index + 1}`, expected, actual)
  const lost = rows.get(lostCommits)
  if (lost !== undefined) faults.add('row', `meta, ${lostCommits}`, 'no commits that are missing', lost)
  if (pastIncarnations(db) === undefined)
    faults.add('row', 'meta, incarnations', 'those before this one', rows.get('incarnations'))
}

interface MetaRule {
  readonly form: RegExp
  readonly words: string
  /** When it is written: with the tables, or when a process opens the store. */
  readonly since: 'made' | 'opened'
}

const count = { form: /^\d+$/, words: 'a whole number' } as const

const oldest = String(oldestOf(migrations))

const rules: Readonly<Record<string, MetaRule>> = {
  store_id: { form: /^[0-9a-f]{17}$/, words: '17 hex digits', since: 'opened' },
  boot_id: { form: /./s, words: 'a text', since: 'opened' },
  boot_offset: { form: offsetForm, words: 'whole ms', since: 'opened' },
  opened: { ...count, since: 'opened' },
  oldest_schema: { form: new RegExp(`^${oldest}$`), words: oldest, since: 'made' },
  clients_removed: { ...count, since: 'made' },
  pruned_unhashed_until: { ...count, since: 'made' },
  journal_base: { form: /^\d+:[0-9a-f]{64}$/, words: 'a number and a hash', since: 'made' },
}

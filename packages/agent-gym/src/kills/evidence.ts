import { circumstances, table } from '../report/evidence.ts'
import type { KilledStore } from './kill-store.ts'

/** The result of a run as a page: what was run, on what, and what came of it. */
export function killsEvidence(
  { kills, submissions, seed }: Readonly<Record<'kills' | 'submissions' | 'seed', number>>,
  stores: readonly KilledStore[],
  { seconds, commit, atOnce }: { readonly seconds: number; readonly commit: string; readonly atOnce: number },
): string {
  return [
    '# Evidence: kills',
    '',
    'The last long run of `pnpm kills --evidence`; what it does: [kills](../reliability.md#35-kills).',
    '',
    ...table(
      ['', ''],
      [
        ['command', `\`pnpm kills --kills ${kills} --submissions ${submissions} --seed ${seed} --evidence\``],
        ...circumstances({ commit, seconds }),
        ['stores', `${stores.length}, ${atOnce} at a time`],
      ],
    ),
    '',
    ...table(
      ['what', 'times'],
      figures(stores).map(([what, count]) => [what, String(count)]),
    ),
    '',
  ].join('\n')
}

/** What was counted over all stores, and how often. */
export function figures(stores: readonly KilledStore[]): readonly (readonly [what: string, count: number])[] {
  return [
    ['kills (SIGKILL)', sum(stores, (it) => it.kills)],
    ['of them before the store was open', sum(stores, (it) => it.killedOpening)],
    ['submissions acknowledged', sum(stores, (it) => it.acknowledged)],
    ['submissions in doubt, made again', sum(stores, (it) => it.inDoubt)],
    ['tasks, with their children', sum(stores, (it) => it.tasks)],
    ['events', sum(stores, (it) => it.events)],
    ['leases taken over', sum(stores, (it) => it.takenOver)],
    ['steps under way at a kill, run again', sum(stores, (it) => it.repeatedSteps)],
    ['acknowledged and lost', sum(stores, (it) => it.lost)],
    ['recorded steps that ran again', sum(stores, (it) => it.recordedAgain)],
    ['submissions that became two tasks', sum(stores, (it) => it.doubled)],
    ['faults, these among them', sum(stores, (it) => it.faults.length)],
  ]
}

/** Nothing is wrong, and enough happened for that to mean something. */
export function isProof(stores: readonly KilledStore[]): boolean {
  const kills = sum(stores, (it) => it.kills)
  return (
    stores.every(({ faults }) => faults.length === 0) &&
    sum(stores, (it) => it.acknowledged) >= kills &&
    sum(stores, (it) => it.takenOver) >= kills / 4 &&
    sum(stores, (it) => it.killedOpening) >= kills / 50
  )
}

function sum(stores: readonly KilledStore[], of: (store: KilledStore) => number): number {
  return stores.reduce((total, store) => total + of(store), 0)
}

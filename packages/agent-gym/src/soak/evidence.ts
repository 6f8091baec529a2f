import { circumstances, table } from '../report/evidence.ts'
import { showNumber } from '../report/numbers.ts'
import type { Soaked, SoakPlan } from './soak.ts'

/** The result of a soak as a page: what ran, on what, and what came of it. */
export function evidenceOf(plan: SoakPlan, soaked: Soaked, commit: string): string {
  const { seconds, tasks, comings, figures, faults, samples, kinds } = soaked
  const every = Math.max(1, Math.ceil(samples.length / 12))
  const shown = samples.filter((_, at) => at % every === 0 || at === samples.length - 1)
  const mb = (bytes: number) => (bytes / 1e6).toFixed(2)
  return [
    '# Evidence: the soak',
    '',
    'The last long run of `pnpm soak --minutes N --evidence`; what it does: [soak](../reliability.md#38-soak).',
    '',
    ...table(
      ['', ''],
      [
        ['command', `\`pnpm soak --minutes ${plan.minutes} --seed ${plan.seed}\``],
        ...circumstances({ commit, seconds }),
        ['tasks', `${showNumber(tasks)}, without their children`],
        ['runtimes that came and went', showNumber(comings)],
        ['faults found by verify', faults.length === 0 ? 'none' : String(faults.length)],
      ],
    ),
    '',
    '## What grows',
    '',
    'Slopes by least squares over the last two thirds of the samples, each after a forced collection with nothing under way; in brackets twice',
    'the standard error. What has no bar is told, not judged: resident memory holds the pages that SQLite keeps, too.',
    '',
    ...table(
      ['what', 'value', 'bar', ''],
      figures.map(({ what, value, unit, bar, holds }) => [
        what,
        `${showNumber(value)} ${unit}`.trim(),
        bar === undefined ? '' : String(bar),
        bar === undefined ? '' : holds ? 'holds' : 'broken',
      ]),
    ),
    '',
    '## Samples',
    '',
    ...table(
      [
        'tasks',
        'heap, MB',
        'external, MB',
        'resident, MB',
        'handles',
        'listeners',
        'log, MB',
        'database, MB',
      ],
      shown.map((it) => [
        String(it.tasks),
        mb(it.heap),
        mb(it.external),
        mb(it.rss),
        String(it.handles),
        String(it.listeners),
        mb(it.wal),
        mb(it.database),
      ]),
    ),
    '',
    '## What ran',
    '',
    ...table(
      ['kind', 'tasks'],
      [...kinds].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([kind, count]) => [kind, showNumber(count)]),
    ),
    '',
  ].join('\n')
}

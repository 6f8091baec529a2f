import { circumstances, table } from '../report/evidence.ts'
import { showValue } from '../report/numbers.ts'
import { barOf, holds, type Measured } from './figures.ts'
import type { PromisesPlan } from './run-promises.ts'

/** The result of a run as a page: what was measured, on what, and what came of it. */
export function promisesEvidence(
  plan: PromisesPlan,
  measured: readonly Measured[],
  { seconds, commit }: { readonly seconds: number; readonly commit: string },
): string {
  return [
    '# Evidence: promises with a figure',
    '',
    'The last long run of `pnpm promises --evidence`; what it does: [promises](../reliability.md#39-promises-with-a-figure).',
    '',
    ...table(
      ['', ''],
      [['command', `\`pnpm promises ${flagsOf(plan)} --evidence\``], ...circumstances({ commit, seconds })],
    ),
    ...measured.flatMap(({ promise, figures, faults }) => [
      '',
      `## ${promise}`,
      '',
      ...table(
        ['what', 'figure', 'bar', ''],
        figures.map((figure) => [
          figure.what,
          showValue(figure.value, figure.unit),
          barOf(figure),
          figure.bar === undefined ? '' : holds(figure) ? 'holds' : 'missed',
        ]),
      ),
      ...(faults.length === 0 ? [] : ['', ...faults.map((fault) => `- ${fault}`)]),
    ]),
    '',
  ].join('\n')
}

/** Where another Node lies on a machine means nothing elsewhere: which it is stands beside its figures. */
function flagsOf({ inFlight, nodes, ...numbers }: PromisesPlan): string {
  const all = { ...numbers, 'in-flight': inFlight }
  return [
    ...Object.entries(all).map(([name, value]) => `--${name} ${value}`),
    ...nodes.map(() => '--node PATH'),
  ].join(' ')
}

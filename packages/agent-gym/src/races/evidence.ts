import { circumstances, table } from '../report/evidence.ts'
import { figures, type RacesPlan, type RacesRun } from './run-races.ts'

/** The result of a run as a page: what was run, on what, and what came of it. */
export function racesEvidence(
  plan: RacesPlan,
  run: RacesRun,
  { seconds, commit }: { readonly seconds: number; readonly commit: string },
): string {
  const { cancels, stops, histories, seed } = plan
  const flags = `--cancels ${cancels} --stops ${stops} --histories ${histories} --seed ${seed}`
  return [
    '# Evidence: races',
    '',
    'The last long run of `pnpm races --evidence`; what it does: [races](../reliability.md#36-races-and-histories).',
    '',
    ...table(
      ['', ''],
      [['command', `\`pnpm races ${flags} --evidence\``], ...circumstances({ commit, seconds })],
    ),
    ...Object.entries(figures(run)).flatMap(([kind, rows]) => [
      '',
      `## ${kind.charAt(0).toUpperCase()}${kind.slice(1)}`,
      '',
      ...table(
        ['what', 'times'],
        rows.map(([what, count]) => [what, String(count)]),
      ),
    ]),
    '',
  ].join('\n')
}

import { cpus, release, totalmem, type } from 'node:os'
import { sqliteVersion, table } from '../simulation/evidence.ts'
import { figures, type RacesPlan, type RacesRun } from './run-races.ts'

/** The result of a run as a page: what was run, on what, and what came of it. */
export function racesEvidence(
  plan: RacesPlan,
  run: RacesRun,
  { seconds, commit }: { readonly seconds: number; readonly commit: string },
): string {
  const { cancels, stops, histories, seed } = plan
  const [cpu] = cpus()
  const flags = `--cancels ${cancels} --stops ${stops} --histories ${histories} --seed ${seed}`
  return [
    '# Evidence: races',
    '',
    'The last long run of `pnpm races --evidence`; what it does: [races](../reliability.md#36-races-and-histories).',
    '',
    ...table(
      ['', ''],
      [
        ['command', `\`pnpm races ${flags} --evidence\``],
        ['commit', commit],
        ['date', new Date().toISOString().slice(0, 10)],
        [
          'machine',
          `${cpus().length} cores (${cpu?.model ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${type()} ${release()}`,
        ],
        ['versions', `Node ${process.versions.node}, SQLite ${sqliteVersion()}, \`synchronous=FULL\``],
        ['time', `${Math.round(seconds)} s`],
      ],
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

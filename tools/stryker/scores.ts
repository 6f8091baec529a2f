/** The part of Stryker's report that counts here. */
export interface Report {
  readonly files: Readonly<Record<string, { readonly mutants: readonly ReportedMutant[] }>>
}

interface ReportedMutant {
  readonly mutatorName: string
  readonly replacement?: string
  readonly status: string
  readonly location: { readonly start: { readonly line: number } }
}

/** What became of the changes to one file. */
export interface FileScore {
  /** Below the core's sources. */
  readonly file: string
  readonly noticed: number
  readonly unnoticed: readonly string[]
}

/** Of all changes so many percent have to be noticed. */
const least = 85

/** Where a change that nobody notices is a rule that nobody holds: every one has to be. */
const exact: ReadonlySet<string> = new Set([
  'states.ts',
  'decide/expiry.ts',
  'decide/quarantine.ts',
  'transition/fence.ts',
])

export function scoresOf({ files }: Report, folder: string): readonly FileScore[] {
  return Object.entries(files)
    .map(([path, { mutants }]) => ({
      file: path.replaceAll('\\', '/').split(`${folder}/`).at(-1) ?? path,
      noticed: mutants.filter(({ status }) => status === 'Killed' || status === 'Timeout').length,
      unnoticed: mutants
        .filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
        .map(
          ({ location, mutatorName, replacement }) =>
            `${location.start.line}: ${mutatorName}${replacement === undefined ? '' : `, ${shortened(replacement)}`}`,
        ),
    }))
    .filter(({ noticed, unnoticed }) => noticed + unnoticed.length > 0)
    .toSorted((a, b) => (a.file < b.file ? -1 : 1))
}

/** What of it is not as it has to be, one line each. */
export function shortfalls(scores: readonly FileScore[]): readonly string[] {
  const all = percentOf(scores)
  return [
    ...(all < least ? [`${all.toFixed(1)} % of the changes are noticed, ${least} % have to be`] : []),
    ...scores
      .filter(({ file, unnoticed }) => exact.has(file) && unnoticed.length > 0)
      .flatMap(({ file, unnoticed }) => unnoticed.map((it) => `nobody notices ${file}:${it}`)),
  ]
}

/** The result as a page. */
export function evidenceOf(
  scores: readonly FileScore[],
  {
    commit,
    minutes,
    machine,
  }: { readonly commit: string; readonly minutes: number; readonly machine: string },
): string {
  const noticed = scores.reduce((sum, file) => sum + file.noticed, 0)
  const all = scores.reduce((sum, file) => sum + file.noticed + file.unnoticed.length, 0)
  return [
    '# Evidence: changed sources',
    '',
    'The last long run of `pnpm stryker`, of the files below; what it does: [planted faults](../reliability.md#34-planted-faults).',
    '',
    '|          |     |',
    '| -------- | --- |',
    `| changes  | ${all} |`,
    `| noticed  | ${noticed}: ${percentOf(scores).toFixed(1)} % |`,
    `| commit   | ${commit} |`,
    `| date     | ${new Date().toISOString().slice(0, 10)} |`,
    `| machine  | ${machine} |`,
    `| time     | ${minutes} min |`,
    '',
    '| file | changes | noticed |',
    '| ---- | ------- | ------- |',
    ...scores.map(
      (file) =>
        `| ${file.file} | ${file.noticed + file.unnoticed.length} | ${percentOf([file]).toFixed(1)} % |`,
    ),
    '',
    '## Not noticed',
    '',
    ...scores.flatMap(({ file, unnoticed }) => unnoticed.map((it) => `- ${file}:${it}`)),
    '',
  ].join('\n')
}

function percentOf(scores: readonly FileScore[]): number {
  const noticed = scores.reduce((sum, file) => sum + file.noticed, 0)
  const all = scores.reduce((sum, file) => sum + file.noticed + file.unnoticed.length, 0)
  return all === 0 ? 100 : (100 * noticed) / all
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').replaceAll('`', "'").replaceAll('|', '\\|')
  return `\`${line.length > 60 ? `${line.slice(0, 59)}…` : line}\``
}

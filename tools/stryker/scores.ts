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

/** The score of a file, and of which run. */
export interface KeptScore extends FileScore {
  readonly commit: string
  readonly date: string
  readonly machine: string
}

/** Scores of a run take the place of those that files had before. */
export function kept(before: readonly KeptScore[], run: readonly KeptScore[]): readonly KeptScore[] {
  const isNew = new Set(run.map(({ file }) => file))
  return [...before.filter(({ file }) => !isNew.has(file)), ...run].toSorted((a, b) =>
    a.file < b.file ? -1 : 1,
  )
}

/** The results as a page. */
export function evidenceOf(scores: readonly KeptScore[]): string {
  const noticed = scores.reduce((sum, file) => sum + file.noticed, 0)
  const all = scores.reduce((sum, file) => sum + file.noticed + file.unnoticed.length, 0)
  const machines = [...new Set(scores.map(({ machine }) => machine))].join('; ')
  return [
    '# Evidence: changed sources',
    '',
    'The last long runs of `pnpm stryker`, of the files below; what it does: [planted faults](../reliability.md#34-planted-faults).',
    '',
    '|          |     |',
    '| -------- | --- |',
    `| changes  | ${all} |`,
    `| noticed  | ${noticed}: ${percentOf(scores).toFixed(1)} % |`,
    `| machine  | ${machines} |`,
    '',
    '| file | changes | noticed | commit | date |',
    '| ---- | ------- | ------- | ------ | ---- |',
    ...scores.map(
      (it) =>
        `| ${it.file} | ${it.noticed + it.unnoticed.length} | ${percentOf([it]).toFixed(1)} % | ${it.commit.slice(0, 12)} | ${it.date} |`,
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

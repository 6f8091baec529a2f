import { createHash } from 'node:crypto'
import { sameComparisons } from './comparisons.ts'

/** The part of Stryker's report that counts here. */
export interface Report {
  readonly files: Readonly<Record<string, { readonly mutants: readonly ReportedMutant[] }>>
}

export interface ReportedMutant {
  readonly mutatorName: string
  readonly replacement?: string
  readonly status: string
  readonly location: { readonly start: { readonly line: number } }
}

/** The changes to one file, and how they fared. */
export interface FileScore {
  /** Below the core's sources. */
  readonly file: string
  readonly noticed: number
  /** So many of the noticed ones were so by tests that did not end in time. */
  readonly timedOut?: number
  readonly unnoticed: readonly string[]
}

/** So many percent of all changes have to be noticed. */
export const least = 96

/**
 * Where a change that nobody notices is a rule that nobody holds: every one has to be. Of all other files every comparison has to be, except
 * for those of {@link SameComparisons}.
 */
const exact: ReadonlySet<string> = new Set([
  'task/states.ts',
  'lease/expiry.ts',
  'queue/quarantine.ts',
  'lease/fence.ts',
])

export function scoresOf({ files }: Report, folder: string): readonly FileScore[] {
  return Object.entries(files)
    .map(([path, { mutants }]) => ({
      file: path.replaceAll('\\', '/').split(`${folder}/`).at(-1) ?? path,
      noticed: mutants.filter(isNoticed).length,
      timedOut: mutants.filter(({ status }) => status === 'Timeout').length,
      unnoticed: mutants.filter(isUnnoticed).map(changeAt),
    }))
    .toSorted((a, b) => (a.file < b.file ? -1 : 1))
}

export const isNoticed = ({ status }: Pick<ReportedMutant, 'status'>): boolean =>
  status === 'Killed' || status === 'Timeout'

export const isUnnoticed = ({ status }: Pick<ReportedMutant, 'status'>): boolean =>
  status === 'Survived' || status === 'NoCoverage'

/** Where a file was changed, and to what. */
export function changeAt({ location, mutatorName, replacement }: ReportedMutant): string {
  return `${location.start.line}: ${mutatorName}${replacement === undefined ? '' : `, ${shortened(replacement)}`}`
}

/** Where it is not as it has to be, one line each. */
export function shortfalls(
  scores: readonly FileScore[],
  same: SameComparisons = sameComparisons,
): readonly string[] {
  const all = percentOf(scores)
  return [
    ...(all < least ? [`${all.toFixed(1)} % of the changes are noticed, ${least} % have to be`] : []),
    ...gaps(scores, same),
  ]
}

/** The changes that have to be noticed, whatever the rate is, and are not, one line each. */
export function gaps(
  scores: readonly FileScore[],
  same: SameComparisons = sameComparisons,
): readonly string[] {
  return scores.flatMap(({ file, unnoticed }) => {
    const known = new Map(Object.entries(same[file] ?? {}))
    const found = new Set(unnoticed.map(comparisonIn))
    return [
      ...unnoticed
        .filter((it) => {
          const comparison = comparisonIn(it)
          return exact.has(file) || (comparison !== undefined && !known.has(comparison))
        })
        .map((it) => `nobody notices ${file}:${it}`),
      ...[...known.keys()]
        .filter((it) => !found.has(it))
        .map(
          (it) =>
            `${file}: \`${it}\` is noticed, or is no more: take it from the list of those that cannot be`,
        ),
    ]
  })
}

/** Changes to comparisons by file, as {@link FileScore} tells them, and why nothing that can come tells them from what stands there. */
export type SameComparisons = Readonly<Record<string, Readonly<Record<string, string>>>>

/** The text that a comparison was changed to, if one was changed. */
function comparisonIn(unnoticed: string): string | undefined {
  return /^\d+: EqualityOperator, `(.*)`$/.exec(unnoticed)?.[1]
}

/** The score of a file, and of which run. */
export interface KeptScore extends FileScore {
  /** The core's own tests alone had to notice. */
  readonly direct?: boolean
  /** The digest of the file's text. */
  readonly text?: string
  readonly commit: string
  readonly date: string
  readonly machine: string
}

/** Scores of a run take the place of those that files had before; a file of which nothing counts has none. */
export function kept(before: readonly KeptScore[], run: readonly KeptScore[]): readonly KeptScore[] {
  const isNew = new Set(run.map(({ file }) => file))
  return [...before.filter(({ file }) => !isNew.has(file)), ...run]
    .filter(({ noticed, unnoticed }) => noticed + unnoticed.length > 0)
    .toSorted((a, b) => (a.file < b.file ? -1 : 1))
}

/** Tells one text of a file from another. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)

/** The scores of files that are still as they were, by the texts of today. */
export function freshOf(
  scores: readonly KeptScore[],
  texts: ReadonlyMap<string, string>,
): readonly KeptScore[] {
  return scores.filter(({ file, text }) => text !== undefined && text === digestOf(texts.get(file) ?? ''))
}

/** The results as a page. `texts`: the files of the area as they are today. Only files that are still as they were count in its sums. */
export function evidenceOf(
  scores: readonly KeptScore[],
  texts: ReadonlyMap<string, string>,
  same: SameComparisons = sameComparisons,
): string {
  const fresh = freshOf(scores, texts)
  const isFresh = new Set(fresh)
  const unmeasured = unmeasuredOf(texts, scores)
  const noticed = fresh.reduce((sum, file) => sum + file.noticed, 0)
  const all = fresh.reduce((sum, file) => sum + file.noticed + file.unnoticed.length, 0)
  const timedOut = fresh.reduce((sum, file) => sum + (file.timedOut ?? 0), 0)
  const machines = [...new Set(scores.map(({ machine }) => machine))].join('; ')
  const unknown = gaps(fresh, same).filter((it) => /: EqualityOperator, /.test(it))
  return [
    '# Evidence: changed sources',
    '',
    'The last long runs of `pnpm stryker`, of the files below; what it does: [planted faults](../reliability.md#34-planted-faults). Each figure is of the file at its commit.',
    'A file that has changed since is stale: its row stays, and counts in none of these sums.',
    '',
    '|          |     |',
    '| -------- | --- |',
    `| files that are as they were | ${fresh.length} |`,
    `| changes to them | ${all} |`,
    `| noticed  | ${noticed}: ${percentOf(fresh).toFixed(1)} %${timedOut === 0 ? '' : `, of which ${timedOut} by tests that did not end in time`} |`,
    `| stale files | ${scores.length - fresh.length} |`,
    `| files with functions that no run has changed | ${unmeasured.length} |`,
    `| machine  | ${machines} |`,
    '',
    '| file | changes | noticed | by | commit | date | today |',
    '| ---- | ------- | ------- | -- | ------ | ---- | ----- |',
    ...scores.map(
      (it) =>
        `| ${it.file} | ${it.noticed + it.unnoticed.length} | ${percentOf([it]).toFixed(1)} % | ${it.direct === true ? 'direct tests' : 'all'} | ${it.commit.slice(0, 12)} | ${it.date} | ${isFresh.has(it) ? 'as it was' : 'stale'} |`,
    ),
    '',
    '## Comparisons that nothing can notice',
    '',
    unknown.length === 0
      ? 'Every other change to a comparison in a file that is as it was is noticed.'
      : 'Not looked into yet:',
    '',
    ...unknown.map((it) => `- ${it}`),
    '',
    '| file | changed to | why it is the same |',
    '| ---- | ---------- | ------------------ |',
    ...scores.flatMap(({ file }) =>
      Object.entries(same[file] ?? {}).map(([change, why]) => `| ${file} | \`${change}\` | ${why} |`),
    ),
    '',
    '## Not noticed in files that are as they were',
    '',
    ...fresh.flatMap(({ file, unnoticed }) => unnoticed.map((it) => `- ${file}:${it}`)),
    '',
    ...(unmeasured.length === 0 ? [] : ['## Not measured', '', ...unmeasured.map((it) => `- ${it}`), '']),
  ].join('\n')
}

/** How many of a hundred changes were noticed. */
function percentOf(scores: readonly FileScore[]): number {
  const noticed = scores.reduce((sum, file) => sum + file.noticed, 0)
  const all = scores.reduce((sum, file) => sum + file.noticed + file.unnoticed.length, 0)
  return all === 0 ? 100 : (100 * noticed) / all
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').replaceAll('`', "'").replaceAll('|', '\\|')
  return `\`${line.length > 60 ? `${line.slice(0, 59)}…` : line}\``
}

/** The files that have functions, by their texts, and no score. */
export function unmeasuredOf(
  texts: ReadonlyMap<string, string>,
  scores: readonly FileScore[],
): readonly string[] {
  const measured = new Set(scores.map(({ file }) => file))
  return [...texts]
    .filter(([file, text]) => !measured.has(file) && /\bfunction\b|\) \{$|= \(.*\) => /m.test(text))
    .map(([file]) => file)
    .toSorted()
}

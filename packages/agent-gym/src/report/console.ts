import { showDuration } from './numbers.ts'
import type { Report } from './report.ts'

/** The end of a run, for a terminal: a table of verdicts, then Track AA's criteria. */
export function renderConsole(report: Report, files: readonly string[]): string {
  const { passed, total, score } = report.summary.total
  const rows = report.scenarios.map(({ id, pass, figure, durationMs }) => [
    pass ? 'pass' : 'FAIL',
    id,
    figure,
    showDuration(durationMs),
  ])
  const criteria = report.acceptance.map(({ title, verdict, evidence }) => [
    verdict,
    title,
    evidence.join('; '),
  ])
  return [
    '',
    ...table([['', 'scenario', 'key figure', 'took'], ...rows]),
    '',
    'acceptance criteria',
    ...table(criteria),
    '',
    `${passed} of ${total} passed, score ${Math.round(score * 10) / 10}, seed ${report.seed}, ${showDuration(report.durationMs)}`,
    ...files.map((file) => `  ${file}`),
    '',
  ].join('\n')
}

/** Columns as wide as their widest cell; the last one is left as it is. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  )
  return rows.map((row) =>
    `  ${row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd((widths[column] ?? 0) + 2))).join('')}`.trimEnd(),
  )
}

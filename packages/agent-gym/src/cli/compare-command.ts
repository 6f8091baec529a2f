import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { type Change, type Comparison, compareReports, rule } from '../compare/compare.ts'
import { showNumber, showValue } from '../report/numbers.ts'
import { readReport } from '../report/read-report.ts'
import type { Report } from '../report/report.ts'
import { type ExitCode, exitCode, UsageError } from './exit-code.ts'
import { pathBases, resolvePath } from './paths.ts'
import { codeOf, type Console } from './run-command.ts'
import { parse } from './run-options.ts'

/** `gym:compare A B`. Answers with its exit code. */
export function compareCommand(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd: string,
  console: Console,
): ExitCode {
  try {
    const command = new Command('gym:compare')
      .description('Compares the figures of two runs; several runs of a side count by their medians.')
      .argument('<a>', 'a report, a folder of reports, or several joined by commas: before')
      .argument('<b>', 'the same: after')
      .option('--all', 'show figures that are the same, too')
      .option('--json', 'print the comparison as JSON')
      .addHelpText(
        'after',
        `\n${rule}\n\nExit codes: 0 no regression, 1 a regression, 2 a wrong command line or file.`,
      )
    const flags = parse(
      command,
      args.filter((arg) => arg !== '--'),
    ) as { all?: boolean; json?: boolean }
    const [a = '', b = ''] = command.args
    const bases = pathBases(env, cwd)
    const comparison = compareReports(readSide(a, bases), readSide(b, bases))
    console.out.write(
      flags.json === true
        ? `${JSON.stringify(comparison, undefined, 2)}\n`
        : renderComparison(comparison, flags.all === true),
    )
    return comparison.regressed ? exitCode.failed : exitCode.ok
  } catch (error) {
    return codeOf(error, console)
  }
}

/** The table of a comparison: what changed, or everything. */
function renderComparison({ changes, regressed, warnings }: Comparison, all: boolean): string {
  const shown = changes.filter(({ verdict }) => all || verdict !== 'same')
  const rows = [['scenario', 'figure', 'A', 'B', 'change', 'noise', 'verdict'], ...shown.map(cellsOf)]
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  )
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd((widths[column] ?? 0) + 2))
      .join('')
      .trimEnd(),
  )
  const same = changes.length - shown.length
  return [
    ...warnings.map((warning) => `note: ${warning}`),
    ...(shown.length === 0 ? [] : lines),
    '',
    `${regressed ? 'Regressed' : 'No regression'}; ${same} figures are the same within noise.`,
    rule,
    '',
  ].join('\n')
}

function cellsOf({ scenario, figure, unit, before, after, allowed, verdict }: Change): string[] {
  const change = before === null || after === null ? '' : changeText(before, after)
  return [
    scenario,
    figure,
    showValue(before, unit),
    showValue(after, unit),
    change,
    allowed === 0 ? 'none' : `± ${showNumber(allowed)}`,
    verdict,
  ]
}

function changeText(before: number, after: number): string {
  const difference = after - before
  const sign = difference > 0 ? '+' : ''
  const share = before === 0 ? '' : ` (${sign}${Math.round((100 * difference) / Math.abs(before))} %)`
  return `${sign}${showNumber(Math.round(difference * 1000) / 1000)}${share}`
}

function readSide(side: string, bases: readonly string[]): readonly Report[] {
  const files = side.split(',').flatMap((part) => filesOf(resolvePath(part, bases)))
  if (files.length === 0) throw new UsageError(`${side}: no reports there`)
  return files.map(readReport)
}

function filesOf(path: string): readonly string[] {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) throw new UsageError(`no such file or folder: ${path}`)
  if (!stat.isDirectory()) return [path]
  return readdirSync(path)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => join(path, name))
}

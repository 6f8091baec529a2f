// Makes 75 mistakes of the first hours, and writes what is said to each into docs/decisions/0038-mistakes-of-the-first-hours.md.
//
//   node tools/mistakes.ts [--check]
//
// --check: changes nothing, and fails if the page is not as it would be written. It needs what `tsc -b` has built.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { editorMistakes, saidByCompiler } from './mistakes/editor.ts'
import { handlerMistakes } from './mistakes/handler.ts'
import { type Mistake, saidBy, type TriedMistake } from './mistakes/mistake.ts'
import { httpMistakes, terminalMistakes } from './mistakes/outside.ts'
import { programMistakes } from './mistakes/program.ts'

const page = resolve(import.meta.dirname, '../docs/decisions/0038-mistakes-of-the-first-hours.md')
const MAX_LENGTH = 420

if (import.meta.main) {
  const { now, right } = await mistakesPage()
  if (!process.argv.includes('--check')) {
    writeFileSync(page, right)
    spawnSync(resolve(import.meta.dirname, '../node_modules/.bin/oxfmt'), [page])
  } else if (unspaced(now) !== unspaced(right)) {
    console.error("the mistakes are answered in other words than the page says: run 'node tools/mistakes.ts'")
    process.exitCode = 1
  }
}

/** The page as it is, and as it is right. */
export async function mistakesPage(): Promise<{ readonly now: string; readonly right: string }> {
  const now = readFileSync(page, 'utf8')
  const compiler = saidByCompiler()
  const rows = [
    ...editorMistakes.map((mistake, index) => row('editor', mistake, compiler[index] ?? 'nothing')),
    ...(await rowsOf('program', programMistakes)),
    ...(await rowsOf('handler', handlerMistakes)),
    ...(await rowsOf('terminal', terminalMistakes)),
    ...(await rowsOf('HTTP', httpMistakes)),
  ].map((cells, index) => `| ${[index + 1, ...cells].join(' | ')} |`)
  const table = [
    '| | where | mistake | written | what is said |',
    '| --: | --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
  const marks = /(<!-- mistakes -->\n)[^]*?(<!-- \/mistakes -->)/
  return { now, right: now.replace(marks, (_, start: string, end: string) => `${start}\n${table}\n\n${end}`) }
}

/** Without the spaces that make the columns of a table even. */
export function unspaced(text: string): string {
  return text.replaceAll(/ {2,}/g, ' ').replaceAll(/-{2,}/g, '--')
}

/** One after another: what they make is not to be in each other's way. */
async function rowsOf(where: string, mistakes: readonly TriedMistake[]): Promise<readonly string[][]> {
  const rows: string[][] = []
  for (const mistake of mistakes) rows.push(row(where, mistake, await saidBy(mistake.tried)))
  return rows
}

function row(where: string, { what, code }: Mistake, said: string): string[] {
  const lines = steady(said)
    .split('\n')
    .map((line) => line.trim())
  return [
    where,
    what,
    inCode(code),
    lines
      .filter((line) => line !== '')
      .map(inCode)
      .join('<br>'),
  ]
}

function inCode(text: string): string {
  const short = text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text
  const fence = short.includes('`') ? '``' : '`'
  return `${fence}${short.replaceAll('|', String.raw`\|`)}${fence}`
}

/** What differs from run to run stands for itself. */
function steady(text: string): string {
  return text
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, 'ID')
    .replaceAll(/\/tmp\/ku0-mistakes-\w+/g, 'FOLDER')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/(roll|at) [\d.]+/g, '$1 NUMBER')
    .replaceAll(resolve(import.meta.dirname, '..'), 'REPOSITORY')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replaceAll(/:\d+:\d+/g, '')
}

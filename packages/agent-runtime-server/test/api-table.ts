import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { defaultLimits } from '../src/limits.ts'
import { serverCodes } from '../src/problem/codes.ts'
import { endpoints } from '../src/routes/endpoints.ts'
import { fieldRows } from './field-table.ts'

const page = join(resolve(import.meta.dirname, '../../..'), 'docs/http-api.md')
const [begin, end] = ['<!-- made from the routes: begin -->', '<!-- made from the routes: end -->']

/** The page as it stands. */
export function apiPage(): string {
  return readFileSync(page, 'utf8')
}

/** The page with its made part as the routes say. */
export function freshApiPage(): string {
  const text = apiPage()
  const [before, after] = [text.indexOf(begin), text.indexOf(end)]
  if (before === -1 || after === -1) throw new Error(`docs/http-api.md has no ${begin} … ${end}`)
  return `${text.slice(0, before + begin.length)}\n\n${madePart()}\n\n${text.slice(after)}`
}

/** Writes the page. */
export function writeApiPage(): void {
  writeFileSync(page, freshApiPage())
}

function madePart(): string {
  const { queries, answers, bodies, records } = fieldRows()
  const tags = Object.groupBy(endpoints, ({ tag }) => tag)
  const routes = Object.entries(tags).map(([tag, its]) =>
    [
      `### ${tag}`,
      '',
      ...table(
        ['request', 'scope', 'what it does', 'answer'],
        its.map(({ method, path, scope, summary }) => {
          const request = `\`${method.toUpperCase()} ${path}\``
          return [request, `\`${scope}\``, summary, answers.get(request) ?? '']
        }),
      ),
    ].join('\n'),
  )
  const codes = table(
    ['code', 'status', 'meaning'],
    Object.entries(serverCodes).map(([code, { status, meaning }]) => [
      `\`${code}\``,
      String(status),
      meaning,
    ]),
  )
  const limits = table(
    ['limit', 'default'],
    Object.entries(defaultLimits).map(([name, value]) => [
      `\`${name}\``,
      value.toLocaleString('en').replaceAll(',', ' '),
    ]),
  )
  const fields = (head: string, rows: readonly (readonly string[])[]) =>
    table([head, 'field', 'value', 'meaning'], rows)
  return [
    ...routes,
    ['### Queries', '', ...fields('request', queries)].join('\n'),
    ['### Bodies', '', ...fields('request', bodies)].join('\n'),
    ['### Records', '', ...fields('record', records)].join('\n'),
    ['### Codes of the server', '', ...codes].join('\n'),
    ['### Limits', '', ...limits].join('\n'),
  ].join('\n\n')
}

/** A table as the formatter lays it out. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  )
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)]
}

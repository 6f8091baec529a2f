// Writes the commands into docs/cli.md, from the entries that their help is made of.
//
//   node tools/cli-page.ts [--check]
//
// --check: changes nothing, and fails if the page is not as it would be written.
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { groups } from '../packages/agent-runtime-cli/src/catalogue/catalogue.ts'
import type { CommandEntry } from '../packages/agent-runtime-cli/src/catalogue/entry.ts'
import { settingOrigins } from '../packages/agent-runtime-cli/src/settings/settings.ts'

const page = resolve(import.meta.dirname, '../docs/cli.md')

if (import.meta.main) {
  const { now, right } = cliPage()
  if (!process.argv.includes('--check')) writeFileSync(page, right)
  else if (now !== right) {
    console.error("docs/cli.md is not what the help of the commands says: run 'node tools/cli-page.ts'")
    process.exitCode = 1
  }
}

/** The page as it is, and as it is right. */
export function cliPage(): { readonly now: string; readonly right: string } {
  const now = readFileSync(page, 'utf8')
  return {
    now,
    right: between(between(between(now, 'settings', settings()), 'reach', reach()), 'commands', commands()),
  }
}

function between(text: string, mark: string, content: string): string {
  const pattern = new RegExp(`(<!-- ${mark} -->\n)[^]*?(<!-- /${mark} -->)`)
  return text.replace(pattern, (_, start: string, end: string) => `${start}\n${content}\n\n${end}`)
}

function settings(): string {
  return table(
    ['setting in the file', 'environment variable', 'flag', 'default'],
    settingOrigins.map(({ name, variable, flag, fallback }) => [
      code(name),
      code(variable),
      code(flag && `--${flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`),
      fallback === undefined
        ? 'none'
        : code(typeof fallback === 'string' ? fallback : JSON.stringify(fallback)),
    ]),
  )
}

/** Which commands work on a server. One that only names those below it works on nothing. */
function reach(): string {
  const below = (entry: CommandEntry, path = ''): string[][] => {
    const name = `${path} ${entry.name}`.trim()
    const takes = (flag: string) =>
      (entry.options ?? []).some(({ flags }) => flags.includes(flag)) ? 'yes' : ''
    const under = (entry.commands ?? []).flatMap((it) => below(it, name))
    const row = [code(name), takes('--store'), takes('--server') || (entry.noServer ?? '')]
    return entry.options === undefined && entry.commands !== undefined ? under : [row, ...under]
  }
  const rows = groups.flatMap(({ commands: entries }) => entries.flatMap((entry) => below(entry)))
  return table(['command', 'store', 'server'], rows)
}

function commands(): string {
  return groups
    .flatMap(({ title, commands: entries }) => [
      `## ${title}`,
      ...entries.flatMap((entry) => section(entry, entry.name, 3)),
    ])
    .join('\n\n')
}

function section(entry: CommandEntry, name: string, level: number): readonly string[] {
  const { about, details, args = [], options = [], examples, exits = [], commands: below = [] } = entry
  const usage = ['agent-runtime', name, ...args.map((arg) => arg.name)].join(' ')
  return [
    `${'#'.repeat(level)} ${name}`,
    `\`${usage}\``,
    `${about.charAt(0).toUpperCase()}${about.slice(1)}.${details === undefined ? '' : ` ${details.replaceAll('\n', ' ')}`}`,
    ...(args.length + options.length === 0
      ? []
      : [
          table(
            ['argument', 'meaning'],
            [
              ...args.map((arg) => [code(arg.name), sentence(arg.about)]),
              ...options.map(({ flags, about: meaning, fallback }) => [
                code(flags),
                sentence(meaning) + (fallback === undefined ? '' : ` (default: ${fallback})`),
              ]),
            ],
          ),
        ]),
    ...(exits.length === 0
      ? []
      : [
          table(
            ['exit code', 'when'],
            exits.map(([exit, when]) => [String(exit), when]),
          ),
        ]),
    ['```sh no-run', ...examples.flatMap(([line, does]) => [`# ${does}`, line]), '```'].join('\n'),
    ...below.flatMap((it) => section(it, `${name} ${it.name}`, level + 1)),
  ]
}

/** A table as the formatter writes it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', String.raw`\|`)))
  const widths = head.map((_, at) => Math.max(3, ...cells.map((row) => (row[at] ?? '').length)))
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] as number)).join(' | ')} |`
  const [first = [], ...others] = cells
  return [line(first), line(widths.map((width) => '-'.repeat(width))), ...others.map(line)].join('\n')
}

function code(text: string | undefined): string {
  return text === undefined || text === '' ? '' : `\`${text}\``
}

/** Options are said in the words of the help. */
function sentence(text: string): string {
  return text.replaceAll('<', '&lt;')
}

import { execFileSync } from 'node:child_process'
import Database from 'better-sqlite3'
import { cpus, release, totalmem, type } from 'node:os'
import { counted } from './findings.ts'
import type { SeedRange, SeedsRun } from './run-seeds.ts'

/** The result of a range of seeds as a page: what was played, on what, and what came of it. */
export function evidenceOf(
  { first, last }: SeedRange,
  { seeds, counts, broken, modes, virtualMs }: SeedsRun,
  {
    seconds,
    threads,
    commit,
  }: { readonly seconds: number; readonly threads: number; readonly commit: string },
): string {
  const [cpu] = cpus()
  const rows = [
    ['seeds', `${first} to ${last}: ${seeds}`],
    ['broken', broken.length === 0 ? 'none' : broken.map(({ seed }) => seed).join(', ')],
    ['lives', `${modes.liveness} healed and played to the end, ${modes.safety} under faults throughout`],
    ['commit', commit],
    ['date', new Date().toISOString().slice(0, 10)],
    [
      'machine',
      `${cpus().length} cores (${cpu?.model ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${type()} ${release()}`,
    ],
    ['versions', `Node ${process.versions.node}, SQLite ${sqliteVersion()}`],
    [
      'speed',
      `${(seeds / seconds).toFixed(1)} seeds a second on ${threads} threads, ${Math.round(seconds)} s`,
    ],
    ['virtual time', `${Math.round(virtualMs / 1_000)} s`],
  ]
  return [
    '# Evidence: the simulation',
    '',
    'The last long run of `pnpm sim --seeds A..B --evidence`; what it does: [the simulation](../simulation.md).',
    '',
    ...table(['', ''], rows),
    '',
    '## What happened',
    '',
    ...table(
      ['what', 'times', 'a seed'],
      counted.map((name) => [name, String(counts[name]), (counts[name] / seeds).toFixed(2)]),
    ),
    '',
  ].join('\n')
}

/** What is checked out now, and whether it is all of it; the page that is being written does not count. */
export function currentCommit(): string {
  const changes = git('status', '--porcelain', '--', ':/', ':(top,exclude)docs/evidence')
  return git('rev-parse', 'HEAD') + (changes === '' ? '' : ', with changes')
}

/** That of the SQLite which the stores are on. */
export function sqliteVersion(): string {
  const db = new Database(':memory:')
  try {
    return db.prepare<[], string>('SELECT sqlite_version()').pluck().get() ?? 'unknown'
  } finally {
    db.close()
  }
}

/** A table in Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)]
}

function git(...args: readonly string[]): string {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return 'unknown'
  }
}

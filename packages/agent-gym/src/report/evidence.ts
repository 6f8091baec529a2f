import { execFileSync } from 'node:child_process'
import { cpus, loadavg, release, totalmem, type } from 'node:os'
import Database from 'better-sqlite3'
import { sourcesDigest } from './sources.ts'

/** What a page of evidence says of a run beside its figures: what was checked out, when and on what it ran, how long, and beside how much. */
export function circumstances({
  commit,
  seconds,
}: {
  readonly commit: string
  readonly seconds: number
}): readonly (readonly [string, string])[] {
  return [
    ['commit', commit],
    ['date', today()],
    ['machine', machineNow()],
    ['versions', `${versionsNow()}, \`synchronous=FULL\``],
    ['time', `${Math.round(seconds)} s`],
    ['load', `${loadavg()[0]?.toFixed(1)} in its last minute, its own processes among it`],
  ]
}

/** The day, by the clock of the world. */
export function today(): string {
  return new Date().toISOString().slice(0, 10)
}

/** What a run is on. */
export function machineNow(): string {
  const [cpu] = cpus()
  return `${cpus().length} cores (${cpu?.model ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${type()} ${release()}`
}

/** Of the Node that runs, and of the SQLite which the stores are on. */
export function versionsNow(): string {
  const db = new Database(':memory:')
  try {
    const sqlite = db.prepare<[], string>('SELECT sqlite_version()').pluck().get() ?? 'unknown'
    return `Node ${process.versions.node}, SQLite ${sqlite}`
  } finally {
    db.close()
  }
}

/**
 * What is checked out now, and whether it is all of it; the page that is being written does not count. Ends with the digest of the sources, by which
 * `tools/evidence.ts` knows later whether the page still speaks of them.
 */
export function currentCommit(): string {
  const changes = git('status', '--porcelain', '--', ':/', ':(top,exclude)docs/evidence')
  return `${git('rev-parse', 'HEAD')}${changes === '' ? '' : ', with changes'}, sources ${sourcesDigest()}`
}

/** A table in Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
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

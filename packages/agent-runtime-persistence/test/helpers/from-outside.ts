import { execFileSync } from 'node:child_process'

const program = `
const { DatabaseSync } = await import('node:sqlite')
const [path, sql, ...given] = process.argv.slice(1)
const db = new DatabaseSync(path)
db.exec('PRAGMA busy_timeout = 5000')
console.log(JSON.stringify(db.prepare(sql).all(...given)))
db.close()`

/**
 * Runs a statement on a file whose store is open, in a process of its own: whoever closes a second connection in the store's process drops its locks
 * (docs/reliability.md T5).
 */
export function fromOutside(path: string, sql: string, ...given: readonly (string | number)[]): object[] {
  const args = ['--no-warnings', '--input-type=module', '-e', program, path, sql, ...given.map(String)]
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as object[]
}

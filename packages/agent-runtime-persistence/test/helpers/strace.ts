import { spawnSync } from 'node:child_process'

/** Whether system calls can be watched and made to fail here. */
export const canTrace = (() => {
  const tried = spawnSync('strace', ['-f', '-e', 'trace=fsync', process.execPath, '-e', '0'])
  return tried.error === undefined && tried.status === 0
})()

/** Runs a fixture under strace to its end, and gives what it said. */
export function traced(flags: readonly string[], fixture: string, ...args: readonly string[]): string {
  return spawnSync('strace', ['-f', ...flags, process.execPath, fixture, ...args], { encoding: 'utf8' })
    .stdout
}

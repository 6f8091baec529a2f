import { spawnSync } from 'node:child_process'

/** The kernel itself lets all other calls pass: a process that stops at each call takes several times as long. */
const onlyThose = ['-f', '--seccomp-bpf']

/** Whether system calls can be watched and made to fail here. */
export const canTrace = (() => {
  const tried = spawnSync('strace', [...onlyThose, '-e', 'trace=fsync', process.execPath, '-e', '0'])
  return tried.error === undefined && tried.status === 0
})()

/** Runs a fixture under strace to its end, and gives what it said. Calls that are made to fail are watched, and those that the flags name. */
export function traced(flags: readonly string[], fixture: string, ...args: readonly string[]): string {
  const failing = flags.flatMap((flag) => /^inject=(\w+):/.exec(flag)?.[1] ?? [])
  const watched = failing.length === 0 ? [] : ['-e', `trace=${failing.join(',')}`]
  const { stdout } = spawnSync(
    'strace',
    [...onlyThose, ...watched, ...flags, process.execPath, fixture, ...args],
    { encoding: 'utf8' },
  )
  return stdout
}

import { readdirSync, readFileSync } from 'node:fs'
import { runMark } from '../host/host-process.ts'

/** Whether a process runs. One that has ended and that nobody has collected yet does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  return !isZombie(pid)
}

/** The processes that carry the mark in their environment: what a run started and did not end. Linux only; else none. */
export function markedProcesses(mark: string): readonly { readonly pid: number; readonly command: string }[] {
  const wanted = `${runMark}=${mark}`
  return processIds().flatMap((pid) => {
    const environment = readProcess(pid, 'environ')
    if (environment === undefined || !environment.split('\0').includes(wanted) || isZombie(pid)) return []
    return [{ pid, command: readProcess(pid, 'cmdline')?.replaceAll('\0', ' ').trim() ?? '' }]
  })
}

function isZombie(pid: number): boolean {
  // The state follows the command's name, which is in parentheses and may hold anything.
  return / [ZX] /.test(readProcess(pid, 'stat')?.replace(/^.*\)/s, '').slice(0, 3) ?? '')
}

function processIds(): readonly number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return []
  }
}

function readProcess(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return undefined
  }
}

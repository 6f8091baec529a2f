import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/**
 * Sends a signal to all processes that a detached child started and that did not leave its group. The number
 * of a group is not reused while one of its processes lives. Windows has no groups: there the signal reaches
 * only the child.
 */
export function signalGroup(leader: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (leader.pid === undefined) return
  if (process.platform === 'win32') leader.kill(signal)
  else kill(-leader.pid, signal)
}

/** Whether a process of the group still runs. */
export function isGroupAlive(leader: ChildProcess): boolean {
  if (leader.pid === undefined || process.platform === 'win32' || !kill(-leader.pid, 0)) return false
  return process.platform !== 'linux' || hasRunningMember(leader.pid)
}

/** A group also exists until its dead processes are collected, which in a container may take seconds. */
function hasRunningMember(group: number): boolean {
  return readdirSync('/proc').some((name) => /^\d+$/.test(name) && isRunningIn(group, name))
}

function isRunningIn(group: number, pid: string): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state = '', , itsGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3)
    return Number(itsGroup) === group && !'ZX'.includes(state)
  } catch {
    return false
  }
}

/** Returns false if no process has this number. */
function kill(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, signal)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/**
 * Sends a signal to all that a detached child started and that did not leave its group. The number of a group is not given to
 * another while one of it lives. Windows has no groups: there it reaches the child alone.
 */
export function signalGroup(leader: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (leader.pid === undefined) return
  if (process.platform === 'win32') leader.kill(signal)
  else kill(-leader.pid, signal)
}

/** Whether anything of the group still runs. */
export function isGroupAlive(leader: ChildProcess): boolean {
  if (leader.pid === undefined || process.platform === 'win32' || !kill(-leader.pid, 0)) return false
  return process.platform !== 'linux' || hasRunningMember(leader.pid)
}

/** A group also lasts for as long as nobody has collected its dead, which in a container may be seconds. */
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

/** False when there is nothing to send it to. */
function kill(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, signal)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

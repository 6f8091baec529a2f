import { type ChildProcess, spawn } from 'node:child_process'
import type { Writable } from 'node:stream'

/**
 * Sees to it that commands die with this process, however it dies: a small shell beside it knows the process groups that run,
 * and kills them when its standard input ends, which a SIGKILL of this process makes it do. Started before the first
 * command; without a POSIX shell there is none, and commands outlive a killed process. A kill in the instant between a command's
 * start and its entry here is not covered, nor one that takes the shell along. Source: `docs/reliability.md` T18.
 */
export class Warden {
  #shell: ChildProcess | undefined
  #closed = false

  /** Starts the shell, before the command that it is to guard: starting it takes longer than a command needs to begin. */
  prepare(): void {
    if (!this.#closed) this.#shell ??= startShell()
  }

  /** From now on the group dies with this process. */
  guard(group: number): void {
    if (!this.#closed) this.#tell(`+ ${group}\n`)
  }

  /** The group is gone: its number may soon be another's. */
  forget(group: number): void {
    if (this.#shell !== undefined) this.#tell(`- ${group}\n`)
  }

  /** No command runs any more. */
  close(): void {
    this.#closed = true
    this.#shell?.stdin?.end()
    this.#shell = undefined
  }

  #tell(line: string): void {
    this.prepare()
    this.#shell?.stdin?.write(line)
  }
}

/**
 * In a session of its own, so that signals to this process's group do not reach it; it keeps nothing alive and open. There is none, and
 * the next command tries again, where no file descriptor is left.
 */
function startShell(): ChildProcess | undefined {
  const shell = spawn('/bin/sh', ['-c', SCRIPT], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
    env: {},
  })
  shell.on('error', ignore)
  // Whatever its type says: a process that has no descriptor for a pipe gets none.
  if ((shell.stdin as Writable | undefined) === undefined) return undefined
  shell.stdin.on('error', ignore)
  shell.unref()
  unref(shell.stdin)
  return shell
}

/** Shell built-ins only: one process, whatever number of commands it watches. */
const SCRIPT = `
groups=' '
while read -r op group; do
  case $op in
    +) groups="$groups$group " ;;
    -) case $groups in *" $group "*) groups="\${groups%%" $group "*} \${groups#*" $group "}" ;; esac ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done 2>/dev/null
`

function unref(stream: unknown): void {
  ;(stream as { unref?: () => void }).unref?.()
}

function ignore(): void {}

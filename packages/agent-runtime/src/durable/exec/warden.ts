import { type ChildProcess, spawn } from 'node:child_process'
import type { Writable } from 'node:stream'

/**
 * Makes commands die with this process, however it dies. A small shell beside it knows the running process
 * groups, and kills them when its standard input ends, which also a SIGKILL of this process causes. The shell
 * is started before the first command; without a POSIX shell there is none, and commands outlive a killed
 * process. Two cases are not covered: a kill in the instant between a command's start and its registration
 * here, and a kill of the shell together with the process. Source: `docs/reliability.md` T18.
 */
export class Warden {
  #shell: ChildProcess | undefined
  #closed = false

  /**
   * Starts the shell, before the command that it guards: its start takes longer than the start of a command.
   */
  prepare(): void {
    if (!this.#closed) this.#shell ??= startShell()
  }

  /** From now on the group dies with this process. */
  guard(group: number): void {
    if (!this.#closed) this.#tell(`+ ${group}\n`)
  }

  /** The group has ended: its number may soon be reused. */
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
 * The shell gets its own session, so that signals to this process's group do not reach it, and it keeps
 * nothing alive or open. If no file descriptor is left, there is none, and the next command tries again.
 */
function startShell(): ChildProcess | undefined {
  const shell = spawn('/bin/sh', ['-c', SCRIPT], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
    env: {},
  })
  shell.on('error', ignore)
  // Despite its type it may be undefined: a process without a free descriptor for a pipe gets none.
  if ((shell.stdin as Writable | undefined) === undefined) return undefined
  shell.stdin.on('error', ignore)
  shell.unref()
  unref(shell.stdin)
  return shell
}

/** Shell built-ins only: one process, however many commands it watches. */
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

import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** A program of the gym in a process of its own. */
export interface StartedProgram {
  readonly pid: number
  /** Resolves with the first line that begins so and was not asked for before; rejects when the program ends without saying it. */
  said(beginning: string): Promise<string>
  /** A line to its standard input. */
  tell(line: string): void
  signal(signal: NodeJS.Signals): void
  readonly ended: Promise<{ readonly code: number | null; readonly stderr: string }>
  /** Resolves when it has ended well, rejects when not. */
  succeeded(): Promise<void>
}

/** Starts one that this package exports under a name, on the Node that runs or on another. It is killed when the signal aborts. */
export function startProgram(
  name: string,
  args: readonly string[],
  {
    compileCache,
    signal,
    node = process.execPath,
  }: { readonly compileCache: string; readonly signal: AbortSignal; readonly node?: string },
): StartedProgram {
  const program = new URL(import.meta.resolve(name)).pathname
  const child = spawn(node, ['--disable-warning=ExperimentalWarning', program, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    signal,
    killSignal: 'SIGKILL',
  })
  const ended = endOf(child)
  const lines: string[] = []
  const waiting = new Set<() => void>()
  const look = () => {
    for (const wake of waiting) wake()
  }
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    look()
  })
  void ended.finally(look).catch(() => undefined)
  // Who is killed reads no more.
  child.stdin.on('error', () => undefined)
  return {
    pid: child.pid ?? 0,
    said: (beginning) =>
      new Promise((found, failed) => {
        const wake = () => {
          const at = lines.findIndex((line) => line.startsWith(beginning))
          if (at !== -1) found(lines.splice(at, 1)[0] ?? '')
          else if (child.exitCode === null && child.signalCode === null) return
          else {
            const why = (stderr: string) =>
              new Error(`${name} ended and never said '${beginning}': ${[...lines, stderr].join(' / ')}`)
            void ended.then(({ stderr }) => failed(why(stderr)), failed)
          }
          waiting.delete(wake)
        }
        waiting.add(wake)
        wake()
      }),
    tell: (line) => void child.stdin.write(`${line}\n`),
    signal: (what) => void child.kill(what),
    ended,
    async succeeded() {
      const { code, stderr } = await ended
      if (code !== 0) throw new Error(`${name} ended with ${code}: ${stderr}`)
    },
  }
}

function endOf(child: ChildProcess): StartedProgram['ended'] {
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-4000)
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject).on('close', (code) => resolve({ code, stderr }))
  })
}

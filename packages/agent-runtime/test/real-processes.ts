import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** Shorter than the time limit of a test, so that it says what it waited for. */
const waitsMs = process.env['TESTS'] === 'proof' ? 100_000 : 50_000

/** A folder of the test's own, gone when it is over. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'ku0-runtime-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A program in a process of its own, killed when the test is over. */
export interface Program {
  readonly process: ChildProcess
  readonly pid: number
  /** What it has said so far, a line each. */
  readonly lines: readonly string[]
  /** Resolves with the first line that begins so, said before or after. */
  said(beginning: string): Promise<string>
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
}

export function run(program: URL, ...args: readonly string[]): Program {
  return runWith([], program, ...args)
}

/** The same with flags of Node's. */
export function runWith(flags: readonly string[], program: URL, ...args: readonly string[]): Program {
  return start(flags, program, args, 'inherit')
}

/** The same for one that is to die with a report that nobody wants to read. */
export function runToRuin(flags: readonly string[], program: URL, ...args: readonly string[]): Program {
  return start(flags, program, args, 'ignore')
}

function start(
  flags: readonly string[],
  program: URL,
  args: readonly string[],
  errors: 'inherit' | 'ignore',
): Program {
  const child = spawn(process.execPath, [...flags, fileURLToPath(program), ...args], {
    stdio: ['pipe', 'pipe', errors],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  const waiting = new Set<() => void>()
  const look = () => {
    for (const wake of waiting) wake()
  }
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    look()
  })
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((done) =>
    child.once('close', (code, signal) => {
      done({ code, signal })
      look()
    }),
  )
  const said = (beginning: string) =>
    new Promise<string>((found, failed) => {
      const wake = () => {
        const line = lines.find((candidate) => candidate.startsWith(beginning))
        if (line !== undefined) found(line)
        else if (child.exitCode !== null)
          failed(new Error(`the program ended without saying ${beginning}: ${lines.join('\n')}`))
      }
      waiting.add(wake)
      wake()
    })
  return { process: child, pid: child.pid ?? 0, lines, said, ended }
}

/** Whether a process runs; one that is only waiting to be collected does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  const stat = `/proc/${pid}/stat`
  return !existsSync(stat) || !/^\d+ \(.*\) [ZX]/s.test(readFileSync(stat, 'utf8'))
}

/** Waits for what no event tells of. How long it may take proves nothing: a busy machine is slow. */
export async function eventually(holds: () => boolean, withinMs = waitsMs): Promise<void> {
  const begun = performance.now()
  while (!holds()) {
    if (performance.now() - begun > withinMs)
      throw new Error(`not within ${withinMs} ms: ${holds.toString()}`)
    await new Promise((look) => setTimeout(look, 5))
  }
}

/** The process ids that a shell wrote to a file, once there are as many. */
export async function pidsIn(file: string, count: number): Promise<number[]> {
  const read = () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split(/\s+/).filter(Boolean) : [])
  await eventually(() => read().length >= count)
  return read().map(Number)
}

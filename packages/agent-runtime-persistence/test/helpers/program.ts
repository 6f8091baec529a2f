import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'

/** A fixture in a process of its own, killed when the running test is over. */
export class Program {
  readonly lines: string[] = []
  readonly child: ChildProcess
  readonly ended: Promise<unknown>
  private readonly waiting = new Set<() => void>()

  constructor(fixture: string, ...args: readonly string[]) {
    this.child = spawn(process.execPath, [join(import.meta.dirname, '../fixtures', fixture), ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.ended = once(this.child, 'close')
    const look = () => {
      for (const wake of this.waiting) wake()
    }
    if (this.child.stdout === null) throw new Error('a program has pipes')
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      this.lines.push(line)
      look()
    })
    void this.ended.then(look)
    onTestFinished(() => void this.child.kill('SIGKILL'))
  }

  /** Resolves with the nth line that begins so, said before or after. */
  said(beginning: string, nth = 1): Promise<string> {
    return new Promise((found, failed) => {
      const wake = () => {
        const line = this.lines.filter((candidate) => candidate.startsWith(beginning))[nth - 1]
        if (line !== undefined) found(line)
        else if (this.child.exitCode !== null || this.child.signalCode !== null)
          failed(new Error(`it ended without saying ${beginning}: ${this.lines.join('\n')}`))
      }
      this.waiting.add(wake)
      wake()
    })
  }
}

import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { strippedFolder } from '../registry.ts'
import type { Assignment, Figures, Said } from './messages.ts'

const program = join(strippedFolder, 'run/child.js')

/** A process of a run, and what it says. */
export class RunProcess {
  readonly child: ChildProcess
  /** Resolves with its figures; rejects when it failed, was late, or ended without any. */
  readonly result: Promise<Figures>
  private readonly listeners = new Set<(said: Said) => void>()

  /** `limitMs`: how long it may take with all that comes before and after what is measured; then it is killed. */
  constructor(node: string, assignment: Assignment, limitMs: number) {
    this.child = spawn(node, [program, JSON.stringify(assignment)], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, NODE_ENV: 'production', NODE_NO_WARNINGS: '1' },
    })
    this.result = this.outcome(limitMs)
    // Whoever kills a process does not ask for its figures.
    this.result.catch(() => undefined)
  }

  private async outcome(limitMs: number): Promise<Figures> {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      this.child.kill('SIGKILL')
    }, limitMs)
    let errors = ''
    this.child.stderr?.on('data', (data: Buffer) => {
      errors = `${errors}${data.toString()}`.slice(-2_000)
    })
    try {
      return await new Promise<Figures>((resolve, reject) => {
        this.child.on('message', (message) => {
          const said = message as Said
          for (const listener of this.listeners) listener(said)
          if (said.said === 'result') resolve(said.figures)
          if (said.said === 'failed') reject(new Error(said.reason))
        })
        this.child.once('error', reject)
        this.child.once('close', (code, signal) => {
          const why = isLate ? `not done after ${limitMs / 1000} s` : `ended with ${code ?? signal}`
          reject(
            new Error(`${why}${errors === '' ? '' : `: ${errors.trim().split('\n').slice(-3).join(' ')}`}`),
          )
        })
      })
    } finally {
      await this.gone()
      clearTimeout(timer)
    }
  }

  /** Waits until the process is no more: the next one has the machine to itself. */
  private async gone(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null || this.child.pid === undefined) return
    await new Promise((end) => this.child.once('exit', end))
  }

  hear(listener: (said: Said) => void): void {
    this.listeners.add(listener)
  }

  /** Resolves at the first thing said of which this is true; rejects when the process ends before. */
  async heard(isIt: (said: Said) => boolean): Promise<void> {
    await Promise.race([
      new Promise<void>((resolve) => {
        this.hear((said) => {
          if (isIt(said)) resolve()
        })
      }),
      this.result.then(() => {
        throw new Error('it ended before that')
      }),
    ])
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.gone()
  }
}

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Claim, EventType, ExecutionConfigInput, LeaseNotice, Write } from '@ku0/agent-runtime-core'
import { onTestFinished } from 'vitest'

/** What a child says, one line each; see fixtures/child-store.ts. */
export interface ChildLine {
  readonly opened?: string
  readonly claimed?: Claim
  readonly noticed?: LeaseNotice
  readonly answer?: unknown
  readonly refused?: string
  readonly failed?: string
  readonly closed?: true
  /** It is where it was to die or to stop, and is about to. */
  readonly reached?: true
  /** It is about to commit, and so many statements have been run since it was told something for the second time, this one among them. */
  readonly statements?: number
}

/**
 * Where a child dies: around the flush that stores an event of a type for the nth time, as it writes that event, before it commits or
 * right after. With SIGSTOP it stands still there until it is woken.
 */
export interface Place {
  readonly when: 'within' | 'before' | 'after'
  readonly event: EventType
  readonly nth?: number
  readonly signal?: 'SIGKILL' | 'SIGSTOP'
}

export interface ChildOptions {
  readonly path: string
  readonly config?: ExecutionConfigInput
  /** It runs all types unless some are named. */
  readonly worker?: {
    readonly workerId: string
    readonly capacity: number
    readonly types?: readonly string[]
  }
  /** It completes whatever it is given. */
  readonly settles?: boolean
  /** What it is handed is written again while it is refused with `store_busy` or `store_unavailable`, as the runtime does it for a handler, however long a lock is held. */
  readonly insists?: boolean
  readonly dies?: Place
  /** It dies just before it runs the nth statement since it was told something for the second time; 0: it counts them. */
  readonly diesBefore?: number
  /** What it finds in its environment, besides. */
  readonly env?: Readonly<Record<string, string>>
}

/** A store in a real process, which can be stopped and killed like any other. Gone when the running test has ended. */
export class ChildStore {
  readonly lines: ChildLine[] = []
  readonly errors: string[] = []
  private readonly process: ChildProcess
  private readonly exited: Promise<unknown>
  private wake: (() => void)[] = []

  constructor(options: ChildOptions) {
    this.process = spawn(
      process.execPath,
      [join(import.meta.dirname, '../fixtures/child-store.ts'), JSON.stringify(options)],
      {
        stdio: ['pipe', 'pipe', 'pipe'],
        env: { ...process.env, ...options.env },
      },
    )
    // When its output has been read to the end, too.
    this.exited = once(this.process, 'close')
    const { stdin, stdout, stderr } = this.process
    if (stdin === null || stdout === null || stderr === null) throw new Error('a child has pipes')
    // It is killed while it is written to; whether it has heard is told by what it says.
    stdin.on('error', () => {})
    createInterface({ input: stdout }).on('line', (line) => {
      this.lines.push(JSON.parse(line) as ChildLine)
      for (const wake of this.wake.splice(0)) wake()
    })
    stderr.on('data', (text: Buffer) => this.errors.push(String(text)))
    onTestFinished(async () => {
      this.process.kill('SIGKILL')
      await this.exited
    })
  }

  /** Opens a store in a process of its own. */
  static async open(options: ChildOptions): Promise<ChildStore> {
    const child = new ChildStore(options)
    await child.heard(({ opened }) => opened !== undefined)
    return child
  }

  get claims(): readonly Claim[] {
    return this.lines.flatMap(({ claimed }) => claimed ?? [])
  }

  /** Waits until the child has said so many lines of a kind, and gives the last of them. */
  async heard(is: (line: ChildLine) => boolean, count = 1): Promise<ChildLine> {
    const deadline = AbortSignal.timeout(100_000)
    for (;;) {
      const found = this.lines.filter(is)
      if (found.length >= count) return found.at(-1) as ChildLine
      if (deadline.aborted || this.process.exitCode !== null)
        throw new Error(`waited in vain: ${JSON.stringify(this.lines)} ${this.errors.join('')}`)
      await new Promise<void>((wake) => {
        this.wake.push(wake)
        deadline.addEventListener('abort', () => wake(), { once: true })
        void this.exited.then(() => wake())
      })
    }
  }

  /** Hands it writes, in one turn; answers come in the order of commits. */
  send(...operations: readonly Write[]): void {
    this.process.stdin?.write(`${JSON.stringify(operations)}\n`)
  }

  /** Whatever it was answered. */
  get answers(): readonly unknown[] {
    return this.lines.flatMap(({ answer }) => (answer === undefined ? [] : [answer]))
  }

  /** It dies at its place, not of anything else. */
  async died(): Promise<void> {
    await this.exited
    assert.deepEqual([this.process.signalCode, this.errors], ['SIGKILL', []])
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.process.kill(signal)
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL')
    await this.exited
  }

  /** It closes its store and ends by itself. */
  async end(): Promise<number | null> {
    this.process.stdin?.end()
    await this.exited
    return this.process.exitCode
  }
}

import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { ErrorRecord, UsageSample } from '@ku0/agent-runtime-core'
import { signalGroup } from '../durable/exec/process-group.ts'
import type { Warden } from '../durable/exec/warden.ts'
import { backgroundTimers } from '../system.ts'
import type { Line, LineEars, RunnerSpec } from './line.ts'
import type { FromRunner, ToRunner } from './words.ts'

/** A runner in a process of its own, which is killed with this one however this one ends. */
export class ProcessLine implements Line {
  readonly #child: ChildProcess
  /** The end of its standard error, where the platform reports that the heap is full. */
  #lastWords = ''
  #error: ErrorRecord | undefined

  constructor(entry: string, { memoryMb }: RunnerSpec, ears: LineEars, warden: Warden) {
    const flags = process.execArgv.filter((flag) => !flag.startsWith('--inspect'))
    // A group of its own: what the handler starts is killed with it.
    this.#child = fork(entry, [], {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      detached: true,
      execArgv: memoryMb === undefined ? flags : [...flags, `--max-old-space-size=${memoryMb}`],
    })
    const { pid } = this.#child
    if (pid !== undefined) warden.guard(pid)
    this.#child.on('message', (word: FromRunner) => {
      if (word.kind === 'uncaught') this.#error = word.error
      else ears.heard(word)
    })
    this.#child.stderr?.on('data', (bytes: Buffer) => {
      process.stderr.write(bytes)
      this.#lastWords = (this.#lastWords + bytes.toString('latin1')).slice(-LAST_WORDS)
    })
    let isOver = false
    const over = (how: string) => {
      if (isOver) return
      isOver = true
      this.#child.stderr?.destroy()
      if (pid !== undefined) warden.forget(pid)
      const isOutOfMemory = this.#lastWords.includes('heap out of memory')
      ears.ended({ how, isOutOfMemory, ...(this.#error === undefined ? {} : { error: this.#error }) })
    }
    this.#child.once('error', (error) => over(error.message))
    this.#child.once('exit', (code, signal) => {
      const how = signal ?? `exit code ${code}`
      // What it wrote last may arrive after its end, or never if somebody else holds the pipe.
      this.#child.once('close', () => over(how))
      backgroundTimers.after(LAST_WORDS_MS, () => over(how))
    })
  }

  say(word: ToRunner): void {
    // The end of the process is told by its exit.
    if (this.#child.connected) this.#child.send(word, () => undefined)
  }

  kill(): void {
    signalGroup(this.#child, 'SIGKILL')
  }

  async measure(): Promise<UsageSample | undefined> {
    return process.platform === 'linux' ? measured(this.#child.pid) : undefined
  }

  hold(isBusy: boolean): void {
    const parts = [this.#child, this.#child.channel, this.#child.stderr] as readonly unknown[]
    for (const part of parts as readonly ({ ref?: () => void; unref?: () => void } | null | undefined)[])
      if (isBusy) part?.ref?.()
      else part?.unref?.()
  }
}

const LAST_WORDS = 8_192
const LAST_WORDS_MS = 200

/** The kernel tells times of processes in hundredths of a second, on every architecture that Node runs on. */
const TICK_US = 10_000

function measured(pid: number | undefined): UsageSample | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticks = Number(fields[11]) + Number(fields[12])
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return { computeUs: ticks * TICK_US, ...(kib === undefined ? {} : { memoryBytes: Number(kib) * 1_024 }) }
  } catch {
    return undefined
  }
}

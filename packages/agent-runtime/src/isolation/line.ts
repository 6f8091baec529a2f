import type { ErrorRecord, UsageSample } from '@ku0/agent-runtime-core'
import type { FromRunner, ToRunner } from './words.ts'

/** Where a task type runs, if not in the worker's own event loop. */
export interface RunnerSpec {
  readonly isolation: 'thread' | 'process'
  /** The URL of the module that exports the task type. */
  readonly module: string
  /** The size of its heap, MiB; that of the platform by default. */
  readonly memoryMb: number | undefined
}

/** How a runner ended. */
export interface RunnerEnd {
  /** `exit code 1` or `SIGSEGV`. */
  readonly how: string
  readonly isOutOfMemory: boolean
  /** What nobody caught in it. */
  readonly error?: ErrorRecord | undefined
}

/** The worker's end of a line to a thread or process. */
export interface Line {
  /** A runner that has ended gets no message. */
  say(word: ToRunner): void
  /** Ends the runner at once, whatever it does. */
  kill(): void
  /** Its usage since its start; undefined where that cannot be measured from outside. */
  measure(): Promise<UsageSample | undefined>
  /** Whether it keeps the worker's process from ending. */
  hold(isBusy: boolean): void
}

/** Who hears a line. */
export interface LineEars {
  heard(word: FromRunner): void
  /** The last word: nothing of it is left. */
  ended(end: RunnerEnd): void
}

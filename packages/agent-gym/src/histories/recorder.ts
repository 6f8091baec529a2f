import { openSync, readFileSync, writeSync } from 'node:fs'
import type { Deed, Operation } from './operation.ts'

/** A line of what a process recorded. A call says what is asked, its answer comes later, or never. */
type Line =
  | { readonly n: number; readonly at: number; readonly task: Named; readonly deed: Deed }
  | { readonly n: number; readonly at: number; readonly answer: unknown; readonly taskId?: string }
  | { readonly at: number; readonly follows: string; readonly events: readonly string[] }
  | { readonly n: number; readonly failed: string }

/** A task whose id the caller may not know yet: then it goes by its idempotency key. */
export interface Named {
  readonly taskId?: string
  readonly key?: string
}

/**
 * Appends what a process does and hears to a file, each call before it is made. What was written stays written when the process is killed in the next
 * moment.
 */
export class Recorder {
  readonly #file: number
  #calls = 0

  constructor(path: string) {
    this.#file = openSync(path, 'a')
  }

  /** Records a call and its answer; what it throws is recorded as an unknown outcome, and thrown. */
  async record<T>(
    task: Named,
    deed: Deed,
    call: () => Promise<T>,
    answerOf: (outcome: T) => unknown,
  ): Promise<T> {
    const n = this.called(task, deed)
    try {
      const outcome = await call()
      this.answered(n, answerOf(outcome))
      return outcome
    } catch (error) {
      this.failed(n, error)
      throw error
    }
  }

  called(task: Named, deed: Deed, at = now()): number {
    this.#calls += 1
    this.#write({ n: this.#calls, at, task, deed })
    return this.#calls
  }

  answered(n: number, answer: unknown, taskId?: string): void {
    this.#write({ n, at: now(), answer, ...(taskId === undefined ? {} : { taskId }) })
  }

  failed(n: number, error: unknown): void {
    this.#write({ n, failed: String(error) })
  }

  /** What one reader of a task's events was given, in its order. */
  followed(taskId: string, events: readonly string[]): void {
    this.#write({ at: now(), follows: taskId, events })
  }

  #write(line: Line): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`)
  }
}

/** Ms of the monotonic clock, which all processes of a machine share. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** A call as it was recorded, its task known by id or key. */
export interface Recorded extends Omit<Operation, 'taskId'> {
  readonly task: Named
  /** What it threw: its outcome is not known. */
  readonly failed?: string
}

/** All that a process recorded. A line that is cut was not written. */
export function readRecord(
  path: string,
  process: string,
): { readonly calls: readonly Recorded[]; readonly followed: readonly Followed[] } {
  const text = readFileSync(path, 'utf8')
  const calls = new Map<number, Recorded>()
  const followed: Followed[] = []
  for (const row of text.slice(0, text.lastIndexOf('\n') + 1).split('\n')) {
    if (row === '') continue
    const line = JSON.parse(row) as Line
    if ('deed' in line) {
      calls.set(line.n, { process, task: line.task, invokedAt: line.at, deed: line.deed })
    } else if ('follows' in line) {
      followed.push({ process, taskId: line.follows, events: line.events })
    } else {
      const call = calls.get(line.n)
      if (call === undefined) throw new Error(`${path}: an answer without a call`)
      calls.set(line.n, 'failed' in line ? { ...call, failed: line.failed } : answeredWith(call, line))
    }
  }
  return { calls: [...calls.values()], followed }
}

/** What one reader of a task's events was given, each as `seq type hash`. */
export interface Followed {
  readonly process: string
  readonly taskId: string
  readonly events: readonly string[]
}

function answeredWith(
  call: Recorded,
  { at, answer, taskId }: { readonly at: number; readonly answer: unknown; readonly taskId?: string },
): Recorded {
  const deed = { ...call.deed, answer } as Deed
  return { ...call, returnedAt: at, deed, task: taskId === undefined ? call.task : { ...call.task, taskId } }
}

import type { UsageSample } from '@ku0/agent-runtime-core'
import type { Warden } from '../durable/exec/warden.ts'
import type { Line, LineEars, RunnerEnd, RunnerSpec } from './line.ts'
import { ProcessLine } from './process-line.ts'
import { ThreadLine } from './thread-line.ts'
import type { FromRunner, ToRunner } from './words.ts'

/** A thread or process that runs one task at a time, and is kept for the next. */
export class Runner {
  readonly spec: RunnerSpec
  /** Whether it has run a task before. */
  isWarm = false
  isOver = false
  #isKilled = false
  /** Resolves when nothing of it is left. */
  readonly ended: Promise<RunnerEnd>
  readonly #line: Line
  #ears: LineEars | undefined
  /** What it had used when its task began. */
  #before: Promise<UsageSample | undefined> | undefined

  constructor(entry: string, spec: RunnerSpec, warden: Warden) {
    this.spec = spec
    const ended = Promise.withResolvers<RunnerEnd>()
    this.ended = ended.promise
    const ears: LineEars = {
      heard: (word: FromRunner) => this.#ears?.heard(word),
      ended: (end) => {
        this.isOver = true
        ended.resolve(end)
        this.#ears?.ended(end)
      },
    }
    this.#line =
      spec.isolation === 'thread'
        ? new ThreadLine(entry, spec, ears)
        : new ProcessLine(entry, spec, ears, warden)
  }

  /** From now on `ears` hear it, and it keeps the process alive. */
  begin(ears: LineEars): void {
    this.#ears = ears
    this.#before = undefined
    this.#line.hold(true)
  }

  /** Nobody hears it until it gets its next task. */
  rest(): void {
    this.#ears = undefined
    this.isWarm = true
    this.#line.hold(false)
  }

  /** Whether it can take a task. */
  get isFit(): boolean {
    return !this.isOver && !this.#isKilled
  }

  say(word: ToRunner): void {
    if (!this.isOver) this.#line.say(word)
  }

  kill(): void {
    this.#isKilled = true
    if (!this.isOver) this.#line.kill()
  }

  /** What its task has used so far; the first call sets the beginning. */
  async measure(): Promise<UsageSample | undefined> {
    if (this.isOver) return undefined
    this.#before ??= this.isWarm ? this.#line.measure() : Promise.resolve({ computeUs: 0 })
    const [before, now] = await Promise.all([this.#before, this.#line.measure()])
    if (now === undefined || before === undefined) return undefined
    return { ...now, computeUs: Math.max(0, (now.computeUs ?? 0) - (before.computeUs ?? 0)) }
  }
}

import { decode, type Lane, RuntimeError, show, type StepRecord } from '@ku0/agent-runtime-core'
import type { Attempt } from '../execution/attempt.ts'
import type { SubmissionData } from '../execution/worker.ts'
import type {
  CleanupHook,
  ExecOptions,
  ExecResult,
  StepHandle,
  StepOptions,
  TaskContext,
  TaskLog,
} from '../task-context.ts'
import { saveCheckpoint } from './checkpoint.ts'
import { exec } from './exec.ts'
import { idempotencyKey, inputHashOf } from './idempotency.ts'
import { emit } from './output.ts'
import { heartbeat } from './progress.ts'
import { Steps } from './steps.ts'

/** The context of one pass through a handler. Whatever is not always needed is made on first use. */
export class HandlerContext implements TaskContext {
  readonly #attempt: Attempt
  readonly #submission: SubmissionData
  readonly #memos: ReadonlyMap<string, StepRecord>
  #steps: Steps | undefined
  #log: TaskLog | undefined

  constructor(attempt: Attempt, submission: SubmissionData, memos: ReadonlyMap<string, StepRecord>) {
    this.#attempt = attempt
    this.#submission = submission
    this.#memos = memos
  }

  get taskId(): string {
    return this.#attempt.claim.taskId
  }
  get type(): string {
    return this.#attempt.claim.type
  }
  get attempt(): number {
    return this.#attempt.claim.attempt
  }
  get fencingToken(): number {
    return this.#attempt.claim.fencingToken
  }
  get lane(): Lane {
    return this.#attempt.claim.lane
  }
  get model(): string | undefined {
    return this.#submission.model
  }
  get tools(): readonly string[] {
    return this.#submission.tools ?? []
  }
  get labels(): Readonly<Record<string, string>> {
    return this.#submission.labels ?? {}
  }
  get restored(): unknown {
    const { checkpoint } = this.#attempt.claim
    return checkpoint === undefined ? undefined : decode(checkpoint)
  }
  get signal(): AbortSignal {
    return this.#attempt.signal
  }
  get log(): TaskLog {
    this.#log ??= logOf(this.#attempt)
    return this.#log
  }

  step<T>(key: string, fn: (step: StepHandle) => T | PromiseLike<T>): Promise<T>
  step<T>(key: string, options: StepOptions, fn: (step: StepHandle) => T | PromiseLike<T>): Promise<T>
  step(key: unknown, ...rest: readonly unknown[]): Promise<never> {
    this.#steps ??= new Steps(this.#attempt, this.#memos)
    const [options, fn] = rest.length < 2 ? [undefined, rest[0]] : rest
    // oxlint-disable-next-line typescript/unbound-method -- it is not called: a place is told by what calls it
    return this.#steps.run(key, options, fn, this.step)
  }

  onCleanup(hook: CleanupHook): () => void {
    if (typeof hook !== 'function') {
      throw new RuntimeError('invalid_argument', `a clean-up hook is a function, not ${show(hook)}`)
    }
    return this.#attempt.addHook(hook)
  }

  heartbeat(report?: { readonly progress?: unknown }): Promise<void> {
    return heartbeat(this.#attempt, report)
  }

  emit(chunk: unknown): Promise<void> {
    return emit(this.#attempt, chunk)
  }

  checkpoint(data: unknown): Promise<void> {
    return saveCheckpoint(this.#attempt, data)
  }

  exec(command: string, args: readonly string[] = [], options: ExecOptions = {}): Promise<ExecResult> {
    return exec(this.#attempt, command, args, options)
  }

  idempotencyKey(stepKey: string, input?: unknown): string {
    const { digest } = this.#attempt.parts.environment
    return idempotencyKey(
      digest,
      this.taskId,
      stepKey,
      input === undefined ? null : inputHashOf(digest, stepKey, input),
    )
  }
}

function logOf(attempt: Attempt): TaskLog {
  return {
    debug: (message, fields) => attempt.log('debug', message, fields),
    info: (message, fields) => attempt.log('info', message, fields),
    warn: (message, fields) => attempt.log('warn', message, fields),
    error: (message, fields) => attempt.log('error', message, fields),
  }
}

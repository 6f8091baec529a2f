import { decode, type Lane, RuntimeError, show } from '@ku0/agent-runtime-core'
import type { Attempt } from '../execution/attempt.ts'
import type { SubmissionData } from '../execution/worker.ts'
import type {
  AllResults,
  Approval,
  ApprovalOptions,
  Branches,
  CleanupHook,
  ExecOptions,
  ExecResult,
  Feedback,
  RaceResult,
  SignalWaitOptions,
  StepHandle,
  StepOptions,
  TaskContext,
  TaskLog,
} from '../task-context.ts'
import { Answer } from './answer.ts'
import { feedbackOf, requestApproval } from './approvals.ts'
import { type BranchCaller, runBranches } from './branches.ts'
import { saveCheckpoint } from './checkpoint.ts'
import { exec } from './exec.ts'
import { idempotencyKey, inputHashOf } from './idempotency.ts'
import { emit } from './output.ts'
import { heartbeat } from './progress.ts'
import type { Memos } from './memos.ts'
import { type Callee, Pass } from './pass.ts'
import type { Scope } from './scope.ts'
import { runStep } from './steps.ts'
import { sleep, sleepUntil, type WaitCaller, waitForSignal } from './wait-calls.ts'

/**
 * The context of one pass through a handler, or of a branch in it. Whatever is not always needed is made on first use.
 */
export class HandlerContext implements TaskContext {
  readonly #attempt: Attempt
  readonly #submission: SubmissionData
  readonly #memos: Memos
  readonly #scope: Scope
  #madePass: Pass | undefined
  #log: TaskLog | undefined

  /** `pass` is the one that the branch belongs to whose context it is. */
  constructor(scope: Scope, submission: SubmissionData, memos: Memos, pass?: Pass) {
    this.#attempt = scope.attempt
    this.#submission = submission
    this.#memos = memos
    this.#madePass = pass
    this.#scope = scope
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
    return this.#scope.signal
  }
  get feedback(): readonly Feedback[] {
    return this.#memos.rejections.length === 0 ? [] : feedbackOf(this.#pass)
  }
  get log(): TaskLog {
    this.#log ??= logOf(this.#attempt)
    return this.#log
  }

  step<T>(key: string, fn: (step: StepHandle) => T | PromiseLike<T>): Promise<T>
  step<T>(key: string, options: StepOptions, fn: (step: StepHandle) => T | PromiseLike<T>): Promise<T>
  step(key: unknown, ...rest: readonly unknown[]): Promise<never> {
    const [options, fn] = rest.length < 2 ? [undefined, rest[0]] : rest
    // oxlint-disable-next-line typescript/unbound-method -- it is not called: a place is told by what calls it
    return runStep(this.#pass, this.#scope, [key, options, fn], this.step)
  }

  sleep(key: string, ms: number): Promise<void> {
    // oxlint-disable-next-line typescript/unbound-method -- as in step
    return sleep(this.#caller(this.sleep), key, ms)
  }

  sleepUntil(key: string, when: Date | number): Promise<void> {
    // oxlint-disable-next-line typescript/unbound-method -- as in step
    return sleepUntil(this.#caller(this.sleepUntil), key, when)
  }

  waitForSignal<T = unknown>(key: string, options: SignalWaitOptions = {}): Promise<T> {
    // oxlint-disable-next-line typescript/unbound-method -- as in step
    return waitForSignal(this.#caller(this.waitForSignal), key, options) as Promise<T>
  }

  race<B extends Branches>(key: string, branches: B): Promise<RaceResult<B>> {
    // oxlint-disable-next-line typescript/unbound-method -- as in step
    return runBranches('race', this.#branching(this.race), key, branches)
  }

  all<B extends Branches>(key: string, branches: B): Promise<AllResults<B>> {
    // oxlint-disable-next-line typescript/unbound-method -- as in step
    return runBranches('all', this.#branching(this.all), key, branches)
  }

  requestApproval<T = unknown>(
    key: string,
    artifact: unknown,
    options?: ApprovalOptions,
  ): Promise<Approval<T>> {
    // oxlint-disable-next-line typescript/unbound-method -- as in step
    const caller = this.#caller(this.requestApproval)
    return requestApproval(caller, key, artifact, options) as Promise<Approval<T>>
  }

  onCleanup(hook: CleanupHook): () => void {
    if (typeof hook !== 'function') {
      throw new RuntimeError('invalid_argument', `a clean-up hook is a function, not ${show(hook)}`)
    }
    if (this.#attempt.closedBy === undefined && this.#scope.closedBy !== undefined) throw this.#scope.closedBy
    return this.#attempt.addHook(hook)
  }

  heartbeat(report?: { readonly progress?: unknown }): Promise<void> {
    return this.#pass.during(() => heartbeat(this.#scope, report))
  }

  emit(chunk: unknown): Promise<void> {
    return this.#pass.during(() => emit(this.#scope, chunk))
  }

  checkpoint(data: unknown): Promise<void> {
    return this.#pass.during(() => saveCheckpoint(this.#scope, data))
  }

  exec(command: string, args: readonly string[] = [], options: ExecOptions = {}): Promise<ExecResult> {
    const start = () => exec(this.#scope, command, args, options)
    const result = this.#madePass === undefined ? start() : this.#madePass.hold(start)
    return new Answer<ExecResult>(this.#scope, 'command', command).follow(result)
  }

  idempotencyKey(stepKey: string, input?: unknown): string {
    const { digest } = this.#attempt.parts.environment
    return idempotencyKey(
      digest,
      this.taskId,
      stepKey,
      input === undefined ? null : inputHashOf(digest, stepKey, input),
      this.#memos.rejections.length,
    )
  }

  get #pass(): Pass {
    this.#madePass ??= new Pass(this.#attempt, this.#memos)
    return this.#madePass
  }

  #caller(callee: Callee): WaitCaller {
    return { pass: this.#pass, scope: this.#scope, callee }
  }

  #branching(callee: Callee): BranchCaller {
    const pass = this.#pass
    const contextOf = (scope: Scope) => new HandlerContext(scope, this.#submission, this.#memos, pass)
    return { pass, scope: this.#scope, callee, contextOf }
  }
}

function logOf(attempt: Attempt): TaskLog {
  return {
    debug: (message, fields) => attempt.logForHandler('debug', message, fields),
    info: (message, fields) => attempt.logForHandler('info', message, fields),
    warn: (message, fields) => attempt.logForHandler('warn', message, fields),
    error: (message, fields) => attempt.logForHandler('error', message, fields),
  }
}

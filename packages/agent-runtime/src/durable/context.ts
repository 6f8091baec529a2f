import {
  compareOversight,
  type Environment,
  type HandedOver,
  idempotencyKey,
  isRecord,
  type Lane,
  type OversightMode,
  type PipelineTerms,
  RuntimeError,
  show,
  type SupervisorTerms,
  type Usage,
  usageSum,
} from '@ku0/agent-runtime-core'
import type { Host, HostParts } from './host.ts'
import type { ReplayTrail } from './pass/replay-watch.ts'
import type { SubmissionData } from './child/submission-data.ts'
import type {
  AllResults,
  Approval,
  ApprovalOptions,
  BranchesOptions,
  Branches,
  ChildTask,
  CleanupHook,
  ExecOptions,
  ExecResult,
  Feedback,
  RaceResult,
  SignalWaitOptions,
  SpawnOptions,
  StepHandle,
  TaskContext,
  TaskLog,
} from '../api/task-context.ts'
import type { Heartbeat } from '../api/profiles.ts'
import type { Schemas } from '../api/exchange.ts'
import type { TaskType } from '../api/task-type.ts'
import type { PipelineEvent, PublishOptions, ReceiveOptions } from '../api/pipelines.ts'
import type { TaskFailure } from '../api/recovery.ts'
import { Answer } from './pass/answer.ts'
import { feedbackOf, requestApproval } from './wait/approvals.ts'
import { type BranchCaller, runBranches } from './branch/branches.ts'
import { saveCheckpoint } from './checkpoint.ts'
import { callChild, type ChildCaller, spawnChild, superviseChild } from './child/children.ts'
import { type FirstChild, outputsOf, supervise } from './child/supervise.ts'
import { exec } from './exec/exec.ts'
import { failureIn } from './failure.ts'
import { callOther } from './child/call-other.ts'
import { runPipeline, type StageTask } from './pipeline/run-pipeline.ts'
import { inputHashOf } from './step/idempotency.ts'
import { surroundingStep } from './step/inside-step.ts'
import { emit } from './emit.ts'
import { heartbeat } from './progress.ts'
import { type Memos, noMemos } from './pass/memos.ts'
import { patched } from './patched.ts'
import { ready } from './ready.ts'
import { checkKey, Pass, type PassRules } from './pass/pass.ts'
import type { Callee } from './pass/key-use.ts'
import type { Scope } from './pass/scope.ts'
import { runStep } from './step/step.ts'
import { sleep, sleepUntil, type WaitCaller, waitForSignal } from './wait/wait-calls.ts'

/**
 * The context of one pass through a handler, or of a branch in it. Parts that are rarely needed are created
 * on first use.
 */
export class HandlerContext implements TaskContext {
  readonly #attempt: Host
  readonly #submission: SubmissionData
  readonly #memos: Memos
  readonly #rules: PassRules
  readonly #scope: Scope
  #madePass: Pass | undefined
  #log: TaskLog | undefined

  /** `pass` is the pass of the scope. */
  constructor(scope: Scope, submission: SubmissionData, memos: Memos, rules: PassRules, pass?: Pass) {
    this.#attempt = scope.attempt
    this.#submission = submission
    this.#memos = memos
    this.#rules = rules
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
    const { attempt } = this.#attempt.claim
    // What a handler does only in a later try is not a sign that its code has changed.
    if (attempt > 1 && this.#memos !== noMemos) this.#pass.wentLive()
    return attempt
  }
  get failure(): TaskFailure | undefined {
    const { claim, parts } = this.#attempt
    const failure = failureIn(this.#memos, parts.values, claim.attempt)
    // What a handler does about a failure is not a sign that its code has changed.
    if (failure !== undefined) this.#pass.wentLive()
    return failure
  }
  get fencingToken(): number {
    return this.#attempt.claim.fencingToken
  }
  get lane(): Lane {
    return this.#attempt.claim.lane
  }
  get model(): string | undefined {
    const { model } = this.#memos
    if (model === undefined) return this.#submission.model
    // What a handler does only with another model is not a sign that its code has changed.
    this.#pass.wentLive()
    return model
  }
  get tools(): readonly string[] {
    return this.#submission.tools ?? []
  }
  get oversight(): OversightMode {
    const [own, least = own] = [this.#rules.oversight, this.#submission.oversight]
    return compareOversight(least, own) > 0 ? least : own
  }
  get labels(): Readonly<Record<string, string>> {
    return this.#submission.labels ?? {}
  }
  get schedule(): string | undefined {
    return this.#submission.schedule
  }
  get scheduledFor(): number | undefined {
    return this.#submission.scheduledFor
  }
  get restored(): unknown {
    const { checkpoint } = this.#attempt.claim
    if (checkpoint === undefined) return undefined
    this.#pass.startsFromSnapshot()
    return this.#attempt.parts.values.decode(checkpoint)
  }
  get signal(): AbortSignal {
    return this.#scope.signal
  }
  get feedback(): readonly Feedback[] {
    if (this.#memos.rejections.length === 0) return []
    const feedback = feedbackOf(this.#pass)
    // What a handler does about a rejection is not a sign that its code has changed.
    if (feedback.length > 0) this.#pass.wentLive()
    return feedback
  }
  get log(): TaskLog {
    this.#log ??= logOf(this.#attempt)
    return this.#log
  }

  step(key: unknown, ...rest: readonly unknown[]): Promise<never> {
    const [options, fn] = rest.length < 2 ? [undefined, rest[0]] : rest
    return runStep(this.#pass, this.#scope, [key, options, fn], this.#callee('step'))
  }

  now(key: string): Promise<number> {
    return this.#drawn('now', key, ({ clock }) => Math.floor(clock.now()))
  }

  random(key: string): Promise<number> {
    return this.#drawn('random', key, ({ random }, subject) => random.next(subject))
  }

  uuid(key: string): Promise<string> {
    return this.#drawn('uuid', key, ({ ids }, subject) => ids.uuid(subject))
  }

  sleep(key: string, ms: number): Promise<void> {
    return sleep(this.#caller('sleep'), key, ms)
  }

  sleepUntil(key: string, when: Date | number): Promise<void> {
    return sleepUntil(this.#caller('sleepUntil'), key, when)
  }

  waitForSignal(key: string, options: SignalWaitOptions = {}): Promise<never> {
    return waitForSignal(this.#caller('waitForSignal'), this.#rules, key, options) as Promise<never>
  }

  race<B extends Branches>(key: string, branches: B, options?: BranchesOptions): Promise<RaceResult<B>> {
    return runBranches('race', this.#branching('race'), key, branches, options)
  }

  all<B extends Branches>(key: string, branches: B, options?: BranchesOptions): Promise<AllResults<B>> {
    return runBranches('all', this.#branching('all'), key, branches, options)
  }

  requestApproval(key: string, artifact: unknown, options?: ApprovalOptions): Promise<Approval<never>> {
    const caller = this.#caller('requestApproval')
    const terms = { ...this.#rules, least: this.#submission.oversight }
    return requestApproval(caller, terms, key, artifact, options) as Promise<Approval<never>>
  }

  patched(id: string): Promise<boolean> {
    return patched(this.#caller('patched'), id)
  }

  ready(): Promise<void> {
    return ready(this.#pass, this.#scope, this.#callee('ready'))
  }

  spawn(key: string, task: unknown, input: unknown, options?: SpawnOptions): Promise<ChildTask<never>> {
    return spawnChild(this.#spawning('spawn'), key, task, input, options) as Promise<ChildTask<never>>
  }

  call(key: string, task: unknown, input: unknown, options?: SpawnOptions): Promise<never> {
    return callChild(this.#spawning('call'), key, task, input, options) as Promise<never>
  }

  onCleanup(hook: CleanupHook): () => void {
    if (typeof hook !== 'function') {
      throw new RuntimeError('invalid_argument', `a clean-up hook must be a function, not ${show(hook)}`)
    }
    if (this.#attempt.closedBy === undefined && this.#scope.closedBy !== undefined) throw this.#scope.closedBy
    return this.#attempt.addHook(hook)
  }

  heartbeat(report?: Heartbeat): Promise<void> {
    return this.#pass.gate.during(() => heartbeat(this.#scope, report))
  }

  charge(usage: Usage): void {
    const step = this.#madePass === undefined ? undefined : surroundingStep(this.#madePass)
    if (step !== undefined) return step.charge(usage)
    const sum = usageSum('charge', usage)
    if (this.#scope.closedBy !== undefined) throw this.#scope.closedBy
    this.#attempt.usage.charge(sum)
  }

  emit(chunk: unknown): Promise<void> {
    return this.#pass.gate.during(() => emit(this.#pass, this.#scope, this.#rules, chunk))
  }

  checkpoint(data: unknown): Promise<void> {
    return this.#pass.gate.during(() => saveCheckpoint(this.#scope, data))
  }

  exec(command: string, args: readonly string[] = [], options: ExecOptions = {}): Promise<ExecResult> {
    const answer = new Answer<ExecResult>(this.#scope, 'command', command)
    if (this.#scope.isLate) return answer.promise
    if (this.#attempt.replay !== undefined && this.#pass.endsHere({ call: 'command', key: command }))
      return answer.promise
    const start = () => {
      this.#madePass?.wentLive()
      return exec(this.#scope, command, args, options)
    }
    const hasPast = this.#madePass !== undefined || this.#memos !== noMemos
    return answer.follow(hasPast ? this.#pass.gate.hold(start) : start())
  }

  idempotencyKey(stepKey: string, input?: unknown): string {
    checkKey(stepKey, 'step')
    const known = this.#memos.effectKeys.get(stepKey)
    if (known !== undefined) return known
    const { digest } = this.#attempt.parts.environment
    return idempotencyKey(
      digest,
      this.taskId,
      stepKey,
      input === undefined ? null : inputHashOf(digest, stepKey, input),
      this.#memos.rejections.length,
    )
  }

  /** True if code and history differ when the handler ends: then the task is parked. */
  returned(): boolean {
    if (this.#memos !== noMemos && this.#pass.returned()) return true
    this.#madePass?.waits.close()
    return false
  }

  /** Whether the handler has made calls that a replay would compare. */
  get hasCalls(): boolean {
    return this.#madePass !== undefined
  }

  /** The facts that a replay needs when the handler has ended. */
  get replayTrail(): ReplayTrail {
    return this.#pass.replayTrail
  }

  publish(type: string, data: unknown, options?: PublishOptions<never>): Promise<void> {
    return this.#pass.stage.publish(this.#caller('publish'), type, [data], options)
  }

  publishAll(types: unknown, events: readonly unknown[], options?: PublishOptions<never>): Promise<void> {
    return isRecord(types)
      ? this.#pass.stage.publishMixed(this.#caller('publishAll'), types as Schemas, events, options)
      : this.#pass.stage.publish(this.#caller('publishAll'), types, events, options)
  }

  receive(types: unknown, options?: ReceiveOptions): Promise<readonly PipelineEvent<never, never>[]> {
    return this.#pass.stage.receive(this.#caller('receive'), types, options) as Promise<
      readonly PipelineEvent<never, never>[]
    >
  }

  /** For pipelines: see {@link runPipeline}. */
  pipeline(terms: PipelineTerms, stages: readonly StageTask[]): Promise<Record<string, unknown>> {
    return runPipeline(this.#spawning('pipeline'), terms, stages)
  }

  /** For supervisors: see {@link supervise}. */
  supervise(
    terms: SupervisorTerms,
    children: readonly FirstChild[],
  ): Promise<ReadonlyMap<string, ChildTask>> {
    return supervise(this.#spawning('supervise'), terms, children)
  }

  /** For supervisors: see {@link outputsOf}. */
  outputsOf(children: ReadonlyMap<string, ChildTask>): Promise<Record<string, unknown>> {
    return outputsOf(this.#attempt.parts, children)
  }

  /** In place of the handler: the task is handed over to another one, whose output is its own. Source: `docs/semantics.md 14.3`. */
  callOther(other: HandedOver): Promise<unknown> {
    return callOther(this.#spawning('callOther'), other)
  }

  /** For marketplaces: a step under a key of the runtime's own. */
  ownStep<T>(key: string, fn: (step: StepHandle) => T | Promise<T>): Promise<T> {
    return runStep(this.#pass, this.#scope, [key, undefined, fn], this.#callee('ownStep'), key)
  }

  /** For marketplaces: a child under a key of the runtime's own. */
  ownSpawn(key: string, task: TaskType, input: unknown, options: SpawnOptions): Promise<ChildTask> {
    return superviseChild(this.#spawning('ownSpawn'), key, task, input, options) as Promise<ChildTask>
  }

  /** For marketplaces: the parts of the runtime, for a step. */
  get parts(): HostParts {
    return this.#attempt.parts
  }

  /** For the runtime's own task types: whether an earlier pass spawned this child. */
  hasSpawned(key: string): boolean {
    return this.#memos.children.has(key)
  }

  /** For the runtime's own task types: how many waits whose keys begin with the prefix have ended. */
  waitsOver(prefix: string): number {
    return [...this.#memos.waits.keys()].filter((key) => key.startsWith(prefix)).length
  }

  /** A step of the handler whose result is the time or chance of the runtime. Source: `docs/semantics.md 7.8`. */
  #drawn<T>(
    method: 'now' | 'random' | 'uuid',
    key: string,
    draw: (environment: Environment, subject: string) => T,
  ): Promise<T> {
    const { environment } = this.#attempt.parts
    const fn = (step: StepHandle) => draw(environment, `${method}\n${step.idempotencyKey}`)
    return runStep(this.#pass, this.#scope, [key, undefined, fn], this.#callee(method))
  }

  get #pass(): Pass {
    this.#madePass ??= new Pass(this.#attempt, this.#memos, this.#rules)
    return this.#madePass
  }

  /** The function whose caller's stack frame names the call site: the method, or its replacement. */
  #callee(name: keyof HandlerContext): Callee {
    if (!Object.hasOwn(this, name)) return methods[name]
    return Object.getOwnPropertyDescriptor(this, name)?.value as Callee
  }

  #caller(method: keyof HandlerContext): WaitCaller {
    return { pass: this.#pass, scope: this.#scope, callee: this.#callee(method) }
  }

  #spawning(method: keyof HandlerContext): ChildCaller {
    return { ...this.#caller(method), submission: this.#submission }
  }

  #branching(method: keyof HandlerContext): BranchCaller {
    const pass = this.#pass
    const contextOf = (scope: Scope) =>
      new HandlerContext(scope, this.#submission, this.#memos, this.#rules, pass)
    return { pass, scope: this.#scope, callee: this.#callee(method), contextOf }
  }
}

function logOf(attempt: Host): TaskLog {
  return {
    debug: (message, fields) => attempt.logForHandler('debug', message, fields),
    info: (message, fields) => attempt.logForHandler('info', message, fields),
    warn: (message, fields) => attempt.logForHandler('warn', message, fields),
    error: (message, fields) => attempt.logForHandler('error', message, fields),
  }
}

/** The methods as they are written: the place of a call is found with them. */
const methods = ownMethods(HandlerContext.prototype)
for (const [name, method] of Object.entries(methods))
  Object.defineProperty(HandlerContext.prototype, name, {
    configurable: true,
    // Bound on first access, so that a handler may destructure its context: `async ({ step }, input) => …`.
    get(this: HandlerContext) {
      return method.bind(this as never)
    },
  })

function ownMethods(prototype: HandlerContext): Readonly<Record<keyof HandlerContext, Callee>> {
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype)).flatMap(([name, { value }]) =>
    typeof value === 'function' && name !== 'constructor' ? [[name, value as unknown]] : [],
  )
  return Object.fromEntries(own) as Record<keyof HandlerContext, Callee>
}

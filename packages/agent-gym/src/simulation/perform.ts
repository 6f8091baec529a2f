import {
  defineTask,
  type ProfileSetting,
  type ResourceLimits,
  TaskCanceled,
  type TaskContext,
  type TaskDefinition,
  TaskFailed,
  TaskRejected,
  TimeoutError,
} from '@ku0/agent-runtime'
import { z } from 'zod'
import { type Call, MAX_ATTEMPTS, type Program } from './program.ts'
import {
  failureOf,
  handOverTerms,
  type RecoveringPass,
  recoveringTasks,
  recoveryTerms,
} from './recoveries.ts'
import { type DoStep, type Structures, structuredTasks } from './structures.ts'
import { limits, MEASURED, profile } from './workload.ts'

/** What the functions of steps do outside: they take time, and are seen. */
export interface Outside {
  /** A function began; false: its process is dead, and nothing of it happens. */
  began(ctx: TaskContext, key: string, idempotencyKey: string): boolean
  /** A handler of a task with a table of recovery began. */
  begins(pass: RecoveringPass): void
  /** How often the function of this step has begun, in all processes. */
  runsOf(taskId: string, key: string): number
  sleep(ms: number): Promise<void>
  /** What runs of steps use up is charged. */
  readonly charges: boolean
}

/** What a handler returns: by key, what each of its calls came to. */
type Came = readonly (readonly [key: string, value: unknown])[]

/** The version of the code of a process: the second begins with one step more, behind `ctx.patched`. */
export type CodeVersion = 1 | 2

/**
 * The task types of a life, as the code of one process defines them: one, a measured one where anything is measured, and those of
 * supervisors and pipelines and those with tables of recovery, where there are any.
 */
export function simulatedTasks(
  outside: Outside,
  version: CodeVersion,
  { isMeasured, structures }: { readonly isMeasured: boolean; readonly structures: Structures },
): TaskDefinition[] {
  const plain = simulatedTask('program', {}, outside, version)
  const step: DoStep = (ctx, key, ms) =>
    performStep(ctx, outside, { call: 'step', key, ms, throws: 0, inDoubt: 'retry', deaf: false })
  return [
    plain,
    ...(isMeasured ? [simulatedTask(MEASURED, { profile, limits }, outside, version)] : []),
    ...structuredTasks(structures, plain, step),
    ...recoveringTasks(
      { ...(structures.recoveries ? recoveryTerms : {}), ...(structures.handOvers ? handOverTerms : {}) },
      (ctx, program) => performProgram(ctx, outside, version, program),
      (pass) => outside.begins(pass),
    ),
  ]
}

function simulatedTask(
  type: string,
  measure: { readonly profile?: ProfileSetting; readonly limits?: ResourceLimits },
  outside: Outside,
  version: CodeVersion,
): TaskDefinition {
  return defineTask(
    {
      type,
      ...measure,
      input: z.custom<Program>(),
      retry: { attempts: MAX_ATTEMPTS, backoff: { initialMs: 20, maxMs: 60 } },
    },
    (ctx, program) => performProgram(ctx, outside, version, program),
  ) as TaskDefinition
}

async function performProgram(
  ctx: TaskContext,
  outside: Outside,
  version: CodeVersion,
  { calls }: Program,
): Promise<Came> {
  if (version === 2 && (await ctx.patched('second')))
    await performStep(ctx, outside, {
      call: 'step',
      key: 'of the second',
      ms: 1,
      throws: 0,
      inDoubt: 'retry',
      deaf: false,
    })
  ctx.onCleanup(() => {})
  return performAll(ctx, outside, calls)
}

async function performAll(ctx: TaskContext, outside: Outside, calls: readonly Call[]): Promise<Came> {
  const came: (readonly [string, unknown])[] = []
  for (const call of calls) came.push(...(await perform(ctx, outside, call)))
  return came
}

async function perform(ctx: TaskContext, outside: Outside, call: Call): Promise<Came> {
  switch (call.call) {
    case 'step':
      return [await performStep(ctx, outside, call)]
    case 'together':
      return Promise.all(call.steps.map((step) => performStep(ctx, outside, step)))
    case 'race':
    case 'all': {
      const branches = Object.fromEntries(
        call.branches.map((calls, index) => [
          String(index),
          (branch: TaskContext) => performAll(branch, outside, calls),
        ]),
      )
      const value = await (call.call === 'race' ? ctx.race(call.key, branches) : ctx.all(call.key, branches))
      return [[call.key, value]]
    }
    case 'sleep':
      await ctx.sleep(call.key, call.ms)
      return []
    case 'signal': {
      const options = call.timeoutMs === undefined ? {} : { timeoutMs: call.timeoutMs }
      const value = await ctx.waitForSignal(call.key, options).catch(ifTimedOut)
      return [[call.key, value]]
    }
    case 'approval': {
      const patience =
        call.timeoutMs === undefined ? {} : ({ timeoutMs: call.timeoutMs, onTimeout: 'approve' } as const)
      const bound = call.maxRetries === undefined ? {} : { maxRetries: call.maxRetries }
      await ctx.requestApproval(call.key, `${ctx.taskId} ${call.key}`, { ...patience, ...bound })
      return []
    }
    case 'child': {
      const child = await ctx
        .spawn(call.key, 'program', call.program, {
          onParentEnd: call.onParentEnd,
          ...(call.tokens === undefined ? {} : { budget: { tokens: call.tokens } }),
        })
        .catch(ifRejected)
      if (child === undefined || !call.awaited) return []
      return [[call.key, await child.result().catch(ifOver)]]
    }
    case 'work':
      await outside.sleep(call.ms)
      return []
    case 'emit':
      await ctx.emit(call.chunk)
      return []
    case 'checkpoint':
      await ctx.checkpoint(call.data)
      return []
    case 'report':
      await ctx.heartbeat({ memoryBytes: call.memoryBytes, computeUs: call.computeUs })
      return []
    case 'throw':
      if (ctx.attempt <= call.attempts) throw new Error('as planned')
      return []
    case 'fail':
      if (ctx.attempt <= call.attempts) throw failureOf(call.as)
      return []
  }
}

async function performStep(
  ctx: TaskContext,
  outside: Outside,
  step: Extract<Call, { call: 'step' }>,
): Promise<readonly [string, unknown]> {
  const { key, ms, throws, inDoubt, deaf } = step
  const retry = { attempts: throws + 2, backoff: { initialMs: 10, maxMs: 20 } }
  // Whoever is asked has not seen the effect: it is done again.
  const doubt =
    inDoubt === 'verify'
      ? { inDoubt, verify: () => ({ done: false }) as const }
      : { inDoubt: 'retry' as const }
  const value = await ctx.step(key, { ...doubt, retry }, async (it) => {
    const { idempotencyKey, signal } = it
    if (!outside.began(ctx, key, idempotencyKey)) return new Promise<never>(() => {})
    const run = outside.runsOf(ctx.taskId, key)
    if (outside.charges) it.charge({ tokens: 10 + (ms % 90), cost: 0.5 + ms / 100 })
    if (ms > 0) await (deaf ? outside.sleep(ms) : Promise.race([outside.sleep(ms), abortOf(signal)]))
    if (run <= throws) throw new Error(`run ${run} of ${throws} that throw`)
    // Of each run another: so that one that stands in for another shows.
    return `${key}: ${idempotencyKey.slice(0, 6)} by run ${run}`
  })
  return [key, value]
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(signal.reason as Error)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}

function ifTimedOut(error: unknown): string {
  if (error instanceof TimeoutError) return 'timed out'
  throw error
}

function ifRejected(error: unknown): undefined {
  if (error instanceof TaskRejected) return undefined
  throw error
}

function ifOver(error: unknown): string {
  if (error instanceof TaskFailed || error instanceof TaskCanceled || error instanceof TaskRejected)
    return error.name
  throw error
}

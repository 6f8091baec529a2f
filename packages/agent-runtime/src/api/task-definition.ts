import type { BudgetOptions, Lane, OversightMode, RecoveryPolicy, RetryPolicy } from '@ku0/agent-runtime-core'
import type { Exchange, Schemas } from './exchange.ts'
import type { TaskProfile } from './profiles.ts'
import type { RateLimitRule } from './rate-limit-rule.ts'
import type { OutputOf, Schema } from './schema.ts'
import type { TaskContext } from './task-context.ts'
import type { ErrorClass, TaskType } from './task-type.ts'

/**
 * A task type: its schemas, its defaults and its handler. `Input` is what is submitted, `Output` is the type
 * of the result.
 */
export interface TaskDefinition<
  Type extends string = string,
  Input = unknown,
  Output = unknown,
  X extends Exchange = Exchange,
> extends TaskType<Type, Input, Output, X> {
  readonly output: Schema | undefined
  readonly signals: Schemas | undefined
  readonly approvals: Schemas | undefined
  readonly emits: Schema | undefined
  readonly lane: Lane
  /** The lane of submissions with a `dueAt` or `delayMs`. */
  readonly delayedLane: Lane
  readonly timeoutMs: number | undefined
  readonly abortGraceMs: number | undefined
  readonly profile: TaskProfile | undefined
  readonly model: string | undefined
  readonly budget: BudgetOptions | undefined
  readonly tools: readonly string[] | undefined
  readonly retry: RetryPolicy | undefined
  readonly recovery: RecoveryPolicy | undefined
  readonly rateLimited: RateLimitRule | undefined
  readonly replay: 'by-key' | 'strict'
  readonly errors: readonly ErrorClass[]
  readonly oversight: OversightMode
  readonly isolation: 'inline' | 'thread' | 'process'
  readonly module: string | undefined
  readonly memoryMb: number | undefined
  readonly handler: (ctx: TaskContext, input: never) => unknown
}

/** A task's result: what its output schema returns, or without one what its handler returns. */
export type ResultOf<Output extends Schema | undefined, Returned> = Output extends Schema
  ? OutputOf<Output>
  : Awaited<Returned>

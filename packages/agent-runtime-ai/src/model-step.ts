import { NonRetryableError, type StepHandle, type StepOptions, type TaskContext } from '@ku0/agent-runtime'
import { callError } from './call-error.ts'
import { openCall } from './call-names.ts'
import { LiveOutput } from './live-output.ts'
import type { LiveKind } from './stream-chunk.ts'
import type { ChargeOptions } from './token-usage.ts'

/** How calls become steps of the task. */
export interface CallOptions extends ChargeOptions {
  /**
   * The name of the calls, `model` by default: the steps are called `model 1`, `model 2`, … in the order in which a pass makes them. Calls that run side by side need
   * a name each.
   */
  readonly name?: string | undefined
  /** Tries in all and the waits between them, as for `ctx.step`: three tries by default. A call that a provider refuses for now is not one of them. */
  readonly retry?: StepOptions['retry'] | undefined
  /** The time of one try. */
  readonly timeoutMs?: number | undefined
  /** The kinds of pieces that are emitted while a stream comes; `['text']` by default, `false` for nothing. */
  readonly emit?: false | readonly LiveKind[] | undefined
  /** The model that waits when its provider says 429, as quotas name it. By default the task's `model`, and without one the id of the model that is called. */
  readonly quota?: string | undefined
  /** Stores a hash of what the model is asked: a later pass that asks something else in the same place parks the task. */
  readonly checkInput?: boolean | undefined
}

/** One call of a model. */
export interface ModelCall<T> {
  readonly model: string
  /** The input of the call, for `checkInput`. */
  readonly input: () => unknown
  /** The caller's own signal, which ends the call permanently. */
  readonly signal: AbortSignal | undefined
  readonly run: (step: ModelStep) => Promise<T>
}

/** One try of it. */
export interface ModelStep {
  readonly step: StepHandle
  /** Aborts for the task, for the time of the try and for the caller. */
  readonly signal: AbortSignal
  readonly live: LiveOutput
}

/** Makes a call of a model once in the life of the task and gives what was stored of it. */
export async function modelStep<T>(
  ctx: TaskContext,
  options: CallOptions,
  { model, input, signal, run }: ModelCall<T>,
): Promise<T> {
  const call = openCall(ctx, options.name ?? 'model')
  const kinds = new Set(options.emit === false ? [] : (options.emit ?? ['text' as const]))
  const quota = options.quota ?? ctx.model ?? model
  let tries = 0
  try {
    return await ctx.step(call.key, stepOptions(options, input), async (step) => {
      tries += 1
      const live = new LiveOutput(ctx, { step: call.key, pass: ctx.fencingToken, try: tries }, kinds)
      const either = AbortSignal.any(signal === undefined ? [step.signal] : [step.signal, signal])
      try {
        either.throwIfAborted()
        return await run({ step, signal: either, live })
      } catch (error) {
        if (step.signal.aborted) throw step.signal.reason
        if (signal?.aborted === true)
          throw new NonRetryableError(`the call of ${model} was aborted by its caller`, { cause: error })
        throw callError(error, { model, quota })
      }
    })
  } finally {
    call.close()
  }
}

function stepOptions(options: CallOptions, input: () => unknown): StepOptions {
  const { retry = { attempts: 3 }, timeoutMs, checkInput } = options
  return {
    retry,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(checkInput === true ? { input: input() } : {}),
  }
}

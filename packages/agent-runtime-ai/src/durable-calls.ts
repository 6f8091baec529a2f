import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider'
import type { TaskContext } from '@ku0/agent-runtime'
import { collectStream } from './collect-stream.ts'
import { type CallOptions, modelStep, type ModelStep } from './model-step.ts'
import { plain } from './plain.ts'
import { streamOf } from './replay-stream.ts'
import { resultOf, type StoredCall, storedCall, usageOf } from './stored-call.ts'
import { chargeTokens } from './token-usage.ts'

/** How the calls of a language model become steps of the task. */
export interface DurableCallOptions extends CallOptions {
  /**
   * Lets `generateText` stream, too: the model is asked for a stream, which is emitted while it comes, and the handler gets the whole. In a task this is better than
   * `streamText`, which keeps the error of a failed call to itself.
   */
  readonly stream?: boolean | undefined
}

/** Middleware for `wrapLanguageModel` of the AI SDK, by the shape of its models (specification v4), so that this package needs none of its types. */
export interface DurableCalls {
  readonly specificationVersion: 'v4'
  wrapGenerate<Params extends object, Result extends object>(call: {
    readonly params: Params
    readonly model: {
      readonly modelId: string
      doGenerate(params: Params): PromiseLike<Result>
    }
  }): Promise<Result>
  wrapStream<Params extends object, Result extends object>(call: {
    readonly params: Params
    readonly model: {
      readonly modelId: string
      doStream(params: Params): PromiseLike<Result>
    }
  }): Promise<Result>
}

/**
 * Makes each call of a language model a step of the task: `generateText`, `streamText`, and every turn of a loop with tools.
 *
 *     const model = wrapLanguageModel({ model: openai('gpt-5'), middleware: durableCalls(ctx) })
 *     const { text } = await generateText({ model, prompt })
 *
 * The result is stored, without bodies and headers, before the SDK gets it; a later pass gets the stored one and makes no call. A stream is emitted while it comes
 * (`ctx.emit`, see {@link readStream}); the SDK gets it when all of it is stored, each text in one piece. Tokens are charged to the step. The provider's errors become the
 * runtime's, and the runtime tries again: the SDK's own `maxRetries` finds nothing to do.
 *
 * The context is that of the handler or of a branch. Throws `NonRetryableError` for two calls of one name side by side, and what `ctx.step` throws.
 */
export function durableCalls(ctx: TaskContext, options: DurableCallOptions = {}): DurableCalls {
  const call = (
    params: LanguageModelV4CallOptions,
    modelId: string,
    ask: (step: ModelStep) => Promise<LanguageModelV4GenerateResult>,
  ): Promise<StoredCall> =>
    modelStep(ctx, options, {
      model: modelId,
      input: () => askedOf(params),
      signal: params.abortSignal,
      run: async (step) => {
        const stored = storedCall(await ask(step), { id: `call-${step.step.idempotencyKey}`, modelId })
        chargeTokens(step.step, usageOf(stored.usage), options)
        return stored
      },
    })

  const stream = ({ params, model }: ModelAndParams): Promise<StoredCall> =>
    call(params, model.modelId, async ({ signal, live }) => {
      live.start()
      const { stream: coming } = await model.doStream({ ...params, abortSignal: signal })
      const result = await collectStream(coming, (piece) => live.push(piece))
      await live.end()
      return result
    })
  const generate = ({ params, model }: ModelAndParams): Promise<StoredCall> =>
    call(params, model.modelId, async ({ signal }) => model.doGenerate({ ...params, abortSignal: signal }))

  const wrapGenerate = async (asked: ModelAndParams): Promise<LanguageModelV4GenerateResult> =>
    resultOf(await (options.stream === true ? stream(asked) : generate(asked)))
  const wrapStream = async (asked: ModelAndParams): Promise<LanguageModelV4StreamResult> => ({
    stream: streamOf(resultOf(await stream(asked))),
  })
  return { specificationVersion: 'v4', wrapGenerate, wrapStream } as unknown as DurableCalls
}

interface ModelAndParams {
  readonly params: LanguageModelV4CallOptions
  readonly model: Pick<LanguageModelV4, 'modelId' | 'doGenerate' | 'doStream'>
}

/** The input of a model call, as it is stored: headers name the versions of the SDK, and a signal is no data. */
function askedOf(params: LanguageModelV4CallOptions): unknown {
  return plain({ ...params, headers: undefined, abortSignal: undefined })
}

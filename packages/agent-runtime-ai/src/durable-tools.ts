import { RateLimited, type StepHandle, type TaskContext } from '@ku0/agent-runtime'
import { httpLimitIn } from '@ku0/agent-runtime-core'
import { uniqueKey } from './call-names.ts'
import { epochMs } from './system.ts'

/** A tool of the AI SDK, as far as it matters here. */
export interface ToolShape {
  execute?(input: never, options: never): unknown
}

export interface DurableToolOptions {
  /** The time of one execution. */
  readonly timeoutMs?: number | undefined
}

/**
 * Makes each execution of these tools a step of the task, `search call_1` by the tool's name and the id of the call. Its output is stored, and a later pass does not
 * execute it again. An error that a tool throws is stored as well and goes to the model, as the SDK has it, in every pass the same. A `RateLimited` error, and the HTTP answer 429 with a
 * time to wait, is waited for instead, and holds up the tasks that name the tool.
 *
 * The result of a tool has to be data that can be stored. A tool that calls the context itself (waits, children, approvals, other model calls) is no step: leave it out and
 * pass it beside these.
 */
export function durableTools<Tools extends Readonly<Record<string, ToolShape>>>(
  ctx: TaskContext,
  tools: Tools,
  options: DurableToolOptions = {},
): Tools {
  const durable = Object.entries(tools).map(([name, tool]) => [name, durableTool(ctx, name, tool, options)])
  return Object.fromEntries(durable) as Tools
}

function durableTool(
  ctx: TaskContext,
  name: string,
  tool: ToolShape,
  { timeoutMs }: DurableToolOptions,
): ToolShape {
  if (tool.execute === undefined) return tool
  const run = tool.execute.bind(tool) as (input: unknown, options: ToolCall) => unknown
  const limits = { ...(timeoutMs === undefined ? {} : { timeoutMs }), retry: { attempts: 1 } }
  const execute = async (input: unknown, call: ToolCall): Promise<unknown> => {
    const key = uniqueKey(ctx, `${name} ${call.toolCallId}`.slice(0, MAX_KEY_LENGTH))
    const ended = await ctx.step(key, limits, (step) =>
      runTool(name, step, call, (abortSignal) => run(input, { ...call, abortSignal })),
    )
    if ('output' in ended) return ended.output
    throw toError(ended.error)
  }
  return { ...tool, execute }
}

/** The arguments that an execution gets besides its input. */
interface ToolCall {
  readonly toolCallId: string
  readonly abortSignal?: AbortSignal | undefined
}

type ToolEnd = { readonly output: unknown } | { readonly error: ToolError }

interface ToolError {
  readonly name: string
  readonly message: string
}

async function runTool(
  name: string,
  step: StepHandle,
  { abortSignal }: ToolCall,
  run: (signal: AbortSignal) => unknown,
): Promise<ToolEnd> {
  const signals = abortSignal === undefined ? [step.signal] : [step.signal, abortSignal]
  try {
    return { output: await lastOf(run(AbortSignal.any(signals))) }
  } catch (error) {
    // The task has to stop, or the provider of the tool is to be waited for: neither is for the model to know.
    if (step.signal.aborted) throw step.signal.reason
    if (error instanceof RateLimited) throw error
    const retryAfterMs = httpLimitIn(error, epochMs())
    if (retryAfterMs !== undefined) throw new RateLimited({ tool: name, retryAfterMs }, { cause: error })
    return { error: toData(error) }
  }
}

/** A tool may yield what it has so far: the last is its output. */
async function lastOf(result: unknown): Promise<unknown> {
  if (!isAsyncIterable(result)) return result
  let last: unknown
  for await (const output of result) last = output
  return last
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

function toData(error: unknown): ToolError {
  return error instanceof Error
    ? { name: error.name, message: error.message }
    : { name: 'Error', message: String(error) }
}

function toError({ name, message }: ToolError): Error {
  return Object.assign(new Error(message), { name })
}

/** A step's key has 255 characters at most, and a number may come behind this. */
const MAX_KEY_LENGTH = 240

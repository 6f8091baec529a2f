import { NonRetryableError, RateLimited, RuntimeError } from '@ku0/agent-runtime'
import { httpLimitIn } from '@ku0/agent-runtime-core'
import { epochMs } from './system.ts'

/** The call that an error is about. */
export interface FailedCall {
  /** The model that was called, for messages. */
  readonly model: string
  /** The model whose tasks wait when the provider refuses for now. */
  readonly quota: string
}

/**
 * The error that a step throws after it called a model, so that the runtime decides whether it is tried again. Refused for a time that the provider names (429, 503, 529) is
 * {@link RateLimited}, of the model that the quota names. A failure that no second try can mend (other 4xx, no credit left, a missing key) is a {@link NonRetryableError}. Anything else is tried again as the step's
 * `retry` says. The error of the SDK is the cause; its class never reaches the SDK, which would try again by itself.
 */
export function callError(error: unknown, { model, quota }: FailedCall): Error {
  if (error instanceof RuntimeError) return error
  const status = statusOf(error)
  const said = `${model} ${status === undefined ? 'failed' : `answered ${status}`}: ${messageOf(error)}`
  const options = { cause: error, ...(status === undefined ? {} : { details: { status } }) }
  if (isFinal(status, error)) return new NonRetryableError(said, options)
  const retryAfterMs = httpLimitIn(error, epochMs())
  if (retryAfterMs === undefined) return new RuntimeError('handler_failed', said, options)
  return new RateLimited({ model: quota, retryAfterMs }, { ...options, message: said })
}

/** A second try of these can help: a timeout, a conflict, a request that came too early, a limit. */
const passing: ReadonlySet<number> = new Set([408, 409, 425, 429])
/** A 429 that no waiting lifts. */
const spent: ReadonlySet<unknown> = new Set(['insufficient_quota', 'billing_hard_limit_reached'])
/** The program has to be corrected: no provider was asked. */
const mistakes =
  /^AI_(InvalidArgument|InvalidPrompt|LoadAPIKey|LoadSetting|NoSuchModel|NoSuchProvider|UnsupportedFunctionality|UnsupportedModelVersion)Error$/

function isFinal(status: number | undefined, error: unknown): boolean {
  if (status === undefined) return mistakes.test(String(read(error, 'name')))
  if (status === 429) return codesOf(error).some((code) => spent.has(code))
  return status >= 400 && status < 500 && !passing.has(status)
}

function statusOf(error: unknown): number | undefined {
  const status = read(error, 'statusCode') ?? read(error, 'status')
  if (typeof status === 'number') return status
  const code = codesOf(error).find((it) => typeof it === 'string' && it in statuses)
  return code === undefined ? undefined : statuses[code as keyof typeof statuses]
}

/** The status of each error that arrives in the middle of a stream, by its name: the response itself had the status 200. */
const statuses = {
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  overloaded_error: 529,
  invalid_request_error: 400,
  invalid_prompt: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
} as const

function messageOf(error: unknown): string {
  const message = read(error, 'message')
  return typeof message === 'string' && message !== '' ? message : String(error)
}

/** Where the SDKs keep the code that the provider gave. */
function codesOf(error: unknown): readonly unknown[] {
  const inner = [error, read(error, 'error'), read(read(error, 'data'), 'error')]
  return inner.flatMap((of) => [read(of, 'code'), read(of, 'type')])
}

function read(holder: unknown, key: string): unknown {
  return typeof holder === 'object' && holder !== null
    ? (holder as Readonly<Record<string, unknown>>)[key]
    : undefined
}

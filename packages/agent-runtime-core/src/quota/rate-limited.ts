import { isReadable } from '../check/readable.ts'
import { type ErrorDetails, RuntimeError } from '../error/errors.ts'
import { quotaKeysOf } from './quota.ts'
import { isName, instead } from '../check/rules.ts'
import { MAX_DURATION_MS } from '../config/setting.ts'
import { show } from '../check/show.ts'

/** A provider's refusal of a call: what it limits, and for how long. */
export interface RateLimit {
  /**
   * The subject of the limit, as far as it is known. Each name is a quota key, whether or not a quota limits it.
   */
  readonly model?: string | undefined
  readonly tool?: string | undefined
  readonly client?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** From now on, 0 to a year in ms. */
  readonly retryAfterMs: number
}

const fields = ['model', 'tool', 'client', 'labels', 'retryAfterMs'] as const

/**
 * For handlers and steps to throw when a provider refuses a call for now (HTTP 429). No task of the store that names the model,
 * tool, client or label starts before `retryAfterMs` is over, in whichever process; and what threw it is run again then, which
 * is not one of its tries: a step that has a `retry` after a wait of the task, otherwise the task itself, in the same attempt, with
 * all its recorded steps. Below 100 ms it waits 100 ms. Where nothing is named, nothing but the task waits. As a cause of what is thrown it counts as well.
 *
 * Throws `invalid_argument`. Source: `docs/semantics.md 2.8`; `docs/quotas.md`.
 */
export class RateLimited extends RuntimeError {
  static {
    this.prototype.name = 'RateLimited'
  }

  readonly retryAfterMs: number
  /** `model:gpt-4`, `client:ada`, … */
  readonly quotaKeys: readonly string[]

  constructor(limit: RateLimit, options: ErrorDetails & { readonly message?: string } = {}) {
    const { retryAfterMs, quotaKeys } = readLimit(limit)
    const given: ErrorDetails & { readonly message?: string } = isReadable(options) ? options : {}
    const { message, details, ...rest } = given
    const of = quotaKeys.length === 0 ? '' : ` for ${quotaKeys.join(', ')}`
    super('rate_limited', message ?? `rate limited${of}: try again in ${retryAfterMs} ms`, {
      ...rest,
      details: { ...(isReadable(details) ? details : {}), retryAfterMs, quotaKeys },
    })
    this.retryAfterMs = retryAfterMs
    this.quotaKeys = quotaKeys
  }
}

/** The rate limit that an error reports, itself or through its causes. */
export function rateLimitIn(error: unknown): RateLimited | undefined {
  try {
    return limitBehind(error)
  } catch {
    // The thrown value may be a proxy or have getters that throw: then it reports no limit.
    return undefined
  }
}

function limitBehind(error: unknown): RateLimited | undefined {
  let at = error
  for (let depth = 0; depth <= MAX_CAUSES; depth++) {
    if (at instanceof RateLimited) return at
    at =
      at instanceof Error
        ? (at.cause ?? (at instanceof AggregateError ? at.errors[0] : undefined))
        : undefined
  }
  return undefined
}

const MAX_CAUSES = 4

/** The least wait before the call runs again. */
export const MIN_RETRY_AFTER_MS = 100

function readLimit(limit: unknown): { readonly retryAfterMs: number; readonly quotaKeys: readonly string[] } {
  if (!isReadable(limit))
    throw refused(`takes { model, tool, client, labels, retryAfterMs }, not ${show(limit)}`)
  for (const name of Object.keys(limit)) {
    if ((fields as readonly string[]).includes(name)) continue
    throw refused(`there is no ${name}${instead(name, fields)}`)
  }
  const { model, tool, client, labels, retryAfterMs } = limit as Partial<RateLimit>
  for (const [name, value] of Object.entries({ model, tool, client }))
    if (value !== undefined && !isName(value))
      throw refused(`${name} must be a string of 1 to 255 characters, not ${show(value)}`)
  if (labels !== undefined && !isLabels(labels))
    throw refused(`labels must be an object of strings, not ${show(labels)}`)
  if (typeof retryAfterMs !== 'number' || !(retryAfterMs >= 0 && retryAfterMs <= MAX_DURATION_MS))
    throw refused(
      `retryAfterMs must be a number of ms from 0 to ${MAX_DURATION_MS}, not ${show(retryAfterMs)}`,
    )
  const tools = tool === undefined ? [] : [tool]
  return { retryAfterMs: Math.ceil(retryAfterMs), quotaKeys: quotaKeysOf({ model, tools, client, labels }) }
}

function isLabels(value: unknown): boolean {
  return (
    isReadable(value) &&
    Object.entries(value).every(
      ([label, text]) => isName(label) && typeof text === 'string' && text.isWellFormed(),
    )
  )
}

function refused(what: string): RuntimeError {
  return new RuntimeError('invalid_argument', `RateLimited: ${what}`)
}

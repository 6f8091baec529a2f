import {
  describeError,
  type Environment,
  httpLimitIn,
  type RateLimit,
  RateLimited,
  rateLimitIn,
} from '@ku0/agent-runtime-core'
import type { RateLimitRule } from '../api/rate-limit-rule.ts'
import type { LogLevel } from '../api/logger.ts'

/**
 * Finds out which errors of one attempt are refusals of a provider. Each error is judged once, where it first
 * appears. Source: `docs/semantics.md 2.8`.
 */
export class RateLimits {
  #judged: WeakMap<object, RateLimited | 'none'> | undefined;

  /**
   * The rate limit that an error, or a cause of it, reports. The rule of the step comes before the rules of
   * the task type and of the program.
   */
  in(host: RateLimitHost, error: unknown, rule: RateLimitRule | undefined): RateLimited | undefined {
    const thrown = rateLimitIn(error)
    if (thrown !== undefined) return thrown
    const before = this.#before(error)
    if (before !== undefined) return before === 'none' ? undefined : before
    const limit = judge(host, error, rule ?? host.parts.rateLimited)
    const limited = limit === undefined ? undefined : new RateLimited(limit)
    if (typeof error === 'object' && error !== null) {
      this.#judged ??= new WeakMap()
      this.#judged.set(error, limited ?? 'none')
    }
    return limited
  }

  /** What a handler rethrows is usually what one of its steps threw. */
  #before(error: unknown): RateLimited | 'none' | undefined {
    let at = error
    for (let depth = 0; depth <= MAX_CAUSES && this.#judged !== undefined; depth += 1) {
      if (typeof at !== 'object' || at === null) return undefined
      const judged = this.#judged.get(at)
      if (judged !== undefined) return judged
      at = causeOf(at)
    }
    return undefined
  }
}

/** What runs the pass in which the errors appear. */
interface RateLimitHost {
  readonly model: string | undefined
  readonly parts: { readonly environment: Environment; readonly rateLimited: RateLimitRule | undefined }
  log(level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>): void
}

const MAX_CAUSES = 4
/** The wait after a limit that a rule reports without a time. */
const UNKNOWN_MS = 1_000

function judge(host: RateLimitHost, error: unknown, rule: RateLimitRule | undefined): RateLimit | undefined {
  const { parts } = host
  const retryAfterMs = httpLimitIn(error, parts.environment.clock.now())
  const limit = (ms: number): RateLimit => {
    const { model } = host
    return { retryAfterMs: ms, ...(model === undefined ? {} : { model }) }
  }
  const found = retryAfterMs === undefined ? undefined : limit(retryAfterMs)
  if (rule === undefined) return found
  try {
    const answer = rule(error, found)
    if (answer === undefined) return found
    if (typeof answer === 'boolean') return answer ? (found ?? limit(UNKNOWN_MS)) : undefined
    // Throws if the answer is not a valid limit.
    void new RateLimited(answer)
    return answer
  } catch (cause) {
    host.log('warn', 'rateLimited has failed: what the error itself says counts', {
      error: describeError(cause),
    })
    return found
  }
}

function causeOf(error: object): unknown {
  try {
    return (error as { readonly cause?: unknown }).cause
  } catch {
    return undefined
  }
}

import type { RateLimit } from '@ku0/agent-runtime-core'

/**
 * Decides whether an error is the refusal of a provider that wants to be asked again later. `found` is the limit that the error itself describes as an HTTP answer: 429 with the time to come back, or 503 and 529 with `retry-after`, for the task's model. The answer is a `RateLimit` (what
 * the limit is on, and for how long), `false` for an ordinary error, `true` for a limit (as `found` says, or of a second), and undefined
 * for what was found. An error that it throws is logged, and what was found counts. A `RateLimited` that was thrown is one in any case. Source:
 * `docs/quotas.md`.
 */
export type RateLimitRule = (error: unknown, found: RateLimit | undefined) => RateLimit | boolean | undefined

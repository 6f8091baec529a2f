import { httpFactsIn, type HttpFacts } from '../error/http.ts'
import { read } from '../error/record.ts'
import { MAX_DURATION_MS } from '../config/setting.ts'

/**
 * How long a provider refuses for, in ms, if an error or a cause of it is its HTTP response: 429, or 503 and
 * 529 with a `retry-after`. A 429 that does not name a time to come back, by `retry-after` or by the reset of
 * an exhausted limit, does not count: nobody knows whether waiting helps. One with `x-should-retry: false` or
 * `insufficient_quota` says that it does not help, and does not count either. `now` is epoch ms. Never
 * throws. Source: `docs/semantics.md 2.8`.
 */
export function httpLimitIn(error: unknown, now: number): number | undefined {
  let at = error
  for (let depth = 0; depth <= MAX_CAUSES; depth += 1) {
    const facts = httpFactsIn(at)
    if (facts !== undefined) return waitOf(facts, read(at, 'code'), now)
    at = beneath(at)
  }
  return undefined
}

const MAX_CAUSES = 4

/** The cause; of several tries (the AI SDK has them in `errors` and the last of them in `lastError`) the last. */
function beneath(error: unknown): unknown {
  try {
    const { cause, lastError, errors } = error as Record<string, unknown>
    return cause ?? lastError ?? (Array.isArray(errors) ? errors[0] : undefined)
  } catch {
    return undefined
  }
}

function waitOf({ status, headers = {} }: HttpFacts, code: unknown, now: number): number | undefined {
  if (status !== 429 && status !== 503 && status !== 529) return undefined
  if (headers['x-should-retry'] === 'false' || code === 'insufficient_quota') return undefined
  const wait = retryAfter(headers, now) ?? (status === 429 ? resetOf(headers, now) : undefined)
  return wait === undefined ? undefined : Math.min(Math.max(0, Math.ceil(wait)), MAX_DURATION_MS)
}

/** In ms, seconds or as a date (RFC 9110, 10.2.3). */
function retryAfter(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const ms = headers['retry-after-ms'] ?? headers['x-ms-retry-after-ms']
  if (ms !== undefined && isNumber(ms)) return Number(ms)
  const given = headers['retry-after']
  if (given === undefined) return undefined
  if (isNumber(given)) return Number(given) * 1_000
  const at = Date.parse(given)
  return Number.isNaN(at) ? undefined : at - now
}

/** When the last of the limits is reset of which nothing remains. */
function resetOf(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const waits = Object.entries(headers)
    .filter(([name, value]) => name.includes('remaining') && value.trim() === '0')
    .map(([name]) => untilReset(headers[name.replace('remaining', 'reset')], now))
    .filter((wait) => wait !== undefined)
  return waits.length === 0 ? undefined : Math.max(...waits)
}

/** Epoch seconds, seconds from now, a date, or a duration such as `6m0s` and `20ms`. */
function untilReset(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  if (isNumber(text)) return Number(text) > 1e9 ? Number(text) * 1_000 - now : Number(text) * 1_000
  const [whole, h = 0, m = 0, s = 0, ms = 0] =
    /^(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:(\d+)ms)?$/.exec(text) ?? []
  if (whole !== undefined && whole !== '')
    return Number(h) * 3_600_000 + Number(m) * 60_000 + Number(s) * 1_000 + Number(ms)
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at - now
}

function isNumber(text: string): boolean {
  return /^\s*\d+(\.\d+)?\s*$/.test(text)
}

import { epochMs } from './system.ts'

/** Reads a header by its name in small letters. */
export type HeaderReader = (name: string) => string | undefined

/** The wait after a refusal that names no time. */
const DEFAULT_WAIT_MS = 10_000
/** No refusal blocks a model for longer. */
const MAX_WAIT_MS = 24 * 60 * 60 * 1_000

/**
 * How long a provider asks to wait, in ms; undefined where its headers do not say. `retry-after-ms` and `retry-after` go first, then the time at which a limit that
 * is used up begins anew (`x-ratelimit-reset-requests` and `-tokens`, `anthropic-ratelimit-…-reset`).
 */
export function retryAfterMs(header: HeaderReader): number | undefined {
  const ms = inMs(header('retry-after-ms'), 1) ?? retryAfter(header) ?? resetAfter(header)
  return ms === undefined ? undefined : Math.min(Math.max(0, ms), MAX_WAIT_MS)
}

/** The same, for a refusal that has to be waited for in any case. */
export function waitAfter(header: HeaderReader): number {
  return retryAfterMs(header) ?? DEFAULT_WAIT_MS
}

function retryAfter(header: HeaderReader): number | undefined {
  const value = header('retry-after')
  return inMs(value, 1_000) ?? untilDate(value, header)
}

/** The provider's own clock is the one that its date is by. */
function untilDate(value: string | undefined, header: HeaderReader): number | undefined {
  const until = Date.parse(value ?? '')
  if (Number.isNaN(until)) return undefined
  const said = Date.parse(header('date') ?? '')
  return until - (Number.isNaN(said) ? epochMs() : said)
}

function resetAfter(header: HeaderReader): number | undefined {
  const waits = limits.flatMap(([remaining, reset]) => {
    if (Number(header(remaining) ?? 1) > 0) return []
    const value = header(reset)
    return duration(value) ?? untilDate(value, header) ?? []
  })
  return waits.length === 0 ? undefined : Math.max(...waits)
}

const limits = [
  ...['requests', 'tokens'].map((of) => [`x-ratelimit-remaining-${of}`, `x-ratelimit-reset-${of}`] as const),
  ...['requests', 'tokens', 'input-tokens', 'output-tokens'].map(
    (of) => [`anthropic-ratelimit-${of}-remaining`, `anthropic-ratelimit-${of}-reset`] as const,
  ),
]

function inMs(value: string | undefined, unit: number): number | undefined {
  if (value === undefined || !/^\s*\d+(\.\d+)?\s*$/.test(value)) return undefined
  return Number(value) * unit
}

/** `6m0s`, `1.5s`, `20ms` in ms. */
function duration(value: string | undefined): number | undefined {
  const [text, h, m, s, ms] = /^(?:(\d+)h)?(?:(\d+)m)?(?:([\d.]+)s)?(?:([\d.]+)ms)?$/.exec(value ?? '') ?? []
  if (text === undefined || text === '') return undefined
  return Number(h ?? 0) * 3_600_000 + Number(m ?? 0) * 60_000 + Number(s ?? 0) * 1_000 + Number(ms ?? 0)
}

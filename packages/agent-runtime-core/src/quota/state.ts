import { type QuotaConfig, windowStart } from './quota.ts'
import { inWindow, isBlocked, quotaRule, type QuotaCounters, shortAtDispatch } from './room.ts'

/** A quota as it stands. Source: `docs/semantics.md 2.8`. */
export interface QuotaState {
  /** `model:gpt-4`, `tool:browser`, `client:ada`, `label:team=alpha`. */
  readonly key: string
  /** Tasks that hold it. */
  readonly queued: number
  readonly running: number
  readonly maxInFlight?: number
  /** For a limit on a window: what the current window holds. */
  readonly window?: QuotaWindow
  /** Epoch ms. Nothing that holds it starts before: its provider said so. */
  readonly blockedUntil?: number
}

/** The current window of a quota; times are epoch ms. */
export interface QuotaWindow {
  readonly startedAt: number
  /** When the next window begins, with counts of 0. */
  readonly resetsAt: number
  readonly tasks: number
  readonly maxTasks?: number
  /** Reserved, and charged beyond that. */
  readonly tokens: number
  readonly maxTokens?: number
}

const DEFAULT_WINDOW_MS = 60_000

/** The meaning of a quota's counters at a moment. */
export function quotaStateOf(
  config: QuotaConfig | undefined,
  counters: QuotaCounters & { readonly key: string },
  at: number,
): QuotaState {
  const { key, queued, running, blockedUntil } = counters
  const rule = quotaRule(config, key)
  const { maxInFlight, perWindow, tokensPerWindow } = rule ?? {}
  const windowed = perWindow !== undefined || tokensPerWindow !== undefined
  return {
    key,
    queued,
    running,
    ...(maxInFlight === undefined ? {} : { maxInFlight }),
    ...(windowed ? { window: windowOf(config, counters, at, { perWindow, tokensPerWindow }) } : {}),
    ...(isBlocked(counters, at) ? { blockedUntil } : {}),
  }
}

/**
 * Why a quota keeps a queued task that needs this many tokens from starting: in words, and until when at
 * least, if that is known.
 */
export function quotaObstacle(
  config: QuotaConfig | undefined,
  counters: QuotaCounters & { readonly key: string },
  at: number,
  tokens: number,
): { readonly summary: string; readonly until?: number } | undefined {
  const { key, blockedUntil } = counters
  if (isBlocked(counters, at))
    return {
      summary: `quota ${key} is blocked until ${new Date(blockedUntil).toISOString()}, as its provider asked`,
      until: blockedUntil,
    }
  const rule = quotaRule(config, key)
  const windowMs = config?.windowMs ?? DEFAULT_WINDOW_MS
  const start = windowStart(at, windowMs)
  const short = rule === undefined ? undefined : shortAtDispatch(rule, counters, start, tokens)
  if (short === undefined) return undefined
  if (short.limit === 'maxInFlight') {
    const { running } = counters
    const holders = running === 1 ? '1 running task holds it' : `${running} running tasks hold it`
    return { summary: `quota ${key} has no room: ${holders}` }
  }
  const until = start + windowMs
  return {
    summary: `quota ${key} has no room in this window, which ends at ${new Date(until).toISOString()}`,
    until,
  }
}

function windowOf(
  config: QuotaConfig | undefined,
  counters: QuotaCounters,
  at: number,
  { perWindow, tokensPerWindow }: { perWindow: number | undefined; tokensPerWindow: number | undefined },
): QuotaWindow {
  const windowMs = config?.windowMs ?? DEFAULT_WINDOW_MS
  const startedAt = windowStart(at, windowMs)
  const { windowCount, windowTokens } = inWindow(counters, startedAt)
  return {
    startedAt,
    resetsAt: startedAt + windowMs,
    tasks: windowCount,
    ...(perWindow === undefined ? {} : { maxTasks: perWindow }),
    tokens: windowTokens,
    ...(tokensPerWindow === undefined ? {} : { maxTokens: tokensPerWindow }),
  }
}

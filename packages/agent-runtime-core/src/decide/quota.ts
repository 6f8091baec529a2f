import { limitFor, quotaKey, type QuotaConfig } from '../quota.ts'

/** One limit as it applies to one key. */
export interface QuotaRule {
  /** `model:NAME` or `tool:NAME`. */
  readonly key: string
  readonly maxInFlight?: number | undefined
  readonly perWindow?: number | undefined
  readonly tokensPerWindow?: number | undefined
  readonly onExceeded: 'reject' | 'defer'
}

/** The counters of one key. A window's counts hold for `windowStart` only. */
export interface QuotaCounters {
  readonly queued: number
  readonly running: number
  readonly windowStart: number
  readonly windowCount: number
  readonly windowTokens: number
}

/** The rules a task naming a model and tools comes under; each key once. None when quotas are unset. Source: Track AA, Quota Rules. */
export function quotaRules(
  config: QuotaConfig | undefined,
  model: string | undefined,
  tools: readonly string[],
): readonly QuotaRule[] {
  if (config === undefined) return noRules
  const keys = new Set<string>()
  if (model !== undefined) keys.add(quotaKey('model', model))
  for (const tool of tools) keys.add(quotaKey('tool', tool))
  return [...keys].flatMap((key) => quotaRule(config, key) ?? [])
}

/** The rule behind a quota key; undefined when nothing limits it. */
export function quotaRule(config: QuotaConfig | undefined, key: string): QuotaRule | undefined {
  if (config === undefined) return undefined
  const kind = key.startsWith('model:') ? 'model' : 'tool'
  const limit = limitFor(config, kind, key.slice(kind.length + 1))
  return limit === undefined ? undefined : { key, ...limit }
}

const noRules: readonly QuotaRule[] = []

/**
 * Whether a rule in reject mode has room for one more submission; queued and running holders count, so that an accepted task is
 * never dropped later. Rules in defer mode have room here for all that a window could ever hold. Source: Track AA, Quota Rules; `docs/semantics.md` C4.
 */
export function hasRoomAtAdmission(
  rule: QuotaRule,
  counters: QuotaCounters,
  window: number,
  tokens: number,
): boolean {
  if (rule.onExceeded === 'defer') return rule.tokensPerWindow === undefined || tokens <= rule.tokensPerWindow
  return belowMax(rule, counters.queued + counters.running) && windowHasRoom(rule, counters, window, tokens)
}

/**
 * Whether a rule lets one more task start. Windows of reject mode were settled at admission, and so was its room, but for a task
 * that gave it up to wait: that one starts when there is room again. Source: C4; `docs/semantics.md 12.3`.
 */
export function hasRoomAtDispatch(
  rule: QuotaRule,
  counters: QuotaCounters,
  window: number,
  tokens: number,
): boolean {
  if (rule.onExceeded === 'reject') return belowMax(rule, counters.running)
  return belowMax(rule, counters.running) && windowHasRoom(rule, counters, window, tokens)
}

/** The counters with one more task, and its tokens, in the window. */
export function countInWindow<C extends QuotaCounters>(counters: C, window: number, tokens: number): C {
  const fresh = counters.windowStart !== window
  return {
    ...counters,
    windowStart: window,
    windowCount: (fresh ? 0 : counters.windowCount) + 1,
    windowTokens: (fresh ? 0 : counters.windowTokens) + tokens,
  }
}

function belowMax(rule: QuotaRule, holders: number): boolean {
  return rule.maxInFlight === undefined || holders < rule.maxInFlight
}

function windowHasRoom(rule: QuotaRule, counters: QuotaCounters, window: number, tokens: number): boolean {
  const fresh = counters.windowStart !== window
  const count = fresh ? 0 : counters.windowCount
  const used = fresh ? 0 : counters.windowTokens
  return (
    (rule.perWindow === undefined || count < rule.perWindow) &&
    (rule.tokensPerWindow === undefined || used + tokens <= rule.tokensPerWindow)
  )
}

import { limitOfKey, type QuotaConfig, quotaKeysOf, type QuotaNames } from './quota.ts'
import type { QuotaLimitName } from '../submit/verdict.ts'

/** One limit as it applies to one key. */
export interface QuotaRule {
  /** `model:NAME`, `tool:NAME`, `client:NAME` or `label:NAME=VALUE`. */
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
  /** No holder starts before: a provider has said so. 0: none ever did. Source: `docs/semantics.md 2.8`. */
  readonly blockedUntil: number
}

/** The rules that a task comes under by what it names; each key once. None when quotas are unset. Source: Track AA, Quota Rules. */
export function quotaRules(config: QuotaConfig | undefined, names: QuotaNames): readonly QuotaRule[] {
  return quotaKeysOf(names).flatMap((key) => quotaRule(config, key) ?? [])
}

/** The rule behind a quota key; undefined when nothing limits it. */
export function quotaRule(config: QuotaConfig | undefined, key: string): QuotaRule | undefined {
  const limit = config === undefined ? undefined : limitOfKey(config, key)
  return limit === undefined ? undefined : { key, ...limit }
}

/** Whether a provider has said that nothing of this key is to start yet. Source: `docs/semantics.md 2.8`. */
export function isBlocked({ blockedUntil }: Pick<QuotaCounters, 'blockedUntil'>, at: number): boolean {
  return blockedUntil > at
}

/** The limit of a rule that has no room for one more task: what counts without it, and what it asked for. */
export interface Shortage {
  readonly limit: QuotaLimitName
  readonly max: number
  readonly value: number
  readonly asked: number
}

/**
 * The limit in reject mode that has no room for one more submission. Queued and running holders count, so
 * that an accepted task is never dropped later. Rules in defer mode have room here for everything that a
 * window could ever hold. Source: Track AA, Quota Rules; `docs/semantics.md` C4.
 */
export function shortAtAdmission(
  rule: QuotaRule,
  counters: QuotaCounters,
  window: number,
  tokens: number,
): Shortage | undefined {
  if (rule.onExceeded === 'defer') return shortOf('tokensPerWindow', rule.tokensPerWindow, 0, tokens)
  return (
    shortOf('maxInFlight', rule.maxInFlight, counters.queued + counters.running, 1) ??
    shortInWindow(rule, counters, window, tokens)
  )
}

/** Whether a rule has room for one more submission: nothing is short of {@link shortAtAdmission}. */
export function hasRoomAtAdmission(
  rule: QuotaRule,
  counters: QuotaCounters,
  window: number,
  tokens: number,
): boolean {
  return shortAtAdmission(rule, counters, window, tokens) === undefined
}

/**
 * The limit that has no room when one more task starts. Windows of reject mode were settled at admission, and
 * so was their room, except for a task that gave its room up to wait: it starts when there is room again.
 * Source: C4; `docs/semantics.md 12.3`.
 */
export function shortAtDispatch(
  rule: QuotaRule,
  counters: QuotaCounters,
  window: number,
  tokens: number,
): Shortage | undefined {
  const inFlight = shortOf('maxInFlight', rule.maxInFlight, counters.running, 1)
  return rule.onExceeded === 'reject' ? inFlight : (inFlight ?? shortInWindow(rule, counters, window, tokens))
}

/** Whether a rule lets one more task start; said without making a {@link Shortage}, since claims ask it often. */
export function hasRoomAtDispatch(
  rule: QuotaRule,
  counters: QuotaCounters,
  window: number,
  tokens: number,
): boolean {
  return shortAtDispatch(rule, counters, window, tokens) === undefined
}

/** How many more tasks and tokens a rule lets start: see {@link shortAtDispatch}. No rule lets all of them. */
export function roomAtDispatch(
  rule: QuotaRule | undefined,
  counters: QuotaCounters,
  window: number,
): { tasks: number; tokens: number } {
  const { maxInFlight, perWindow, tokensPerWindow, onExceeded } = rule ?? noLimit
  const { windowCount, windowTokens } = inWindow(counters, window)
  const inFlight = (maxInFlight ?? Number.POSITIVE_INFINITY) - counters.running
  if (onExceeded === 'reject') return { tasks: inFlight, tokens: Number.POSITIVE_INFINITY }
  return {
    tasks: Math.min(inFlight, (perWindow ?? Number.POSITIVE_INFINITY) - windowCount),
    tokens: (tokensPerWindow ?? Number.POSITIVE_INFINITY) - windowTokens,
  }
}

const noLimit: Omit<QuotaRule, 'key'> = { onExceeded: 'defer' }

/** The counters with one more task, and its tokens, in the window. */
export function countInWindow<C extends QuotaCounters>(counters: C, window: number, tokens: number): C {
  const { windowCount, windowTokens } = inWindow(counters, window)
  return {
    ...counters,
    windowStart: window,
    windowCount: windowCount + 1,
    windowTokens: windowTokens + tokens,
  }
}

/** The counters with more tokens in the window, which no further task brought. */
export function addTokens<C extends QuotaCounters>(counters: C, window: number, tokens: number): C {
  const { windowCount, windowTokens } = inWindow(counters, window)
  return { ...counters, windowStart: window, windowCount, windowTokens: windowTokens + tokens }
}

/** The counts of a window. */
export function inWindow(
  counters: QuotaCounters,
  window: number,
): Pick<QuotaCounters, 'windowCount' | 'windowTokens'> {
  return counters.windowStart === window ? counters : emptyWindow
}

const emptyWindow = { windowCount: 0, windowTokens: 0 }

/** How a task stands with tokens: its estimate, and what it has charged so far. */
export interface TokenUse {
  readonly estimate: number
  readonly used: number
}

/**
 * The amount that a charge adds to the window in which it is made: the part beyond the estimate, which is reserved
 * already. Source: `docs/semantics.md 2.8`.
 */
export function tokensBeyond({ estimate, used }: TokenUse, charged: number): number {
  return Math.max(0, used + charged - Math.max(estimate, used))
}

/**
 * The unused part of the reservation, given back when its task ends. A task that started and charged nothing
 * has not reported its usage, and keeps the reservation. Source: `docs/semantics.md 2.8`.
 */
export function tokensLeft({ estimate, used }: TokenUse, hasStarted: boolean): number {
  return used === 0 && hasStarted ? 0 : Math.max(0, estimate - used)
}

function shortInWindow(
  rule: QuotaRule,
  counters: QuotaCounters,
  window: number,
  tokens: number,
): Shortage | undefined {
  const { windowCount, windowTokens } = inWindow(counters, window)
  return (
    shortOf('perWindow', rule.perWindow, windowCount, 1) ??
    shortOf('tokensPerWindow', rule.tokensPerWindow, windowTokens, tokens)
  )
}

function shortOf(
  limit: QuotaLimitName,
  max: number | undefined,
  value: number,
  asked: number,
): Shortage | undefined {
  return max === undefined || value + asked <= max ? undefined : { limit, max, value, asked }
}

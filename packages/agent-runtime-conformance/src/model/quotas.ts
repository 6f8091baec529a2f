import { limitOfKey } from '@ku0/agent-runtime-core/transition'
import {
  laneRank,
  type QuotaConfig,
  quotaKeysOf,
  type QuotaLimit,
  type QuotaNames,
  isFinal,
} from '@ku0/agent-runtime-core'
import type { ModelTask } from './records.ts'
import { type ModelQuota } from './records.ts'

// The reference model's quotas: what a window holds is the sum of what its tasks have on their accounts. Source: `docs/semantics.md 2.6, 2.8`.

/** The limits of a task that names all this. */
export function quotasFor(names: QuotaNames, config: QuotaConfig | undefined): ModelQuota[] {
  if (config === undefined) return []
  return quotaKeysOf(names).flatMap((key) => {
    const limit = limitOfKey(config, key)
    return limit === undefined ? [] : [{ key, limit, windowMs: config.windowMs, entries: [] }]
  })
}

/** The counters of a quota at a moment. */
export function holdOf(tasks: readonly ModelTask[], key: string, now: number) {
  const own = tasks.filter(({ names }) => quotaKeysOf(names).includes(key))
  const entries = own
    .flatMap(({ quotas }) => quotas)
    .filter((quota) => quota.key === key)
    .flatMap(({ entries: all, windowMs }) => all.filter(({ at }) => isSameWindow(at, now, windowMs)))
  return {
    queued: own.filter(({ state }) => state === 'queued').length,
    running: own.filter(({ state }) => state === 'running').length,
    tasks: entries.reduce((sum, it) => sum + it.tasks, 0),
    tokens: entries.reduce((sum, it) => sum + it.tokens, 0),
  }
}

/** Whether a submission is one too many. */
export function exceeds(
  quotas: readonly ModelQuota[],
  tokens: number,
  tasks: readonly ModelTask[],
  blocked: ReadonlyMap<string, number>,
  now: number,
): boolean {
  return quotas.some(({ key, limit }) => {
    if (limit.onExceeded === 'defer') return tokens > (limit.tokensPerWindow ?? Infinity)
    const held = holdOf(tasks, key, now)
    return (
      (blocked.get(key) ?? 0) > now ||
      held.queued + held.running >= (limit.maxInFlight ?? Infinity) ||
      isWindowFull(limit, held, tokens)
    )
  })
}

export function admitted({ quotas, tokens }: ModelTask, now: number): void {
  for (const { limit, entries } of quotas)
    if (limit.onExceeded === 'reject') entries.push({ at: now, tasks: 1, tokens })
}

/** Whether it may start; and if not, that which holds up what comes after it in its stream. */
export function mayStart(
  task: ModelTask,
  tasks: readonly ModelTask[],
  blocked: ReadonlyMap<string, number>,
  now: number,
): boolean {
  if (quotaKeysOf(task.names).some((key) => (blocked.get(key) ?? 0) > now)) return false
  return task.quotas.every(({ key, limit }) => {
    const held = holdOf(tasks, key, now)
    if (held.running >= (limit.maxInFlight ?? Infinity)) return false
    return limit.onExceeded === 'reject' || !isWindowFull(limit, held, task.fence === 0 ? task.tokens : 0)
  })
}

/** Tasks of one stream hold one another up. */
export function streamOf(
  { lane, type, names, quotas, shares, account }: ModelTask,
  blocked: ReadonlyMap<string, number>,
): string {
  const limited = new Set(quotas.map(({ key }) => key))
  const keys = quotaKeysOf(names).filter((key) => limited.has(key) || blocked.has(key))
  const client = shares === undefined ? '' : account.client
  return JSON.stringify([laneRank[lane], type, client, ...keys])
}

/** It starts: `fence` is that of this start. */
export function started({ quotas, fence, tokens }: ModelTask, now: number): void {
  for (const { limit, entries } of quotas)
    if (limit.onExceeded === 'defer') entries.push({ at: now, tasks: 1, tokens: fence === 1 ? tokens : 0 })
}

export function charge(task: ModelTask, tokens: number, now: number): void {
  const before = Math.max(task.tokens, task.used)
  task.used += tokens
  const beyond = Math.max(0, task.used - before)
  if (beyond > 0)
    for (const { entries } of windowed(task)) entries.push({ at: now, tasks: 0, tokens: beyond })
}

/** It is over. */
export function giveBack(task: ModelTask, now: number): void {
  const left = task.used === 0 && task.fence > 0 ? 0 : Math.max(0, task.tokens - task.used)
  for (const { entries, windowMs } of windowed(task)) {
    const [first] = entries
    if (first !== undefined && isSameWindow(first.at, now, windowMs))
      entries.push({ at: now, tasks: 0, tokens: -left })
  }
}

/** A provider has said that nothing of these keys is to start before. */
export function blockAll(blocked: Map<string, number>, keys: readonly string[], until: number): void {
  for (const key of keys) blocked.set(key, Math.max(until, blocked.get(key) ?? 0))
}

/** Every key that is counted now. */
export function countedKeys(tasks: readonly ModelTask[], blocked: ReadonlyMap<string, number>): Set<string> {
  const open = tasks.filter(({ state }) => !isFinal(state))
  return new Set([...open.flatMap(({ quotas }) => quotas.map(({ key }) => key)), ...blocked.keys()])
}

function windowed({ quotas }: ModelTask): ModelQuota[] {
  return quotas.filter(({ limit }) => limit.tokensPerWindow !== undefined)
}

function isWindowFull(limit: QuotaLimit, held: { tasks: number; tokens: number }, tokens: number): boolean {
  return (
    held.tasks >= (limit.perWindow ?? Infinity) || held.tokens + tokens > (limit.tokensPerWindow ?? Infinity)
  )
}

function isSameWindow(a: number, b: number, windowMs: number): boolean {
  return Math.floor(a / windowMs) === Math.floor(b / windowMs)
}

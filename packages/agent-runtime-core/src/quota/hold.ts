import {
  addTokens,
  countInWindow,
  hasRoomAtDispatch,
  isBlocked,
  type QuotaRule,
  quotaRule,
  roomAtDispatch,
  type Shortage,
  shortAtAdmission,
  shortAtDispatch,
  tokensBeyond,
  tokensLeft,
} from './room.ts'
import { quotaKeysOf, type QuotaNames, windowStart } from './quota.ts'
import type { Submission } from '../submit/submission.ts'
import type { UsageSum } from '../budget/usage.ts'
import type { Objection } from '../submit/verdict.ts'
import { accountOf } from '../budget/account.ts'
import { hold, streamOf } from '../queue/stream.ts'
import type { QuotaRow } from './row.ts'
import type { StreamRow } from '../queue/row.ts'
import type { TaskRow } from '../task/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** The quota keys that a submission will hold: those that are limited, have a capacity for dominant shares, or were rate limited before. Source: `docs/semantics.md 2.6, 2.8`. */
export function quotaKeysFor(ws: WorkingSet, names: QuotaNames): readonly string[] {
  const { quotaConfig, shares } = ws.config
  const dominant = shares?.dominant ?? {}
  return quotaKeysOf(names).filter(
    (key) =>
      Object.hasOwn(dominant, key) ||
      quotaRule(quotaConfig, key) !== undefined ||
      (ws.quotaRow(key)?.blockedUntil ?? 0) > 0,
  )
}

/**
 * Why one of the keys has no room for one more submission; undefined when all have. A task that its caller holds cannot be deferred, so that what
 * would keep it from starting refuses it. `spawning`: its parent, which runs. Source: `docs/semantics.md` C4, 10.1.
 */
export function exceededQuota(
  ws: WorkingSet,
  keys: readonly string[],
  { tokens = 0, held }: Submission,
  spawning: TaskRow | undefined,
): Objection | undefined {
  const window = windowNow(ws)
  const startsNow = held === true
  for (const key of keys) {
    const rule = quotaRule(ws.config.quotaConfig, key)
    const counters = ws.quota(key)
    const short = rule && shortNow(rule, counters, window, tokens, startsNow)
    if (short !== undefined) return shortageOf(ws, key, short, spawning)
    const { blockedUntil } = counters
    if ((startsNow || rule?.onExceeded === 'reject') && isBlocked(counters, ws.now.at))
      return {
        message: `quota ${key} is blocked until ${new Date(blockedUntil).toISOString()}, as its provider asked; submit then`,
        verdict: { by: 'block', key, blockedUntil },
      }
  }
  return undefined
}

/** A submission that fits into no window, or that needs the place of its own parent, would wait for ever. */
function shortageOf(ws: WorkingSet, key: string, short: Shortage, spawning: TaskRow | undefined): Objection {
  const { limit, max, asked } = short
  const fits = asked <= max
  const resets = limit !== 'maxInFlight' && fits ? { resetsAt: windowNow(ws) + windowMsOf(ws) } : {}
  const verdict = { by: 'quota', key, ...short, ...resets } as const
  if (max === 0)
    return { message: `quota ${key} allows nothing: its ${limit} is 0; raise it`, verdict, forGood: true }
  if (limit === 'tokensPerWindow' && !fits) {
    const message = `quota ${key} allows ${max} tokens per window, and the task needs ${asked}; raise tokensPerWindow, or ask for fewer`
    return { message, verdict, forGood: true }
  }
  const isOwn = spawning !== undefined && ws.stream(streamOf(spawning)).quotaKeys.includes(key)
  if (limit === 'maxInFlight' && max === 1 && isOwn) {
    const message = `quota ${key} allows one task in flight, and the parent is that task; raise maxInFlight, or set onExceeded to 'defer'`
    return { message, verdict, forGood: true }
  }
  return { message: `quota ${key} has no room; submit later or raise its limit`, verdict }
}

function shortNow(
  rule: QuotaRule,
  counters: QuotaRow,
  window: number,
  tokens: number,
  startsNow: boolean,
): Shortage | undefined {
  const short = shortAtAdmission(rule, counters, window, tokens)
  return short === undefined && startsNow ? shortAtDispatch(rule, counters, window, tokens) : short
}

/** All keys or none: admission has checked every one. Windows in reject mode count here. Source: `docs/semantics.md 2.6, 2.8`. */
export function takeQuotas(ws: WorkingSet, task: TaskRow, keys: readonly string[]): void {
  hold(ws, task, 'none', 'queued')
  const window = windowNow(ws)
  for (const { key, onExceeded } of rulesOf(ws, keys))
    if (onExceeded === 'reject') ws.putQuota(countInWindow(ws.quota(key), window, task.tokens))
}

/** Whether quotas let a task start that holds them. */
export function mayStart(
  ws: WorkingSet,
  quotaKeys: readonly string[],
  task: Pick<TaskRow, 'fence' | 'tokens'>,
): boolean {
  const { quotaConfig } = ws.config
  return quotaKeys.every((key) => {
    const counters = ws.quota(key)
    if (isBlocked(counters, ws.now.at)) return false
    const rule = quotaRule(quotaConfig, key)
    return rule === undefined || hasRoomAtDispatch(rule, counters, windowNow(ws), toReserve(task))
  })
}

/**
 * The room of the quotas, while it is given out: room that was taken for one stream is gone for the next one
 * with the same key.
 */
export class QuotaRoom {
  private readonly ws: WorkingSet
  private readonly left = new Map<string, { tasks: number; tokens: number }>()

  constructor(ws: WorkingSet) {
    this.ws = ws
  }

  /** How many of `wanted` tasks of a stream could start that reserve so many tokens each; they are taken. */
  take({ quotaKeys }: StreamRow, wanted: number, tokens: number): number {
    const rooms = quotaKeys.map((key) => this.leftOf(key))
    const count = rooms.reduce(
      (least, room) => Math.min(least, room.tasks, tokens > 0 ? Math.floor(room.tokens / tokens) : least),
      wanted,
    )
    if (count <= 0) return 0
    for (const room of rooms) {
      room.tasks -= count
      room.tokens -= count * tokens
    }
    return count
  }

  private leftOf(key: string): { tasks: number; tokens: number } {
    const known = this.left.get(key)
    if (known !== undefined) return known
    const { ws } = this
    const counters = ws.quota(key)
    const room = isBlocked(counters, ws.now.at)
      ? { tasks: 0, tokens: 0 }
      : roomAtDispatch(quotaRule(ws.config.quotaConfig, key), counters, windowNow(ws))
    this.left.set(key, room)
    return room
  }
}

/**
 * A task starts: its windows in defer mode count, and its tokens are reserved unless they were at an earlier start. Says what
 * changes of the task. Source: `docs/semantics.md 2.8`.
 */
export function startQuotas(
  ws: WorkingSet,
  task: TaskRow,
  { quotaKeys }: StreamRow,
): Partial<Pick<TaskRow, 'account'>> {
  let reserves = false
  for (const { key, onExceeded, tokensPerWindow } of rulesOf(ws, quotaKeys)) {
    if (onExceeded !== 'defer') continue
    ws.putQuota(countInWindow(ws.quota(key), windowNow(ws), toReserve(task)))
    reserves ||= tokensPerWindow !== undefined && task.tokens > 0
  }
  if (!reserves || task.fence === 0 || task.account?.reservedAt !== undefined) return noChange
  // Its row is about to forget when it started first.
  return { account: { ...accountOf(task), reservedAt: task.startedAt ?? ws.now.at } }
}

const noChange = {}

/**
 * Usage beyond the estimate counts when it is charged. `task`: the task before the charge. Source:
 * `docs/semantics.md 2.8`.
 */
export function chargeQuotas(ws: WorkingSet, task: TaskRow, charged: UsageSum | undefined): void {
  const tokens = tokensBeyond({ estimate: task.tokens, used: usedBy(task) }, charged?.tokens ?? 0)
  if (tokens === 0) return
  for (const { key, tokensPerWindow } of rulesOf(ws, ws.stream(streamOf(task)).quotaKeys))
    if (tokensPerWindow !== undefined) ws.putQuota(addTokens(ws.quota(key), windowNow(ws), tokens))
}

/** A task is over: what it did not use of its reservation is free again, in the window that it was made in. Source: `docs/semantics.md 2.8`. */
export function settleQuotas(ws: WorkingSet, task: TaskRow): void {
  const left = tokensLeft({ estimate: task.tokens, used: usedBy(task) }, task.fence > 0)
  if (left > 0) giveBack(ws, task, ws.stream(streamOf(task)).quotaKeys, left)
}

function giveBack(ws: WorkingSet, task: TaskRow, keys: readonly string[], tokens: number): void {
  const window = windowNow(ws)
  for (const { key, onExceeded, tokensPerWindow } of rulesOf(ws, keys)) {
    const reservedAt = onExceeded === 'reject' ? task.submittedAt : firstStart(task)
    if (tokensPerWindow === undefined || reservedAt === null) continue
    const row = ws.quota(key)
    if (row.windowStart === window && windowOf(ws, reservedAt) === window)
      ws.putQuota({ ...row, windowTokens: Math.max(0, row.windowTokens - tokens) })
  }
}

/**
 * The task counts under other keys from now on: what it has reserved and reported as unused is free under the old, and what it may still
 * use is reserved under the new. Source: `docs/semantics.md 2.8, 14.3`.
 */
export function moveReservation(
  ws: WorkingSet,
  task: TaskRow,
  from: readonly string[],
  to: readonly string[],
): void {
  const use = { estimate: task.tokens, used: usedBy(task) }
  giveBack(ws, task, from, tokensLeft(use, task.fence > 0))
  for (const { key, tokensPerWindow } of rulesOf(ws, to))
    if (tokensPerWindow !== undefined)
      ws.putQuota(addTokens(ws.quota(key), windowNow(ws), tokensLeft(use, false)))
}

/** Under defer, tokens are reserved at the first start. */
export function toReserve({ fence, tokens }: Pick<TaskRow, 'fence' | 'tokens'>): number {
  return fence === 0 ? tokens : 0
}

function firstStart({ account, startedAt }: TaskRow): number | null {
  return account?.reservedAt ?? startedAt
}

function usedBy({ account }: TaskRow): number {
  return account?.used?.tokens ?? 0
}

function rulesOf({ config: { quotaConfig } }: WorkingSet, keys: readonly string[]): readonly QuotaRule[] {
  return keys.flatMap((key) => quotaRule(quotaConfig, key) ?? [])
}

function windowNow(ws: WorkingSet): number {
  return windowOf(ws, ws.now.at)
}

function windowOf(ws: WorkingSet, at: number): number {
  return windowStart(at, windowMsOf(ws))
}

function windowMsOf({ config: { quotaConfig } }: WorkingSet): number {
  return quotaConfig?.windowMs ?? 60_000
}

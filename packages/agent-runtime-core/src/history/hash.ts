import { isList } from '../check/readable.ts'
import { isChildName } from '../child/child.ts'
import { type Doubt, isDoubt } from '../step/doubt.ts'
import { canonical } from '../codec/codec.ts'
import type { Digest } from '../config/environment.ts'

/** The start of a task's order hash: 64 ASCII zeros. Source: `docs/semantics.md 6.2`. */
export const ORDER_START = '0'.repeat(64)

/**
 * The start of a task's integrity chain: 32 zero bytes. Must not be written to. Source: `docs/semantics.md
 * 6.2`.
 */
export const CHAIN_START: Uint8Array = new Uint8Array(32)

/**
 * The part of an event that its order hash covers. `data` is plain data: the parsed JSON of the stored text.
 */
export interface HistoryEvent {
  readonly seq: number
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** The order hash of a task, and of each event on the way there. */
export interface HistoryOrder {
  /** The last event's; `ORDER_START` for no events. */
  readonly hash: string
  /** In the order in which they were hashed. */
  readonly perEvent: readonly OrderedEvent[]
}

/** One event in its place in the order. */
export interface OrderedEvent {
  /** Its number in the order, from 1. */
  readonly seq: number
  /** Its number in the store. */
  readonly storedSeq: number
  readonly type: string
  /** The part of its data that was hashed. */
  readonly data: Readonly<Record<string, unknown>>
  readonly hash: string
}

/** The order hash after one more event: sha256 of the last one's 64 digits and `canonical({data, seq, type})`. */
export function orderHash(previous: string, event: HistoryEvent, digest: Digest): string {
  const { data, seq, type } = event
  return digest.sha256Hex(previous + canonical({ data, seq, type }))
}

/**
 * A task's order hash, computed from its whole history on reading: equal for equal behaviour, on every store.
 * Only behaviour counts in each event's data ({@link behaviourOf}). Within one pass, from a `task.started` to
 * the next, events with a call `position` (steps) come first, by position, then the others as stored; then
 * `seq` is counted again. So steps that run side by side give one hash, however they finish. Source:
 * `docs/semantics.md 6.2`.
 */
export function orderOfHistory(events: readonly HistoryEvent[], digest: Digest): HistoryOrder {
  let hash = ORDER_START
  const perEvent = inCallOrder(events).map((event, index) => {
    const { seq: storedSeq, type } = event
    const seq = index + 1
    const data = behaviourOf(event.data)
    hash = orderHash(hash, { seq, type, data }, digest)
    return { seq, storedSeq, type, data, hash }
  })
  return { hash, perEvent }
}

/**
 * The order hash of a run: its tasks' last order hashes, by submission sequence, folded from `ORDER_START`.
 */
export function foldRunOrder(lastHashes: readonly string[], digest: Digest): string {
  return lastHashes.reduce((run, hash) => digest.sha256Hex(run + hash), ORDER_START)
}

/**
 * The text whose UTF-8 bytes follow the previous digest in the integrity chain: `chain(n) = sha256(chain(n-1)
 * || text)`. Layout 1, lines parted by one LF: `ku0.1`, task number, seq, type, at (epoch ms), and the stored
 * data to the end. Numbers are whole and in decimal, a type holds no line break, so two different events
 * never share a text. Source: `docs/semantics.md 6.2`.
 */
export function chainText(task: number, seq: number, type: string, at: number, data: string): string {
  return `ku0.1\n${task}\n${seq}\n${type}\n${at}\n${data}`
}

/**
 * The keys of an event's data that say when, where and under which id something happened, not what; keys that
 * end in `At` (`dueAt`) count too. They are left out of the order hash, at the top level only: what lies
 * deeper is the user's.
 */
export const excludedDataKeys: ReadonlySet<string> = new Set([
  'afterMs',
  'approvalId',
  'at',
  'bootId',
  'branchKeys',
  'childId',
  'dispatch',
  'durationMs',
  'effectKey',
  'elapsedMs',
  'fencingToken',
  'forkOf',
  'host',
  'leaseId',
  'parentId',
  'pid',
  'processId',
  'requestId',
  'rootId',
  'since',
  'taskId',
  'token',
  'trace',
  'verdict',
  'waitMs',
  'workerId',
])

/**
 * An event's data as far as it is behaviour: without {@link excludedDataKeys}, and its `error`, or that of
 * a child, without stacks. Only the step and its starts count in the runtime's own question about a step in doubt.
 */
export function behaviourOf(data: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const kept = Object.entries(data).filter(([key]) => !excludedDataKeys.has(key) && !key.endsWith('At'))
  const isChild = isChildName(data['name'])
  return Object.fromEntries(
    kept.map(([key, value]) => [
      key,
      key === 'error'
        ? withoutStack(value)
        : key === 'value' && isChild
          ? endWithoutStack(value)
          : key === 'artifact' && isDoubt(data['key'])
            ? doubtOf(value)
            : value,
    ]),
  )
}

function inCallOrder(events: readonly HistoryEvent[]): HistoryEvent[] {
  const passes: HistoryEvent[][] = [[]]
  for (const event of events.toSorted((a, b) => a.seq - b.seq)) {
    if (event.type === 'task.started') passes.push([])
    passes.at(-1)?.push(event)
  }
  return passes.flatMap((pass) => pass.toSorted((a, b) => rank(a) - rank(b) || compareKeys(a, b)))
}

/** Calls inside one call (a race, its branches) share the call's position: their keys tell them apart. */
function compareKeys(a: HistoryEvent, b: HistoryEvent): number {
  if (rank(a) === Number.MAX_SAFE_INTEGER) return 0
  const [one, other] = [a.data['key'], b.data['key']]
  if (typeof one !== 'string' || typeof other !== 'string' || one === other) return 0
  return one < other ? -1 : 1
}

/** The start of the pass, then the events with a call position, then the rest; the sort is stable. Events that move the task stay in place. */
function rank({ type, data }: HistoryEvent): number {
  if (type === 'task.started') return -1
  if (type.startsWith('task.')) return Number.MAX_SAFE_INTEGER
  const position = data['position']
  return typeof position === 'number' ? position : Number.MAX_SAFE_INTEGER
}

/** A child's end has its error inside. */
function endWithoutStack(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('error' in value)) return value
  return { ...value, error: withoutStack(value.error) }
}

/** The rest are times and ids. */
function doubtOf(artifact: unknown): unknown {
  const { inDoubt, starts } = (artifact ?? {}) as Partial<Doubt>
  return { inDoubt, starts }
}

/** A stack names files and lines of one installation. */
function withoutStack(error: unknown): unknown {
  if (typeof error !== 'object' || error === null || isList(error)) return error
  const { stack: _, cause, ...rest } = error as Record<string, unknown>
  return cause === undefined ? rest : { ...rest, cause: withoutStack(cause) }
}

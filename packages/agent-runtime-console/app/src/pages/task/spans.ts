import type { ExecutionLease } from '@ku0/agent-runtime-core'
import type { RuntimeEvent } from '@ku0/agent-runtime-client'

/** A bar of the waterfall. */
export interface Span {
  /** Unique in its task; it stands in the address. */
  readonly id: string
  readonly kind: 'queue' | 'attempt' | 'step' | 'wait' | 'approval' | 'child' | 'mark'
  readonly name: string
  readonly from: number
  /** Undefined while it goes on. */
  readonly to: number | undefined
  readonly isBad: boolean
  readonly note: string
  /** The events that it was made from. */
  readonly seqs: readonly number[]
  readonly childId?: string | undefined
  /** An attempt runs under a lease. */
  readonly lease?: SpanLease | undefined
}

/** For how long a worker held the task. */
export interface SpanLease {
  readonly from: number
  /** When it ended; of one that is live, when it would end without another heartbeat. */
  readonly to: number
  readonly words: string
}

type Open = { -readonly [Key in keyof Span]: Span[Key] }

/** Reads the bars from a task's history, in the order in which they begin. */
export function spansOf(events: readonly RuntimeEvent[], leases: readonly ExecutionLease[]): readonly Span[] {
  const spans: Open[] = []
  const waits = new Map<string, Open>()
  const children = new Map<string, Open>()
  let queue: Open | undefined
  let attempt: Open | undefined
  const attempts = new Map<number, Open>()
  let lastAttempt = 0
  let passes = 0

  const begin = (span: Omit<Open, 'to' | 'isBad' | 'note'> & Partial<Open>): Open => {
    const made: Open = { to: undefined, isBad: false, note: '', ...span }
    spans.push(made)
    return made
  }
  const end = (span: Open | undefined, event: RuntimeEvent, more: Partial<Open> = {}) => {
    if (span === undefined || span.to !== undefined) return
    Object.assign(span, { to: event.at, ...more, seqs: [...span.seqs, event.seq] })
  }
  const leave = (event: RuntimeEvent, more: Partial<Open> = {}) => {
    end(attempt, event, more)
    attempt = undefined
  }

  for (const event of events) {
    const { type, at, seq } = event
    const { data } = event
    const key = text(data['key'])
    switch (type) {
      case 'task.queued':
        queue = begin({ id: `queue ${seq}`, kind: 'queue', name: 'queued', from: at, seqs: [seq] })
        break
      case 'task.started': {
        end(queue, event)
        const n = number(data['attempt']) ?? 1
        const worker = text(data['workerId'])
        passes = n === lastAttempt ? passes + 1 : 1
        lastAttempt = n
        attempt = begin({
          id: `attempt ${seq}`,
          kind: 'attempt',
          name: passes === 1 ? `attempt ${n}` : `attempt ${n}, pass ${passes}`,
          from: at,
          seqs: [seq],
          note: `on ${worker.slice(-14)}`,
        })
        attempts.set(number(data['fencingToken']) ?? 0, attempt)
        break
      }
      case 'task.waiting':
        leave(event)
        for (const wait of list(data['waits'])) {
          const name = text(wait['key'])
          if (waits.has(name)) continue
          waits.set(name, begin(waitOf(seq, at, name, text(wait['kind']))))
        }
        if (list(data['waits']).length === 0)
          waits.set('', begin(waitOf(seq, at, text(data['reason']), text(data['reason']))))
        break
      case 'wait.started':
        waits.set(key, begin(waitOf(seq, at, key, text(data['kind']))))
        break
      case 'approval.requested':
        waits.set(key, begin({ ...waitOf(seq, at, key, 'approval'), kind: 'approval' }))
        break
      case 'wait.resolved':
      case 'task.resumed': {
        const outcome = text(data['outcome'])
        end(waits.get(key), event, {
          note: outcome,
          isBad: outcome === 'rejected' || outcome === 'timed_out',
        })
        waits.delete(key)
        if (type === 'task.resumed')
          queue = begin({ id: `queue ${seq}`, kind: 'queue', name: 'queued', from: at, seqs: [seq] })
        break
      }
      case 'step.completed':
      case 'step.failed':
        begin({
          id: `step ${seq}`,
          kind: 'step',
          name: inWords(key),
          from: at - (number(data['durationMs']) ?? 0),
          to: at,
          seqs: [seq],
          isBad: type === 'step.failed',
          note: type === 'step.failed' ? retryNote(number(data['retry'])) : '',
        })
        break
      case 'step.inherited':
        begin({
          id: `step ${seq}`,
          kind: 'step',
          name: inWords(key),
          from: at,
          to: at,
          seqs: [seq],
          note: 'from the base',
        })
        break
      case 'child.spawned':
      case 'child.inherited': {
        const childId = text(data['taskId'])
        const name = `${inWords(key)} (${text(data['type'])})`
        children.set(
          childId,
          begin({ id: `child ${seq}`, kind: 'child', name, from: at, seqs: [seq], childId }),
        )
        break
      }
      case 'child.ended': {
        const state = text(data['state'])
        end(children.get(text(data['taskId'])), event, { note: state, isBad: state === 'failed' })
        break
      }
      case 'signal.received':
        begin({
          id: `signal ${seq}`,
          kind: 'mark',
          name: `signal ${text(data['name'])}`,
          from: at,
          to: at,
          seqs: [seq],
        })
        break
      case 'task.requeued':
        leave(event, {
          note: text(data['reason']),
          isBad: data['reason'] !== 'yielded' && data['reason'] !== 'drained',
        })
        queue = begin({
          id: `queue ${seq}`,
          kind: 'queue',
          name: 'queued',
          from: at,
          seqs: [seq],
          note: text(data['reason']),
        })
        break
      case 'task.completed':
      case 'task.failed':
      case 'task.canceled':
        leave(event, { isBad: type === 'task.failed', note: type.slice('task.'.length) })
        end(queue, event)
        for (const wait of waits.values()) end(wait, event, { note: 'left' })
        break
      default:
    }
  }
  withLeases(attempts, leases)
  return spans.filter(isWorthALine).toSorted((a, b) => a.from - b.from || rank[a.kind] - rank[b.kind])
}

const rank: Readonly<Record<Span['kind'], number>> = {
  queue: 0,
  attempt: 1,
  step: 3,
  wait: 4,
  approval: 4,
  child: 5,
  mark: 2,
}

/** Between two passes a task is queued for a moment, each time. */
function isWorthALine({ kind, from, to }: Open): boolean {
  return kind !== 'queue' || to === undefined || to - from >= 10
}

/** Each attempt with its lease. One that has expired ended its attempt before anybody could write it down. */
function withLeases(attempts: ReadonlyMap<number, Open>, leases: readonly ExecutionLease[]): void {
  for (const { fencingToken, status, acquiredAt, expiresAt, endedAt, endReason } of leases) {
    const attempt = attempts.get(fencingToken)
    if (attempt === undefined) continue
    const how = endedAt === undefined ? 'live' : (endReason ?? status)
    attempt.lease = { from: acquiredAt, to: endedAt ?? expiresAt, words: `lease ${fencingToken}, ${how}` }
    if (attempt.to === undefined && endedAt !== undefined)
      Object.assign(attempt, { to: endedAt, note: endReason ?? '' })
  }
}

function waitOf(seq: number, from: number, name: string, kind: string): Omit<Open, 'to' | 'isBad'> {
  const isApproval = kind === 'approval'
  return {
    id: `wait ${seq} ${name}`,
    kind: isApproval ? 'approval' : 'wait',
    name: inWords(name),
    from,
    seqs: [seq],
    note: kind,
  }
}

/** The runtime's own calls have keys that nobody has written. */
function inWords(key: string): string {
  const [, own] = /^\$ku0\/(.*)$/s.exec(key) ?? []
  if (own === undefined) return key
  const [, child] = /^child\/(.*)$/s.exec(own) ?? []
  if (child !== undefined) return `result of ${inWords(child)}`
  for (const [pattern, words] of ownKeys) if (pattern.test(own)) return own.replace(pattern, words)
  return own
}

const ownKeys: readonly (readonly [RegExp, string])[] = [
  [/^retry\/(\d+)\/(.*)$/s, 'back-off $1 of $2'],
  [/^stage\/(.*)$/s, 'stage $1'],
  [/^supervised\/[^/]*\/(.*)$/s, 'supervised $1'],
  [/^supervisor\/.*$/s, 'supervises its children'],
  [/^pipeline$/, 'begins the pipeline'],
  [/^publish\/([^/]*)\/.*$/s, 'publish $1'],
  [/^receive\/(.*)\/\d+$/s, 'receive $1'],
  [/^stage-wait\/events\/[^/]*\/(.*)$/s, 'events of $1'],
  [/^stage-wait\/room\/[^/]*\/(.*)$/s, 'room for $1'],
]

function retryNote(retry: number | undefined): string {
  return retry === undefined ? 'failed permanently' : `retry ${retry} follows`
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function list(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value : []
}

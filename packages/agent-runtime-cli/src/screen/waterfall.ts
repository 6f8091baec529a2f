import type { RuntimeEvent } from '@ku0/agent-runtime'
import { childName, keyText, RESERVED } from '@ku0/agent-runtime-core'
import type { Line, Style } from './printer.ts'
import { cut, lasting } from './words.ts'

/** One thing that a task did or waited for, and when. */
export interface Bar {
  readonly kind: 'queue' | 'step' | 'wait' | 'child' | 'lost'
  readonly key: string
  /** Epoch ms. */
  readonly from: number
  /** Undefined while it goes on. */
  readonly to: number | undefined
  readonly hasFailed: boolean
  readonly isCanceled: boolean
}

/** The steps, waits and children of a task by its events, in the order of their beginnings. */
export function barsOf(events: readonly RuntimeEvent[]): readonly Bar[] {
  const bars: Bar[] = []
  const open = new Map<string, Bar>()
  const begin = (bar: Omit<Bar, 'to' | 'hasFailed' | 'isCanceled'>) => {
    if (!open.has(`${bar.kind} ${bar.key}`))
      open.set(`${bar.kind} ${bar.key}`, { ...bar, to: undefined, hasFailed: false, isCanceled: false })
  }
  const end = (kind: Bar['kind'], key: string, to: number, as = 'completed', from = to) => {
    const begun = open.get(`${kind} ${key}`)
    open.delete(`${kind} ${key}`)
    bars.push({
      kind,
      key,
      from: begun?.from ?? from,
      to,
      hasFailed: as === 'failed',
      isCanceled: as === 'canceled',
    })
  }
  let lastAt = 0
  for (const { type, at, data } of events as readonly (RuntimeEvent & { readonly data: EventFields })[]) {
    switch (type) {
      case 'task.queued':
        begin({
          kind: 'queue',
          key: 'queued',
          from: data.dueAt === undefined ? at : Math.max(at, data.dueAt),
        })
        break
      case 'task.requeued':
      case 'task.resumed':
        // A step that was under way has no event: its time is the time since the last one.
        if (data.reason !== undefined && deaths.has(data.reason))
          bars.push({ kind: 'lost', key: CUT_OFF, from: lastAt, to: at, hasFailed: true, isCanceled: false })
        if (type === 'task.resumed' && data.key !== undefined) end('wait', data.key, at)
        begin({ kind: 'queue', key: AGAIN, from: at })
        break
      case 'task.started':
        for (const { kind, key } of open.values()) if (kind === 'queue') end(kind, key, at)
        break
      case 'task.waiting':
        for (const { key } of data.waits ?? []) begin({ kind: 'wait', key, from: at })
        break
      case 'wait.started':
        begin({ kind: 'wait', key: data.key ?? '', from: at })
        break
      case 'wait.resolved':
        end('wait', data.key ?? '', at)
        break
      case 'step.completed':
      case 'step.failed':
        end('step', data.key ?? '', at, type.slice('step.'.length), at - (data.durationMs ?? 0))
        break
      case 'child.spawned':
        begin({ kind: 'child', key: data.key ?? '', from: at })
        break
      case 'child.ended':
        end('child', data.key ?? '', at, data.state)
        break
      case 'task.completed':
      case 'task.failed':
      case 'task.canceled':
        for (const { kind, key } of open.values())
          end(kind, key, at, kind === 'queue' ? undefined : type.slice('task.'.length))
        break
      default:
        break
    }
    lastAt = at
  }
  const all = [...bars, ...open.values()]
  const waitsForChildren = new Set(all.flatMap(({ kind, key }) => (kind === 'child' ? [childName(key)] : [])))
  return all
    .filter((bar) => !isPassage(bar) && !(bar.kind === 'wait' && waitsForChildren.has(bar.key)))
    .toSorted((a, b) => a.from - b.from)
}

/** A task that waited is queued for a moment before it goes on. Only the first time in the queue, and long ones, are worth a line. */
function isPassage({ kind, key, from, to }: Bar): boolean {
  return kind === 'queue' && key === AGAIN && to !== undefined && to - from < SHORT_MS
}

const AGAIN = 'queued again'
const CUT_OFF = 'cut off'
/** How an attempt ends whose process died or fell silent. */
const deaths: ReadonlySet<string> = new Set(['owner_dead', 'expired'])
const SHORT_MS = 20

interface EventFields {
  readonly key?: string
  readonly durationMs?: number
  readonly dueAt?: number
  readonly state?: string
  readonly reason?: string
  readonly waits?: readonly { readonly key: string }[]
}

/** So many bars are drawn; of more, the last. */
const MOST = 200

const styles: Readonly<Record<Bar['kind'], Style>> = {
  queue: 'dim',
  step: 'green',
  wait: 'cyan',
  child: 'yellow',
  lost: 'red',
}

/** A bar's name. The keys of the runtime's own waits are put into words. */
function nameOf({ kind, key }: Bar): string {
  if (kind === 'queue' || kind === 'lost') return key
  return key.startsWith(RESERVED) ? keyText(key) : `${kind} ${key}`
}

const isWork: ReadonlySet<Bar['kind']> = new Set(['step', 'child', 'lost'])

/** The bars on one scale of time, below each other. */
export function waterfall(bars: readonly Bar[], now: number, columns = 100): readonly Line[] {
  const drawn = bars.slice(-MOST)
  const names = drawn.map((bar) => cut(nameOf(bar), 40))
  const width = Math.max(6, ...names.map((name) => name.length))
  const start = Math.min(...drawn.map(({ from }) => from))
  const end = Math.max(...drawn.map(({ to }) => to ?? now), start + 1)
  const room = Math.max(10, Math.min(60, columns - width - 16))
  const place = (at: number) => Math.min(room - 1, Math.floor(((at - start) / (end - start)) * room))
  const hidden = bars.length - drawn.length
  return [
    ...(hidden > 0
      ? [{ text: `the first ${hidden} are left out: agent-runtime events has them`, style: 'dim' as const }]
      : []),
    ...drawn.map((bar, at): Line => {
      const [first, last] = [place(bar.from), place(bar.to ?? now)]
      return [
        `  ${(names[at] as string).padEnd(width)}  ${' '.repeat(first)}`,
        {
          text: (isWork.has(bar.kind) ? '█' : '░').repeat(last - first + 1),
          style: bar.hasFailed ? 'red' : bar.isCanceled ? 'dim' : styles[bar.kind],
        },
        `${' '.repeat(room - 1 - last)}  ${lasting((bar.to ?? now) - bar.from)}`,
        bar.hasFailed && bar.kind !== 'lost'
          ? { text: ' failed', style: 'red' }
          : bar.isCanceled
            ? { text: ' canceled', style: 'dim' }
            : bar.to === undefined
              ? { text: ' so far', style: 'dim' }
              : '',
      ]
    }),
  ]
}

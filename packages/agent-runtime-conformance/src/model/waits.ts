import { endsWithRejection, isLimit } from '@ku0/agent-runtime-core/transition'
import { childKeyOf, RESERVED, type WaitOutcome } from '@ku0/agent-runtime-core'
import type {
  ModelCall,
  ModelEffect,
  ModelEnd,
  ModelIntent,
  ModelTask,
  ModelWait,
  OverWait,
} from './records.ts'

// The reference model's rules of waits and verdicts. Source: `docs/semantics.md 7.6, 12`.

/** The waits that need no waiting, in the order in which they ended: what came in time beats the patience for it. */
export function whatIsOver(task: ModelTask, open: readonly ModelWait[], now: number): OverWait[] {
  const unread = [...task.signals]
  return open
    .toSorted((a, b) => a.position - b.position)
    .flatMap((wait): OverWait[] => {
      const { name, dueAt, terms } = wait
      if (terms?.asked === false) return [{ wait, outcome: 'passed', at: now, signal: undefined }]
      const index = name === undefined ? -1 : unread.findIndex((it) => it.name === name)
      const signal = unread[index]
      if (signal !== undefined && signal.at <= (dueAt ?? Number.POSITIVE_INFINITY)) {
        unread.splice(index, 1)
        return [{ wait, outcome: signal.outcome, at: signal.at, signal }]
      }
      if (dueAt === undefined || dueAt > now) return []
      return [{ wait, outcome: outcomeWhenDue(wait), at: dueAt, signal: undefined }]
    })
    .toSorted((a, b) => a.at - b.at || a.wait.position - b.wait.position || limitsLast(a.wait, b.wait))
}

/** The wait of a waiting task whose time has come: the earliest. */
export function whatIsDue({ waits }: ModelTask, now: number): OverWait | undefined {
  const [wait] = waits
    .filter(({ dueAt }) => dueAt !== undefined && dueAt <= now)
    .toSorted((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0) || a.position - b.position || limitsLast(a, b))
  if (wait === undefined) return undefined
  return { wait, outcome: outcomeWhenDue(wait), at: wait.dueAt ?? 0, signal: undefined }
}

function limitsLast(a: ModelWait, b: ModelWait): number {
  return Number(isLimit(a.key)) - Number(isLimit(b.key))
}

function outcomeWhenDue({ kind, terms }: ModelWait): WaitOutcome | 'fail' {
  if (kind === 'timer') return 'fired'
  switch (terms?.onTimeout) {
    case undefined:
    case 'throw':
      return 'timed_out'
    case 'approve':
      return 'approved'
    case 'reject':
      return 'rejected'
    case 'fail':
      return 'fail'
  }
}

/** Whether this end sends the task back to its last approval, or fails it. */
export function sendsBack({ wait, outcome }: OverWait): boolean {
  return outcome === 'fail' || (outcome === 'rejected' && wait.terms?.onReject === 'rerun')
}

/** The error of a task that a wait which sends back leaves no other try. */
export function refusal(task: ModelTask, it: OverWait): string | undefined {
  const { key, terms } = it.wait
  if (it.outcome === 'fail') return notApproved(`nobody answered the request for approval '${key}' in time`)
  const maxRetries = terms?.maxRetries ?? 0
  const times = rejectionsSinceApproval(task) + 1
  if (!sendsBack(it) || times <= maxRetries) return undefined
  const { feedback } = JSON.parse(valueOf(it) ?? '{}') as { feedback?: string }
  return notApproved(
    `'${key}' was rejected ${times === 1 ? 'once' : `${times} times`} since the last approval (maxRetries ${maxRetries})` +
      (feedback === undefined ? '' : `: ${feedback}`),
  )
}

function notApproved(message: string): string {
  return `{"code":"not_approved","message":${JSON.stringify(message)},"name":"RuntimeError"}`
}

export function rejectionsSinceApproval({ rejections, approvedSeq }: ModelTask): number {
  return rejections.filter(({ since }) => since === approvedSeq).length
}

/** The value that came with an end; the one that was settled for the case that nobody answers. */
export function valueOf({ wait, outcome, signal }: OverWait): string | undefined {
  if (signal !== undefined) return signal.value
  return wait.kind === 'approval' && (outcome === 'approved' || outcome === 'rejected')
    ? '{"by":"timeout"}'
    : undefined
}

/**
 * The event `seq` of a rejection leaves nothing of what was recorded since the last approval, save what nobody would send again. The
 * children spawned since are another matter.
 */
export function sendBack(task: ModelTask, it: OverWait, seq: number): void {
  const since = task.approvedSeq
  task.rejections.push({ key: it.wait.key, since, seq, value: valueOf(it) ?? 'null' })
  for (const [key, memo] of task.memos) if (memo.seq > since) task.memos.delete(key)
  const hasChild = (key: string) => (task.children.get(key)?.seq ?? Number.POSITIVE_INFINITY) <= since
  const gone = task.waits.filter((wait) => endsWithRejection(wait, since))
  keep(task.waits, (wait) => !gone.includes(wait))
  keep(task.signals, ({ name }) => !gone.some((wait) => wait.name === name))
  keep(task.ended, (end) => end.seq < since || isSentFromOutside(end, hasChild))
  keep(task.intents, (intent) => intent.seq < since)
}

/** The runtime's own timers are part of the step that they belong to; the end of a child stays with the child. */
function isSentFromOutside({ key, kind }: ModelEnd, hasChild: (key: string) => boolean): boolean {
  if (kind === 'child') return hasChild(childKeyOf(key))
  return kind === 'approval' || !key.startsWith(RESERVED)
}

/** Steps of which nobody knows how they ended: how often they were started, the last time by the event `seq`, and what they began. */
export function doubtsOf(task: ModelTask): readonly ModelDoubt[] {
  return startsOf(task).filter(({ isInDoubt }) => isInDoubt)
}

/** The steps without a memo that were started, here or in the task that this one is a fork of. */
export function startsOf({ intents, memos }: ModelTask): readonly (ModelDoubt & { isInDoubt: boolean })[] {
  return [...Map.groupBy(intents, ({ key }) => key)].flatMap(([key, own]) => {
    const begun = own.filter(({ failed }) => failed === undefined)
    const last = begun.at(-1)
    if (last === undefined || memos.has(key)) return []
    const starts = begun.reduce((sum, { told }) => sum + (told?.starts ?? 1), 0)
    const effect = begun.find(({ told }) => told !== undefined)?.told?.effect
    return [{ key, position: last.position, seq: last.seq, starts, effect, isInDoubt: isOpen(own) }]
  })
}

interface ModelDoubt extends ModelCall {
  readonly seq: number
  readonly starts: number
  /** For starts that a fork has from another task. */
  readonly effect: ModelEffect | undefined
}

/** A try that threw has ended; one whose time was over may not have. */
function isOpen(own: readonly ModelIntent[]): boolean {
  const isEnd = ({ failed }: ModelIntent) => failed === 'error'
  return own.findLastIndex(({ failed }) => failed === undefined) > own.findLastIndex(isEnd)
}

/** In the order of the calls. */
export function inOrder(waits: readonly ModelWait[]): readonly ModelWait[] {
  return waits.toSorted((a, b) => a.position - b.position || (a.key < b.key ? -1 : 1))
}

/** The approvals of a task that nobody has answered. */
export function pendingApprovals({ waits, signals }: ModelTask): readonly ModelWait[] {
  return inOrder(waits).filter(
    ({ terms, name }) => terms?.asked === true && !signals.some((signal) => signal.name === name),
  )
}

function keep<T>(items: T[], holds: (item: T) => boolean): void {
  items.splice(0, items.length, ...items.filter(holds))
}

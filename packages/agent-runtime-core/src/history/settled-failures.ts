import { isVoid } from '../approval/approval.ts'
import { canonical } from '../codec/codec.ts'
import type { EventData } from '../event/event.ts'
import type { Reads } from '../store/port.ts'
import type { SentBack } from './standing.ts'

type Failures = Reads['memos']['answer']['failures']

/** An event that says how a pass went, its data with its blob put back; of `task.waiting` nothing but that it was. */
export interface PassEvent {
  readonly seq: number
  readonly type: 'step.failed' | 'step.completed' | 'task.waiting' | 'task.requeued'
  readonly data: string
}

/**
 * The calls that failed finally in a pass which did not end of it: it was put aside, so the handler had caught the error and gone
 * on. Later passes are answered with it, until the handler is tried again. Source: `docs/semantics.md 7.2`.
 */
export function settledFailures(events: Iterable<PassEvent>, sentBack: readonly SentBack[]): Failures {
  const settled = new Map<string, Failures[number]>()
  const fresh = new Map<string, Failures[number]>()
  const settle = () => {
    for (const [key, failure] of fresh) settled.set(key, failure)
    fresh.clear()
  }
  for (const { seq, type, data: text } of events) {
    if (type === 'task.waiting') {
      settle()
      continue
    }
    if (isVoid(seq, sentBack)) continue
    const data = JSON.parse(text) as EventData['step.failed'] & EventData['task.requeued']
    if (type === 'task.requeued') {
      if (data.reason === 'yielded' || data.reason === 'drained') settle()
      fresh.clear()
      if (data.reason === 'retry') settled.clear()
    } else if (type === 'step.completed') {
      fresh.delete(data.key)
      settled.delete(data.key)
    } else if (data.retry === undefined)
      fresh.set(data.key, { key: data.key, seq, error: canonical(data.error) })
  }
  return [...settled.values()]
}

import type { Deed, End, Sight } from './operation.ts'

/** All that one task is, when things happen to it one after another. Plain data: two states are the same when their JSON is. */
export interface TaskModel {
  readonly input: string | undefined
  /** The fencing token of the last lease, and whether it is live. */
  readonly token: number
  readonly isHeld: boolean
  readonly attempt: number
  readonly memos: Readonly<Record<string, string>>
  /** Signals that the handler has not been given, the oldest first, and those that it was, by key. */
  readonly signals: readonly string[]
  readonly taken: Readonly<Record<string, string>>
  readonly end: End | undefined
}

export const absent: TaskModel = {
  input: undefined,
  token: 0,
  isHeld: false,
  attempt: 1,
  memos: {},
  signals: [],
  taken: {},
  end: undefined,
}

/**
 * The task after a deed; the same object when it changes nothing; undefined when the deed cannot happen to it now, or not with this
 * answer. Source: `docs/semantics.md` 1, 2.7, 4.4, 5.3, 7.1, 12.4.
 */
export function apply(task: TaskModel, deed: Deed): TaskModel | undefined {
  const { input, end } = task
  const isThere = input !== undefined
  const isOpen = isThere && end === undefined
  switch (deed.call) {
    case 'submit': {
      if (!isThere) return fits(deed.answer, 'accepted') ? { ...task, input: deed.input } : undefined
      const isSame = deed.by === 'key' && deed.input === input
      return fits(deed.answer, isSame ? 'again' : 'refused') ? task : undefined
    }
    case 'status':
      return deed.answer === undefined || isSight(task, deed.answer) ? task : undefined
    case 'result':
      return deed.answer === undefined || isEnd(end, deed.answer) ? task : undefined
    case 'cancel':
      if (!fits(deed.answer, isOpen)) return undefined
      return isOpen ? { ...task, isHeld: false, end: { state: 'canceled' } } : task
    case 'signal':
      if (!fits(deed.answer, isOpen)) return undefined
      return isOpen ? { ...task, signals: [...task.signals, deed.value] } : task
    case 'claim':
      return isOpen && !task.isHeld && deed.token === task.token + 1 && deed.attempt === task.attempt
        ? { ...task, token: deed.token, isHeld: true }
        : undefined
    case 'lapse':
      return task.isHeld && deed.token === task.token
        ? { ...task, isHeld: false, attempt: task.attempt + 1 }
        : undefined
    case 'step': {
      if (!holds(task, deed)) return fits(deed.answer, 'stale') ? task : undefined
      const memo = task.memos[deed.key] ?? deed.value
      if (deed.answer !== undefined && (deed.answer === 'stale' || deed.answer.memo !== memo))
        return undefined
      return deed.key in task.memos ? task : { ...task, memos: { ...task.memos, [deed.key]: memo } }
    }
    case 'memos':
      return deed.answer === undefined || sameRecord(deed.answer, task.memos) ? task : undefined
    case 'settle':
      // The same settlement again gets the first answer, which nobody asks for here.
      if (!fits(deed.answer, holds(task, deed) ? 'ok' : 'stale')) return undefined
      return holds(task, deed) ? { ...task, isHeld: false, end: deed.end } : task
    case 'rest':
      if (!holds(task, deed)) return fits(deed.answer, 'stale') ? task : undefined
      if (deed.answer === 'stale') return undefined
      return deed.answer === 'kept' ? task : { ...task, isHeld: false }
    case 'take': {
      if (!isThere || deed.answer === undefined) return isThere ? task : undefined
      const { value } = deed.answer
      if (deed.key in task.taken) return task.taken[deed.key] === value ? task : undefined
      const [first, ...signals] = task.signals
      return first === value ? { ...task, signals, taken: { ...task.taken, [deed.key]: value } } : undefined
    }
  }
}

function holds({ isHeld, token }: TaskModel, by: { readonly token: number }): boolean {
  return isHeld && token === by.token
}

/** Whether an answer is the one that it has to be; one that nobody heard may have been. */
function fits<T>(answer: T | undefined, right: T): boolean {
  return answer === undefined || answer === right
}

function isSight({ input, end, attempt, isHeld, token, memos }: TaskModel, seen: Sight): boolean {
  if (seen.state === 'absent') return input === undefined
  if (input === undefined || seen.attempt !== attempt || seen.steps !== Object.keys(memos).length)
    return false
  if (seen.state === 'open') return end === undefined && !isHeld
  if (seen.state === 'running') return isHeld && seen.token === token
  return isEnd(end, seen)
}

function isEnd(end: End | undefined, seen: End): boolean {
  if (end?.state !== seen.state) return false
  return seen.state !== 'completed' || (end.state === 'completed' && end.output === seen.output)
}

function sameRecord(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key])
}

import {
  assertOptions,
  isA,
  type Rule,
  type Rules,
  RuntimeError,
  show,
  type WaitRecord,
  type WaitRequest,
} from '@ku0/agent-runtime-core'
import { endOfWait } from './ended-waits.ts'
import { assertDeclared, type ExchangeTerms, readSignal } from '../../terms/exchange.ts'
import { assertSignalName } from '../../terms/signal-name.ts'
import type { SignalWaitOptions } from '../../api/task-context.ts'
import { TimeoutError } from '../../api/errors.ts'
import { Answer, refused } from '../pass/answer.ts'
import { checkKey, type Pass } from '../pass/pass.ts'
import type { Callee } from '../pass/key-use.ts'
import type { Scope } from '../pass/scope.ts'

/** The caller of a wait: the pass, the scope, and the method of the context that was called. */
export interface WaitCaller {
  readonly pass: Pass
  readonly scope: Scope
  readonly callee: Callee
}

/** `ctx.sleep`. Source: `docs/semantics.md 12.3`. */
export function sleep(caller: WaitCaller, key: unknown, ms: unknown): Promise<void> {
  return waitFor(caller, key, (name) => {
    if (typeof ms !== 'number' || !(ms >= 0 && ms <= MAX_DELAY_MS))
      throw wrong(`sleep '${name}' takes a number of ms from 0 to ${MAX_DELAY_MS}`, ms)
    return { kind: 'timer', delayMs: ms }
  }) as Promise<void>
}

/** `ctx.sleepUntil`. Source: `docs/semantics.md 12.3`. */
export function sleepUntil(caller: WaitCaller, key: unknown, when: unknown): Promise<void> {
  return waitFor(caller, key, (name) => {
    const at = when instanceof Date ? when.getTime() : when
    if (typeof at !== 'number' || !(Math.abs(at) <= MAX_AT))
      throw wrong(`sleepUntil '${name}' takes a Date or epoch ms`, when)
    return { kind: 'timer', dueAt: Math.max(0, Math.ceil(at)) }
  }) as Promise<void>
}

/** `ctx.waitForSignal`. Source: `docs/semantics.md 12.4`. */
export function waitForSignal(
  caller: WaitCaller,
  terms: ExchangeTerms,
  key: unknown,
  options: unknown,
): Promise<unknown> {
  return waitFor(caller, key, (name) => {
    assertOptions(`waitForSignal '${name}'`, options, signalRules)
    const { signal = name, timeoutMs } = (options ?? {}) as SignalWaitOptions
    assertSignalName(signal, `signal of waitForSignal '${name}'`)
    assertDeclared(terms, 'signal', signal)
    const request = { name: signal, ...(timeoutMs === undefined ? {} : { delayMs: timeoutMs }) }
    return {
      kind: 'signal',
      ...request,
      read: (value: unknown) => readOrEnd(name, () => readSignal(terms, signal, value)),
    }
  })
}

/** Far longer than any wait, and far below what a Date can represent. */
const MAX_DELAY_MS = 1e15
/** The last ms of a Date. */
const MAX_AT = 8.64e15

/** Registers a wait, or returns the result of one that has ended. */
function waitFor(
  { pass, scope, callee }: WaitCaller,
  key: unknown,
  plan: (key: string) => PlannedWait,
): Promise<unknown> {
  try {
    if (scope.closedBy !== undefined) throw scope.closedBy
    checkKey(key, 'wait')
    const { read = same, ...wanted } = plan(key)
    const { position, wait: memo } = pass.use({
      key,
      as: wanted.kind,
      scope,
      callee,
      signal: wanted.kind === 'signal' ? wanted.name : undefined,
    })
    const request = { key, position, ...wanted }
    const answer = (record: WaitRecord): unknown => {
      if (record.outcome === 'timed_out') throw late(request)
      return read(valueOf(pass, record))
    }
    return awaitRecord(pass, scope, { key, memo }, answer, () => request)
  } catch (error) {
    return refused(scope, 'wait', key, error)
  }
}

interface PlannedWait extends Omit<WaitRequest, 'key' | 'position'> {
  /** What the handler gets of the value that ended the wait. */
  readonly read?: (value: unknown) => unknown
}

function same(value: unknown): unknown {
  return value
}

/** A value that does not fit is an end of the wait that made the task fail: a retry waits again. */
export function readOrEnd<T>(key: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw isA(error, RuntimeError) ? endOfWait(key, error) : error
  }
}

/** Resolves with what `read` makes of the record of an ended wait, now or when it has ended. */
export function awaitRecord<T>(
  pass: Pass,
  scope: Scope,
  { key, memo }: { readonly key: string; readonly memo: WaitRecord | undefined },
  read: (record: WaitRecord) => T,
  request: () => WaitRequest,
): Promise<T> {
  const answer = new Answer<T>(scope, 'wait', key)
  const over = (record: WaitRecord) => {
    scope.answered(record.seq)
    pass.answer(answer, record, () => read(record))
  }
  if (memo !== undefined) {
    over(memo)
    return answer.promise
  }
  const wait = { request: request(), scope, over, refuse: (reason: Error) => answer.reject(reason) }
  pass.waits.add(wait.request.kind === 'approval' ? { ...wait, question: answer } : wait)
  return answer.promise
}

/** The valid lengths of a wait. */
export const isWait: Rule = [
  `a number of ms from 0 to 1e15`,
  (value) => typeof value === 'number' && value >= 0 && value <= MAX_DELAY_MS,
]

/** The name is checked separately: without one, the key is the name. */
const signalRules: Rules<SignalWaitOptions> = { signal: ['', () => true], timeoutMs: isWait }

function valueOf(pass: Pass, { value }: WaitRecord): unknown {
  return value === undefined ? undefined : pass.attempt.parts.values.decode(value)
}

function late({ key, name, delayMs = 0 }: WaitRequest): TimeoutError {
  const what = name === key ? `signal '${key}'` : `signal '${name}' of wait '${key}'`
  return endOfWait(key, new TimeoutError(what, delayMs))
}

function wrong(expected: string, given: unknown): RuntimeError {
  return new RuntimeError('invalid_argument', `${expected}, not ${show(given)}`)
}

import { describeError, RuntimeError } from '@ku0/agent-runtime-core'
import type { Call, Scope } from './scope.ts'

/**
 * The problem with a handler or branch that has returned: a call of it has failed or is still running, and
 * nobody has looked at its promise. An open wait for a time or a signal is no problem. Source:
 * `docs/semantics.md 7`.
 */
export function unawaitedIn(scope: Scope): Error | undefined {
  const failed = scope.failures.find(({ isObserved }) => !isObserved)
  if (failed !== undefined) return failureOf(failed)
  const running = [...answersUnderWay(scope), ...questionsOf(scope)].find(({ isObserved }) => !isObserved)
  if (running === undefined) return undefined
  return new RuntimeError(
    'step_outside_handler',
    `${running.name} was not awaited: await every step before ${scope.name} returns`,
    { details: { key: running.key } },
  )
}

/** A native `Promise.race` leaves steps running: that is no error, but their results are lost. */
export function tellDropped(scope: Scope): void {
  const keys = answersUnderWay(scope).map(({ key }) => key)
  if (keys.length === 0) return
  scope.attempt.log('warn', 'steps still ran when the handler returned: their results are dropped', {
    keys: keys.slice(0, MAX_KEYS_TOLD),
    count: keys.length,
  })
}

const MAX_KEYS_TOLD = 10

function answersUnderWay({ members }: Scope): readonly Call[] {
  return [...members].flatMap(({ answer }) => (answer === undefined ? [] : [answer]))
}

function questionsOf({ members }: Scope): readonly Call[] {
  return [...members].flatMap(({ question }) => (question === undefined ? [] : [question]))
}

/**
 * Everything that depends on the error (its kind, whether it is tried again, what a log may show) follows the
 * underlying error.
 */
function failureOf({ name: called, failure }: Call): Error {
  const { name, message, code = 'handler_failed', retryable } = describeError(failure)
  const error = new Error(`${called} failed and was not awaited: ${message}`, { cause: failure })
  return Object.assign(error, { name, code, ...(retryable === undefined ? {} : { retryable }) })
}

import { type ErrorRecord, toRuntimeError } from '@ku0/agent-runtime-core'
import { TimeoutError } from '../task-errors.ts'

/**
 * The error that a step failed with, for a replay to throw again: with its name, message, code and causes. Of its class only
 * `RuntimeError`, `NonRetryableError` and `TimeoutError` are told again. Source: `docs/semantics.md 6.3`.
 */
export function recordedError(record: ErrorRecord): Error {
  const error: Error = toRuntimeError(record)
  if (record.name === 'TimeoutError' && record.code === 'timeout')
    Object.setPrototypeOf(error, TimeoutError.prototype)
  else if (record.code !== undefined)
    Object.defineProperty(error, 'code', { value: record.code, enumerable: true, configurable: true })
  return error
}

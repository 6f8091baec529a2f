import { type ErrorRecord, NonRetryableError, toRuntimeError } from '@ku0/agent-runtime-core'
import type { ErrorClass } from '../../api/task-type.ts'
import { ApprovalRejected, StepInDoubt, TaskFailed, TaskRejected, TimeoutError } from '../../api/errors.ts'

/**
 * The error that a step failed with, rebuilt from the history: its name, message, code and causes. Its class
 * is found by its name, among the runtime's own and those that the task type lists under `errors`. Source:
 * `docs/semantics.md 6.3, 7.2`.
 */
export function recordedError(record: ErrorRecord, classes: readonly ErrorClass[]): Error {
  const error: Error = toRuntimeError(record)
  if (record.code !== undefined)
    Object.defineProperty(error, 'code', { value: record.code, enumerable: true, configurable: true })
  const known = [...classes, ...own].find(
    ({ name, prototype }) => name === record.name || prototype.name === record.name,
  )
  if (known === undefined) return error
  Object.setPrototypeOf(error, known.prototype)
  // If the class sets no name of its own, its errors have none either.
  if (known.prototype.name !== record.name) Reflect.deleteProperty(error, 'name')
  return error
}

const own: readonly ErrorClass[] = [
  TimeoutError,
  NonRetryableError,
  ApprovalRejected,
  StepInDoubt,
  TaskFailed,
  TaskRejected,
]

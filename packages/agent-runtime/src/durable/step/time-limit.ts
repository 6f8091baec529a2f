import { TimeoutError } from '../../api/errors.ts'
import { linkedController } from '../linked-controller.ts'
import type { Scope } from '../pass/scope.ts'

/** The time limit of one try. */
export interface TimeLimit {
  readonly controller: AbortController
  /** The function has ended: neither the time limit nor the task's signal aborts it any more. */
  end(): void
}

/** Starts the time limit of a try. `onLate` is called before the signal of the try aborts. */
export function limitTime(
  scope: Scope,
  key: string,
  timeoutMs: number,
  onLate: (error: TimeoutError) => void,
): TimeLimit {
  const { controller, unlink } = linkedController(scope.signal)
  const deadline = scope.attempt.parts.deadlines.after(timeoutMs, () => {
    const error = new TimeoutError(`step '${key}'`, timeoutMs)
    onLate(error)
    controller.abort(error)
  })
  const end = () => {
    deadline.cancel()
    unlink()
  }
  return { controller, end }
}

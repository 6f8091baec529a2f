import { describeError, type HandlerEnd, RuntimeError } from '@ku0/agent-runtime-core'
import type { RunnerEnd, RunnerSpec } from './line.ts'

/** What the end of a runner means for the task that it was running. Source: `docs/isolation.md`. */
export function endOfRunner(
  type: string,
  { isolation, memoryMb }: Pick<RunnerSpec, 'isolation' | 'memoryMb'>,
  { how, isOutOfMemory, error }: RunnerEnd,
): HandlerEnd {
  if (isOutOfMemory) {
    const limit =
      memoryMb === undefined ? 'the memory that the platform gives it' : `its memoryMb of ${memoryMb}`
    const message = `the ${isolation} of task '${type}' used up ${limit}: raise memoryMb, or hold less at once`
    return { as: 'stopped', kind: 'hard_limit', error: recordOf('memory_exceeded', message) }
  }
  if (error !== undefined) {
    const message = `the ${isolation} of task '${type}' ended with an error that nobody caught: ${error.message}`
    return { as: 'stopped', kind: 'crashed', error: { ...recordOf('crashed', message), cause: error } }
  }
  const cause = how.startsWith('exit code')
    ? 'process.exit was called, or a library ended it'
    : 'a signal ended it: somebody killed it, or a library crashed'
  const message = `the ${isolation} of task '${type}' ended before its handler did (${how}): ${cause}`
  return { as: 'stopped', kind: 'crashed', error: recordOf('crashed', message) }
}

function recordOf(code: 'crashed' | 'memory_exceeded', message: string) {
  // Its stack is the worker's: it says nothing about the handler.
  const { stack: _, ...record } = describeError(new RuntimeError(code, message))
  return record
}

import {
  decode,
  type ErrorRecord,
  type ExecutionStore,
  isFinal,
  RuntimeError,
  TaskCanceled,
  type TaskRecord,
} from '@ku0/agent-runtime-core'
import type { Deadlines } from './execution/index.ts'
import type { Feed } from './feed.ts'
import type { WaitOptions } from './runtime.ts'
import { TaskFailed, TaskRejected, TimeoutError } from './task-errors.ts'

/** What waiting for a result needs. */
export interface ResultDeps {
  readonly store: ExecutionStore
  readonly feed: Feed
  readonly deadlines: Deadlines
}

/**
 * The output of a task, once it has one. The end is asked for before the task is read, so that none falls in between; it is
 * read again when the end was heard of, so that it does not matter who told of it, or how often.
 */
export async function awaitResult(deps: ResultDeps, taskId: string, options: WaitOptions): Promise<unknown> {
  options.signal?.throwIfAborted()
  using end = deps.feed.awaitEnd(taskId)
  const first = await read(deps.store, taskId)
  if (isFinal(first.state)) return outputOf(first)
  await limited(deps.deadlines, taskId, end.ended, options)
  return outputOf(await read(deps.store, taskId))
}

async function read(store: ExecutionStore, taskId: string): Promise<TaskRecord> {
  const record = await store.read({ kind: 'task', taskId })
  if (record === undefined) throw noTask(taskId)
  return record
}

/** The error for an id that the store does not know. */
export function noTask(taskId: string): RuntimeError {
  return new RuntimeError('not_found', `there is no task ${taskId}, or it was pruned`, {
    details: { taskId },
  })
}

function outputOf(record: TaskRecord): unknown {
  switch (record.state) {
    case 'completed':
      return decode(record.output)
    case 'failed':
      throw new TaskFailed(record.taskId, record.kind, decode(record.error) as ErrorRecord)
    case 'canceled':
      throw new TaskCanceled(record.taskId, record.reason)
    case 'rejected':
      throw new TaskRejected(record.taskId, record.reason, record.message)
    case 'queued':
    case 'running':
    case 'waiting':
      throw new RuntimeError('internal', `task ${record.taskId} is ${record.state} after its final event`)
  }
}

/** Waits for `ended`, but no longer than the caller wants to. */
async function limited(
  deadlines: Deadlines,
  taskId: string,
  ended: Promise<void>,
  options: WaitOptions,
): Promise<void> {
  const { signal, timeoutMs } = options
  if (signal === undefined && timeoutMs === undefined) return ended
  const stop = Promise.withResolvers<never>()
  const abort = () => stop.reject(signal?.reason)
  const deadline =
    timeoutMs === undefined
      ? undefined
      : deadlines.after(timeoutMs, () =>
          stop.reject(new TimeoutError(`waiting for the result of task ${taskId}`, timeoutMs)),
        )
  signal?.addEventListener('abort', abort, { once: true })
  if (signal?.aborted === true) abort()
  try {
    await Promise.race([ended, stop.promise])
  } finally {
    deadline?.cancel()
    signal?.removeEventListener('abort', abort)
  }
}

import {
  decode,
  type Divergence,
  type ErrorRecord,
  type ExecutionStore,
  isFinal,
  RuntimeError,
  TaskCanceled,
  type TaskRecord,
  type ValueCodec,
} from '@ku0/agent-runtime-core'
import { type LogLine, silent } from '../api/logger.ts'
import type { Deadline, Deadlines } from '../lease/deadlines.ts'
import type { Feed } from './feed.ts'
import type { WaitOptions } from '../api/client.ts'
import { TaskDiverged, TaskFailed, TaskRejected, TimeoutError } from '../api/errors.ts'

/** The dependencies of waiting for a result. */
export interface ResultDeps {
  readonly store: ExecutionStore
  readonly feed: Feed
  readonly deadlines: Deadlines
  readonly log: LogLine
  readonly values: ValueCodec
}

/**
 * The output of a task, once it has one. The subscription to its halt comes before the first read, so no halt
 * is missed. After a halt the task is read again, so it does not matter which event reported it, or how
 * often. A task that is parked as diverged goes on only after somebody acts, so the waiting caller gets an
 * error; the task may have been resumed by the time it is read. `foundAt`: when the key of a submission found it.
 */
export async function awaitResult(
  deps: ResultDeps,
  taskId: string,
  options: WaitOptions,
  foundAt: number | undefined,
): Promise<unknown> {
  options.signal?.throwIfAborted()
  using limit = limitOf(deps.deadlines, taskId, options)
  using _ = tellWait(deps, taskId)
  for (;;) {
    using halt = deps.feed.awaitHalt(taskId)
    const first = await read(deps.store, taskId)
    if (hasHalted(first)) return outputOf(first, foundAt, deps.values)
    await (limit.reached === undefined ? halt.halted : Promise.race([halt.halted, limit.reached]))
    const halted = await read(deps.store, taskId)
    if (hasHalted(halted)) return outputOf(halted, foundAt, deps.values)
  }
}

function hasHalted(record: TaskRecord): boolean {
  return isFinal(record.state) || divergenceOf(record) !== undefined
}

function divergenceOf(record: TaskRecord): Divergence | undefined {
  return record.state === 'waiting' ? record.divergence : undefined
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

function outputOf(record: TaskRecord, foundAt: number | undefined, values: ValueCodec): unknown {
  switch (record.state) {
    case 'completed':
      return values.decode(record.output)
    case 'failed':
      throw new TaskFailed(
        record.taskId,
        record.kind,
        decode(record.error) as ErrorRecord,
        foundAt !== undefined && record.finishedAt <= foundAt ? earlier(record.finishedAt) : '',
      )
    case 'canceled':
      throw new TaskCanceled(record.taskId, record.reason)
    case 'rejected':
      throw new TaskRejected(record.taskId, record.reason, record.message)
    case 'queued':
    case 'running':
    case 'waiting': {
      const divergence = divergenceOf(record)
      if (divergence !== undefined) throw new TaskDiverged(record.taskId, divergence)
      throw new RuntimeError(
        'internal',
        `task ${record.taskId} is ${record.state}, which is not a final state`,
      )
    }
  }
}

/** Whoever submits anew with a key may take the error for that of a new run. */
function earlier(failedAt: number): string {
  return `. The idempotency key of this submission found it: it failed at ${new Date(failedAt).toISOString()} and was not run again. runtime.retry(receipt) runs it again as a new task, which keeps its completed steps; another key submits it from the start`
}

/** Says once why a task has no result yet, when it has been waited for long and does not run. */
function tellWait({ store, deadlines, log }: ResultDeps, taskId: string): Disposable {
  let deadline: Deadline | undefined
  const look = async () => {
    const why = await store.read({ kind: 'explain', taskId })
    if (why === undefined || deadline === undefined) return
    if (why.state === 'running') return arm()
    const { state, summary } = why
    log('info', 'still waiting for a result', { taskId, state, why: summary })
  }
  const arm = () => {
    // A store that cannot be read fails the wait itself.
    deadline = deadlines.after(LONG_WAIT_MS, () => void look().catch(() => {}))
  }
  if (log !== silent) arm()
  return {
    [Symbol.dispose]: () => {
      deadline?.cancel()
      deadline = undefined
    },
  }
}

const LONG_WAIT_MS = 10_000

/** The caller's time limit: `reached` rejects after it, and is undefined without a limit. */
function limitOf(
  deadlines: Deadlines,
  taskId: string,
  { signal, timeoutMs }: WaitOptions,
): { readonly reached?: Promise<never> } & Disposable {
  if (signal === undefined && timeoutMs === undefined) return { [Symbol.dispose]: () => {} }
  const stop = Promise.withResolvers<never>()
  stop.promise.catch(() => {})
  const abort = () => stop.reject(signal?.reason)
  const deadline =
    timeoutMs === undefined
      ? undefined
      : deadlines.after(timeoutMs, () =>
          stop.reject(new TimeoutError(`waiting for the result of task ${taskId}`, timeoutMs)),
        )
  signal?.addEventListener('abort', abort, { once: true })
  const dispose = () => {
    deadline?.cancel()
    signal?.removeEventListener('abort', abort)
  }
  return { reached: stop.promise, [Symbol.dispose]: dispose }
}

import {
  encode,
  type ExecutionConfig,
  type ExecutionStore,
  RuntimeError,
  type TaskState,
} from '@ku0/agent-runtime-core'
import { noTask } from './result.ts'
import { assertSignalName } from '../terms/signal-name.ts'
import type { SignalReceipt } from '../api/client.ts'

/** Sends a task a signal. Source: `docs/semantics.md 12.4`. */
export async function sendSignal(
  store: ExecutionStore,
  { maxPayloadBytes, maxSignals }: ExecutionConfig,
  taskId: string,
  name: unknown,
  value: unknown,
): Promise<SignalReceipt> {
  assertSignalName(name, "a signal's name")
  const text = encode(value, { what: `the value of signal '${name}'`, maxBytes: maxPayloadBytes })
  const { delivered, state, full } = await store.write({ kind: 'signal', taskId, name, value: text })
  if (state === undefined) throw noTask(taskId)
  if (full === true) {
    const message = `task ${taskId} has maxSignals ${maxSignals} signals that it has not taken yet`
    throw new RuntimeError('limit_exceeded', message, { details: { taskId, name, maxSignals } })
  }
  if (!delivered) throw isOver(taskId, name, state)
  return { delivered, state }
}

/** Nothing of it was stored, and nobody will ever take it. */
function isOver(taskId: string, name: string, state: TaskState): RuntimeError {
  return new RuntimeError(
    'invalid_argument',
    `signal '${name}': task ${taskId} is ${state} and takes no signals; nothing was stored: ${wayOut(state)}`,
    { details: { taskId, name, state } },
  )
}

function wayOut(state: TaskState): string {
  switch (state) {
    case 'failed':
    case 'canceled':
      return 'runtime.retry gives a new task that goes on from its steps, send it to that'
    case 'rejected':
      return 'submit it again, and send it to that task'
    default:
      return 'what it waited for has come or was given up; runtime.fork gives a new task that does it again'
  }
}

import {
  type ExecutionConfig,
  type ExecutionStore,
  RuntimeError,
  suggestionFor,
  type TaskState,
  type ValueCodec,
} from '@ku0/agent-runtime-core'
import { noTask } from './result.ts'
import { assertSignal } from '../terms/exchange.ts'
import { assertSignalName } from '../terms/signal-name.ts'
import type { SignalReceipt } from '../api/client.ts'
import type { LogLine } from '../api/logger.ts'
import type { KnownTypes } from './known-types.ts'
import type { SaidOnce } from '../terms/said-once.ts'

/** What sending a signal needs. */
export interface SignalDeps {
  readonly store: ExecutionStore
  readonly config: ExecutionConfig
  readonly values: ValueCodec
  readonly types: KnownTypes
  readonly log: LogLine
  readonly said: SaidOnce
}

/** Sends a task a signal. Source: `docs/semantics.md 12.4`. */
export async function sendSignal(
  deps: SignalDeps,
  taskId: string,
  name: unknown,
  value: unknown,
): Promise<SignalReceipt> {
  const { maxPayloadBytes, maxSignals } = deps.config
  assertSignalName(name, "a signal's name")
  if (deps.types.anyWith('signals')) {
    const type = (await deps.store.read({ kind: 'task', taskId }))?.type
    const terms = type === undefined ? undefined : deps.types.exchangeOf(type)
    if (terms !== undefined) assertSignal(terms, name, value)
  }
  const text = deps.values.encode(value, { what: `the value of signal '${name}'`, maxBytes: maxPayloadBytes })
  const outcome = await deps.store.write({ kind: 'signal', taskId, name, value: text })
  const { delivered, state, awaited = false, full } = outcome
  if (state === undefined) throw noTask(taskId)
  if (full === true) {
    const message = `task ${taskId} already has maxSignals ${maxSignals} signals that it has not taken; send more later`
    throw new RuntimeError('limit_exceeded', message, { details: { taskId, name, maxSignals } })
  }
  if (!delivered) throw isOver(taskId, name, state)
  if (!awaited && state === 'waiting') await tellUnawaited(deps, taskId, name)
  return { delivered, state, awaited }
}

/** A running task may wait for it yet; one that waits for something else goes on only when that has come. */
async function tellUnawaited(
  { store, log, said }: SignalDeps,
  taskId: string,
  signal: string,
): Promise<void> {
  const task = await store.read({ kind: 'task', taskId })
  if (task?.state !== 'waiting' || !said.isNew('signal', task.type, signal)) return
  const names = task.waits.flatMap(({ kind, name }) =>
    kind === 'signal' && name !== undefined ? [name] : [],
  )
  const meant = suggestionFor(signal, names)
  log('warn', 'a signal is kept: the task waits for something else', {
    taskId,
    type: task.type,
    signal,
    waitingFor: task.waitingFor,
    signals: names.slice(0, 20),
    ...(meant === undefined ? {} : { meant }),
  })
}

/** The error for a signal to a task that takes no signals. Nothing was stored. */
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
      return 'runtime.retry creates a new task that continues from its steps; send the signal to that task'
    case 'rejected':
      return 'submit the task again, and send the signal to the new one'
    default:
      return 'its waits have ended; runtime.fork creates a new task that waits again'
  }
}

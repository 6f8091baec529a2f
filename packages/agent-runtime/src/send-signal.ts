import { encode, type ExecutionConfig, type ExecutionStore, RuntimeError } from '@ku0/agent-runtime-core'
import { assertSignalName } from './rules.ts'
import type { SignalReceipt } from './runtime.ts'

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
  const { full, ...receipt } = await store.write({ kind: 'signal', taskId, name, value: text })
  if (full === true) {
    const message = `task ${taskId} has maxSignals ${maxSignals} signals that it has not taken yet`
    throw new RuntimeError('limit_exceeded', message, { details: { taskId, name, maxSignals } })
  }
  return receipt
}

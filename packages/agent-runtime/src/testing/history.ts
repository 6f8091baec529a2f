import { type ErrorRecord, isInternal, type ExecutionStore, orderOfHistory } from '@ku0/agent-runtime-core'
import { readEvents } from '../replay/replay-task.ts'
import { noTask } from '../client/result.ts'
import type { RuntimeEvent } from '../api/events.ts'
import { toRuntimeEvent } from '../client/stored-event.ts'
import { systemEnvironment } from '../system.ts'
import { textOfHistory } from './history-text.ts'
import type { StepLedger } from './step-ledger.ts'
import { type TaskHistory, type HistoryStep, type HistoryWait } from './task-history.ts'

/** Reads a task's history. Throws `not_found`. */
export async function readHistory(
  store: ExecutionStore,
  taskId: string,
  ledger: StepLedger,
): Promise<TaskHistory> {
  const record = await store.read({ kind: 'task', taskId })
  if (record === undefined) throw noTask(taskId)
  const stored = await readEvents(store, taskId)
  const events = stored.map((event) => toRuntimeEvent(event))
  const plain = stored.map(({ seq, type, data }) => ({ seq, type, data: JSON.parse(data) as Data }))
  const history = {
    taskId,
    type: record.type,
    state: record.state,
    attempts: record.attempt,
    passes: events.filter(({ type }) => type === 'task.started').length,
    steps: stepsIn(events, ledger),
    waits: waitsIn(events),
    events: events.map(({ type }) => type),
    orderHash: orderOfHistory(plain, systemEnvironment.digest).hash,
  }
  // Not enumerable, so that two histories can be compared field by field.
  return Object.defineProperty(history, 'toString', { value: () => textOfHistory(history, events) })
}

type Data = Readonly<Record<string, unknown>>

function stepsIn(events: readonly RuntimeEvent[], ledger: StepLedger): HistoryStep[] {
  const steps = new Map<string, HistoryStep>()
  let attempt = 1
  for (const { type, taskId, data } of events) {
    if (type === 'task.started') attempt = data.attempt
    if (type !== 'step.completed' && type !== 'step.inherited' && type !== 'step.failed') continue
    const { key } = data
    if (isInternal(key)) continue
    const outcome = type === 'step.failed' ? { error: data.error as ErrorRecord } : { result: data.result }
    steps.set(key, { key, ...outcome, attempt, runs: ledger.runsOf(taskId, key) })
  }
  return [...steps.values()]
}

function waitsIn(events: readonly RuntimeEvent[]): HistoryWait[] {
  const waits = new Map<string, HistoryWait>()
  const keep = (wait: HistoryWait) => {
    if (!isInternal(wait.key)) waits.set(wait.key, wait)
  }
  for (const { type, data } of events) {
    if (type === 'task.waiting')
      for (const wait of data.waits) keep({ ...waits.get(wait.key), ...begun(wait) })
    if (type === 'wait.started') keep(begun(data))
    if (type !== 'task.resumed' && type !== 'wait.resolved' && type !== 'wait.inherited') continue
    if (data.key === undefined) continue
    const value = data.outcome === 'received' ? { value: data.value } : {}
    keep({ ...begun(data), outcome: data.outcome, ...value })
  }
  return [...waits.values()]
}

function begun({ key, kind, name }: HistoryWait): HistoryWait {
  return { key, kind, ...(name === undefined ? {} : { name }) }
}

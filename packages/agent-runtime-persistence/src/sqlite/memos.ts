import {
  canonical,
  childPolicies,
  type ChildRecord,
  type EventData,
  isRetryWait,
  type OpenWait,
  type Reads,
  type StepRecord,
  type StoredEvent,
  type TaskRow,
  type WaitRecord,
  type WaitRow,
} from '@ku0/agent-runtime-core'
import { standing } from './load.ts'
import type { Db } from './open.ts'
import { prepareSettledFailures } from './settled-failures.ts'
import type { SqliteTables } from './tables.ts'

/** Reads what the passes of a task have left behind, as far as it counts. Source: `docs/semantics.md 7, 12.2`. */
export function prepareMemos(
  db: Db,
  tables: SqliteTables,
): {
  readonly steps: (row: TaskRow) => StepRecord[]
  readonly memos: (row: TaskRow) => Reads['memos']['answer']
} {
  const { load, ids } = tables
  const settledFailures = prepareSettledFailures(db, tables)
  const stepEvents = db.prepare<[number], MemoColumns>(
    "SELECT seq, type, at, data, blob FROM event WHERE task = ? AND type IN ('step.completed', 'step.inherited') ORDER BY seq",
  )
  const memoEvents = db.prepare<[number], MemoColumns>(
    "SELECT seq, type, at, data, blob FROM event WHERE task = ? AND type IN ('step.started', 'step.failed', 'step.completed', 'step.inherited', 'wait.resolved', 'wait.inherited', 'task.resumed') ORDER BY seq",
  )
  const lastFailure = db
    .prepare<[number], number | null>(
      "SELECT max(seq) FROM event WHERE task = ? AND type = 'step.failed' AND data -> '$.retry' IS NULL",
    )
    .pluck()
  const lastRetry = db
    .prepare<[number], number | null>(
      "SELECT max(seq) FROM event WHERE task = ? AND type = 'task.requeued' AND data ->> '$.reason' = 'retry'",
    )
    .pluck()
  const childRecords = db.prepare<
    [number],
    Omit<ChildRecord, 'policy' | 'taskId'> & { id: number; explicit: string | null; policy: number }
  >(
    'SELECT child.key, position, policy, child.seq, task.id, explicit_id AS explicit, stream.type FROM child JOIN task ON task.id = child.task JOIN stream ON stream.id = task.stream WHERE child.parent = ? ORDER BY child.seq',
  )

  return {
    steps: (row) => standing(stepEvents.all(row.id), load.rejections(row.id), () => undefined).map(stepOf),
    memos: memosOf,
  }

  /** The data with its blob put back. */
  function whole({ data, blob }: MemoColumns): string {
    return blob === null ? data : tables.withBlob(data, blob, load.blob(blob) ?? '')
  }

  function stepOf(it: MemoColumns): StepRecord {
    const { key, position, result, inputHash, durationMs } = JSON.parse(
      whole(it),
    ) as EventData['step.completed']
    return {
      key,
      position,
      result: canonical(result),
      seq: it.seq,
      at: it.at,
      durationMs,
      ...(inputHash === undefined ? {} : { inputHash }),
    }
  }

  function memosOf(row: TaskRow): Reads['memos']['answer'] {
    const steps: StepRecord[] = []
    const waits: WaitRecord[] = []
    const found = memoEvents.all(row.id).filter(({ data }) => !PUT_BACK.has(data))
    const sentBack = found.some(({ type, data }) => isWaitEnd(type) && data.includes('"since":'))
      ? load.rejections(row.id)
      : []
    const children = childRecords.all(row.id).map(({ id, explicit, policy, ...child }): ChildRecord => ({
      ...child,
      taskId: explicit ?? ids.task(id),
      policy: childPolicies[policy] as ChildRecord['policy'],
    }))
    const spawnedAt = new Map(children.map(({ key, seq }) => [key, seq]))
    const doubts = new Map<string, number>()
    const retriedAt = row.attempt === 1 ? 0 : (lastRetry.get(row.id) ?? 0)
    for (const it of standing(found, sentBack, (key) => spawnedAt.get(key)))
      switch (it.type) {
        case 'step.started':
        case 'step.failed':
          countDoubt(doubts, it.type, whole(it))
          break
        case 'step.completed':
        case 'step.inherited':
          steps.push(stepOf(it))
          break
        default: {
          const wait = waitOf(it)
          if (it.seq > retriedAt || !isRetryWait(wait.key)) waits.push(wait)
        }
      }
    for (const { key } of steps) doubts.delete(key)
    const inDoubt = [...doubts].flatMap(([key, count]) => (count > 0 ? [{ key, starts: count }] : []))
    const rejections = sentBack.flatMap(({ since, seq }) =>
      found
        .filter((it) => it.seq === seq)
        .map((it) => ({ since, ...waitOf(it) }))
        .map(({ key, at, value = 'null' }) => ({ key, since, seq, at, value })),
    )
    const open = row.waits === 0 ? [] : load.waits(row.id).map(openWaitOf)
    const failure = lastFailure.get(row.id) ?? undefined
    const failed = failure === undefined ? {} : { lastFailure: failure }
    const failures = failure === undefined ? [] : settledFailures(row.id, sentBack)
    return { steps, waits, open, children, inDoubt, rejections, failures, ...failed }
  }

  function waitOf(it: MemoColumns): WaitRecord {
    const { key, kind, position, outcome, ...rest } = JSON.parse(whole(it)) as EventData['wait.resolved']
    return {
      key,
      kind,
      position,
      outcome,
      seq: it.seq,
      at: it.at,
      ...('value' in rest ? { value: canonical(rest.value) } : {}),
    }
  }
}

/** Of a task that is not there. */
export const noMemos: Reads['memos']['answer'] = {
  steps: [],
  waits: [],
  open: [],
  children: [],
  inDoubt: [],
  rejections: [],
  failures: [],
}

/** A step that said how it failed is not in doubt, unless it ran out of time, or failed because it was in doubt. */
function countDoubt(doubts: Map<string, number>, type: StoredEvent['type'], data: string): void {
  const { key, error } = JSON.parse(data) as { key: string; error?: { code?: string } }
  const count = Math.abs(doubts.get(key) ?? 0)
  if (type === 'step.started') doubts.set(key, count + 1)
  else if (count > 0 && error?.code !== 'timeout' && error?.code !== 'in_doubt') doubts.set(key, -count)
}

/** A wait as it is shown to others. */
export function openWaitOf({ key, position, kind, name, dueAt }: WaitRow): OpenWait {
  return { key, position, kind, ...(name === null ? {} : { name }), ...(dueAt === null ? {} : { dueAt }) }
}

/** Whether a rejection may stand in such an event. */
function isWaitEnd(type: StoredEvent['type']): boolean {
  return type === 'task.resumed' || type === 'wait.inherited'
}

/** The data of a resumption that no wait brought about: of a task that was parked. */
const PUT_BACK: ReadonlySet<string> = new Set(['{"reason":"divergence"}', '{"reason":"budget"}'])

interface MemoColumns {
  readonly seq: number
  readonly type: StoredEvent['type']
  readonly at: number
  readonly data: string
  readonly blob: string | null
}

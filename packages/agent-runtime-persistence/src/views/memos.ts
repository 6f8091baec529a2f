import {
  canonical,
  childPolicies,
  type ChildRecord,
  type EventData,
  type EventType,
  isRetryWait,
  type OpenWait,
  pastFailure,
  type Reads,
  type StepRecord,
  type StoredEvent,
  type WaitRecord,
} from '@ku0/agent-runtime-core'
import {
  type PassEvent,
  type PlainEvent,
  settledFailures,
  standing,
  startsIn,
  type TaskRow,
  type WaitRow,
} from '@ku0/agent-runtime-core/transition'
import type { StoredTables } from '../sqlite/stored-tables.ts'
import type { Queries } from './queries.ts'
import { MAX_PAGE_CHARS } from './read-context.ts'

/** Reads what the passes of a task have left behind, as far as it counts. Source: `docs/semantics.md 7, 12.2`. */
export function prepareMemos(
  db: Queries,
  tables: StoredTables,
): {
  readonly steps: (row: TaskRow, page: Reads['steps']['fields']) => Reads['steps']['answer']
  /** `events` are those of the task that are of {@link memoTypes}, in their order; `hasChildren`: whether another says that it has had any. */
  readonly memos: (
    row: TaskRow,
    events: readonly PlainEvent[],
    hasChildren: boolean,
  ) => Reads['memos']['answer']
} {
  const { load, ids } = tables
  const passEvents = db.prepare<
    [number],
    Omit<PassEvent, 'data'> & Pick<PlainEvent, 'blob'> & { data: string | null }
  >(
    `SELECT seq, type, CASE WHEN type <> 'task.waiting' THEN data END AS data, blob FROM event
     WHERE task = ? AND type IN ('step.failed', 'step.completed', 'task.waiting', 'task.requeued') ORDER BY seq`,
  )
  const stepEvents = db.prepare<[number, number, number], PlainEvent>(
    "SELECT seq, type, at, data, blob FROM event WHERE task = ? AND seq > ? AND type IN ('step.completed', 'step.inherited') ORDER BY seq LIMIT ? + 0",
  )
  const childRecords = db.prepare<
    [number],
    Omit<ChildRecord, 'policy' | 'taskId'> & { id: number; explicit: string | null; policy: number }
  >(
    'SELECT child.key, position, policy, child.seq, task.id, explicit_id AS explicit, stream.type FROM child JOIN task ON task.id = child.task JOIN stream ON stream.id = task.stream WHERE child.parent = ?',
  )

  return { steps: stepsOf, memos: memosOf }

  /** A page may be short: steps that a rejection has made void are looked at, too, and large results fill it. */
  function stepsOf(row: TaskRow, { after, limit }: Reads['steps']['fields']): Reads['steps']['answer'] {
    const most = Math.min(MAX_STEPS, Math.max(1, limit))
    const found = stepEvents.all(row.id, after, most + 1)
    const isWhole = found.length <= most
    const counting = standing(found.slice(0, most), load.rejections(row.id), () => undefined)
    const steps: StepRecord[] = []
    let chars = 0
    for (let first = 0; first < counting.length; first += AT_ONCE) {
      const few = counting.slice(first, first + AT_ONCE)
      db.ahead(few, stepOf)
      for (const step of few.map(stepOf)) {
        if (chars > MAX_PAGE_CHARS) return { steps, cursor: steps.at(-1)?.seq ?? after }
        steps.push(step)
        chars += step.result.length
      }
    }
    return { steps, ...(isWhole ? {} : { cursor: found[most - 1]?.seq ?? after }) }
  }

  /** The data with its blob put back. */
  function whole({ data, blob }: Pick<PlainEvent, 'data' | 'blob'>): string {
    return blob === null ? data : tables.withBlob(data, blob, load.blob(blob) ?? '')
  }

  function* passesOf(task: number): Iterable<PassEvent> {
    for (const { seq, type, data, blob } of passEvents.all(task))
      yield { seq, type, data: whole({ data: data ?? '{}', blob }) }
  }

  function stepOf(it: PlainEvent): StepRecord {
    const { key, position, result, inputHash, durationMs, branchKeys, nested } = JSON.parse(
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
      ...(branchKeys === undefined ? {} : { branchKeys }),
      ...(nested === undefined ? {} : { nested }),
    }
  }

  function memosOf(
    row: TaskRow,
    events: readonly PlainEvent[],
    hasChildren: boolean,
  ): Reads['memos']['answer'] {
    const steps: StepRecord[] = []
    const waits: WaitRecord[] = []
    const found = events.filter(({ type, data }) => type !== 'task.requeued' && !PUT_BACK.has(data))
    const sentBack = found.some(({ type, data }) => isWaitEnd(type) && data.includes('"since":'))
      ? load.rejections(row.id)
      : []
    const children = (hasChildren ? childRecords.all(row.id) : [])
      .map(({ id, explicit, policy, ...child }): ChildRecord => ({
        ...child,
        taskId: explicit ?? ids.task(id),
        policy: childPolicies[policy] as ChildRecord['policy'],
      }))
      .toSorted((a, b) => a.seq - b.seq)
    const spawnedAt = new Map(children.map(({ key, seq }) => [key, seq]))
    const retriedAt = events.findLast(isRetry)?.seq ?? 0
    const counting = standing(found, sentBack, (key) => spawnedAt.get(key))
    for (const it of counting)
      switch (it.type) {
        case 'step.started':
        case 'step.failed':
        case 'doubt.inherited':
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
    const started = [...startsIn(counting, whole).values()]
    const inDoubt = started
      .filter((it) => it.inDoubt)
      .map(({ key, starts, startedAt, seq }) => ({ key, starts, startedAt, seq }))
    const effectKeys = started.flatMap(({ key, effectKey }) =>
      effectKey === undefined ? [] : [{ key, effectKey }],
    )
    const rejections = sentBack.flatMap(({ since, seq }) =>
      found
        .filter((it) => it.seq === seq)
        .map((it) => ({ since, ...waitOf(it) }))
        .map(({ key, at, value = 'null' }) => ({ key, since, seq, at, value })),
    )
    const open = row.waits === 0 ? [] : load.waits(row.id).map(openWaitOf)
    const failure = events.findLast(isFinalFailure)?.seq
    const failed = failure === undefined ? {} : { lastFailure: failure }
    const failures = failure === undefined ? [] : settledFailures(passesOf(row.id), sentBack)
    const past = pastFailure(
      events
        .filter(({ type }) => type === 'task.requeued' || type === 'task.resumed')
        .map((it) => ({ ...it, data: whole(it) })),
    )
    return { steps, waits, open, children, inDoubt, effectKeys, rejections, failures, ...failed, ...past }
  }

  function waitOf(it: PlainEvent): WaitRecord {
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

/** The most steps of one page. */
const MAX_STEPS = 1_000
/** Steps whose large results are read together. */
const AT_ONCE = 16

/** The events that memos are made of. */
export const memoTypes: ReadonlySet<string> = new Set<EventType>([
  'step.started',
  'step.failed',
  'step.completed',
  'step.inherited',
  'doubt.inherited',
  'wait.resolved',
  'wait.inherited',
  'task.resumed',
  'task.requeued',
])

/** Of a task that is not there. */
export const noMemos: Reads['memos']['answer'] = {
  steps: [],
  waits: [],
  open: [],
  children: [],
  inDoubt: [],
  effectKeys: [],
  rejections: [],
  failures: [],
}

/** A wait as it is shown to others. */
export function openWaitOf({ key, position, kind, name, dueAt }: WaitRow): OpenWait {
  return { key, position, kind, ...(name === null ? {} : { name }), ...(dueAt === null ? {} : { dueAt }) }
}

/** A new try of the task, with its back-offs anew. */
function isRetry({ type, data }: PlainEvent): boolean {
  return (
    type === 'task.requeued' && (JSON.parse(data) as Partial<EventData['task.requeued']>).reason === 'retry'
  )
}

/** The failure of a step that is not tried again. */
function isFinalFailure({ type, data }: PlainEvent): boolean {
  return type === 'step.failed' && (JSON.parse(data) as Partial<EventData['step.failed']>).retry === undefined
}

/** Whether a rejection may stand in such an event. */
function isWaitEnd(type: StoredEvent['type']): boolean {
  return type === 'task.resumed' || type === 'wait.inherited'
}

/** The data of a resumption that no wait brought about: of a task that was parked. */
const PUT_BACK: ReadonlySet<string> = new Set(['{"reason":"divergence"}', '{"reason":"budget"}'])

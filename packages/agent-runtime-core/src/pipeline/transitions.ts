import { canonical } from '../codec/codec.ts'
import { parseJson } from '../codec/parse-json.ts'
import { heldByWorker } from '../lease/fence.ts'
import { memoOf, recordStep } from '../step/record.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { checkStages } from './check.ts'
import { deliveryFor, emptyLog, hasRoom, published } from './log.ts'
import { stageOf } from './standing.ts'
import type { PipelineRow } from './row.ts'
import type { StagePart, StageTerms, TakenEvents } from './pipeline.ts'
import type { StageRefusal } from './port.ts'

/** The task becomes a pipeline. Source: `docs/semantics.md 13.1`. */
export function openPipeline(ws: WorkingSet, it: Write<'openPipeline'>): OutcomeOf<'openPipeline'> {
  const live = heldByWorker(ws, it.leaseId)
  if (live === undefined) return { fenced: 'stale' }
  const violations = checkStages(it.terms.stages)
  if (violations.length > 0) return { fenced: 'ok', as: 'invalid', violations }
  if (ws.pipelines.get(live.task.id) === undefined) {
    ws.putPipeline({ task: live.task.id, terms: it.terms, log: emptyLog(it.terms) })
    remember(ws, it, canonical(it.terms))
  }
  return { fenced: 'ok', as: 'open' }
}

/** Events go to the end of the log, with the memo of their publication. Source: `docs/semantics.md 13.2`. */
export function publish(ws: WorkingSet, it: Write<'publish'>): OutcomeOf<'publish'> {
  const typeOf = typeof it.type === 'string' ? () => it.type as string : (at: number) => it.type[at] as string
  const types = typeof it.type === 'string' ? [it.type] : [...new Set(it.type)]
  const asked = askedBy(ws, it, (stage) => stage.publishes, types)
  if ('fenced' in asked) return asked
  const { row, place, memo, attempt } = asked
  if (memo !== undefined) return { fenced: 'ok', as: 'published', ...fullOf(row, types) }
  const full = types.find((type) => !hasRoom(row, type))
  if (full !== undefined) return { fenced: 'ok', as: 'no_room', type: full }
  const { at } = ws.now
  const taskId = ws.taskId(row.task)
  const by = place.partition === undefined ? '' : `,"partition":${place.partition}`
  for (const [index, data] of it.events.entries()) {
    const hash = it.keyHashes?.[index] ?? null
    const names = `"stage":${JSON.stringify(place.stage)},"type":${JSON.stringify(typeOf(index))}${by}`
    ws.outputs.push({
      task: row.task,
      taskId,
      seq: row.log.seq + 1 + index,
      attempt,
      at,
      data: `{"data":${data},${names}${hash === null ? '' : `,"keyHash":${hash}`}}`,
      round: null,
    })
  }
  const log = withAll(row, it, typeOf)
  ws.putPipeline({ ...row, log })
  remember(ws, it, `{"count":${it.events.length},"first":${row.log.seq + 1}}`)
  return { fenced: 'ok', as: 'published', ...fullOf({ ...row, log }, types) }
}

/** The log with the events of a publication: those of one type that follow each other at a time. */
function withAll(
  { terms, log: before }: PipelineRow,
  { events, keyHashes }: Write<'publish'>,
  typeOf: (at: number) => string,
): PipelineRow['log'] {
  let log = before
  for (let from = 0; from < events.length;) {
    const type = typeOf(from)
    let to = from + 1
    while (to < events.length && typeOf(to) === type) to += 1
    log = published({ terms, log }, type, { count: to - from, keyHashes: keyHashes?.slice(from, to) })
    from = to
  }
  return log
}

/** The stage's next events are its own, with the memo of which they are. Source: `docs/semantics.md 13.2`. */
export function receive(ws: WorkingSet, it: Write<'receive'>): OutcomeOf<'receive'> {
  const asked = askedBy(ws, it, (stage) => stage.subscribes, it.types)
  if ('fenced' in asked) return asked
  const { row, at, memo } = asked
  if (memo !== undefined)
    return { fenced: 'ok', as: 'received', ...(parseJson(memo) as TakenEvents), ...fullOf(row, it.types) }
  const delivery = deliveryFor(row, at, it.types, it.max)
  if (delivery.as === 'none') return { fenced: 'ok', as: 'none' }
  const ranges = delivery.as === 'events' ? delivery.ranges : []
  if (delivery.as === 'events') ws.putPipeline({ ...row, log: delivery.log })
  remember(ws, it, `{"ranges":${JSON.stringify(ranges)}}`)
  const log = delivery.as === 'events' ? delivery.log : row.log
  return { fenced: 'ok', as: 'received', ranges, ...fullOf({ ...row, log }, it.types) }
}

/** A stage that waits for room of these types need not ask. */
function fullOf(row: PipelineRow, types: readonly string[]): { readonly full?: readonly string[] } {
  const full = types.filter((type) => !hasRoom(row, type))
  return full.length === 0 ? {} : { full }
}

interface Asked {
  readonly row: PipelineRow
  /** The task's place in the log. */
  readonly at: number
  readonly place: StagePart
  /** The recorded answer, if it was asked before. */
  readonly memo: string | undefined
  readonly attempt: number
}

/** The pipeline and the stage that a write is for, or why it is refused. */
function askedBy(
  ws: WorkingSet,
  it: Write<'publish'> | Write<'receive'>,
  allowedOf: (stage: StageTerms) => readonly string[],
  types: readonly string[],
): Asked | StageRefusal | { readonly fenced: 'stale' } {
  const live = heldByWorker(ws, it.leaseId)
  if (live === undefined) return { fenced: 'stale' }
  const { id, attempt } = live.task
  const found = stageOf(ws, live.task)
  if (found === undefined) return { fenced: 'ok', as: 'unknown_stage' }
  const { row, at, place, stage } = found
  const allowed = allowedOf(stage)
  const type = types.find((name) => !allowed.includes(name))
  if (type !== undefined) return { fenced: 'ok', as: 'unauthorized', stage: stage.stage, type, allowed }
  return { row, at, place, memo: memoOf(ws, id, it.key), attempt }
}

/** The answer is a step of the task, so that it is found again in each later pass. */
function remember(
  ws: WorkingSet,
  { leaseId, key, position }: { readonly leaseId: string; readonly key: string; readonly position: number },
  result: string,
): void {
  recordStep(ws, { kind: 'recordStep', leaseId, key, position, durationMs: 0, result })
}

import type { LogRange, PipelineTerms, StageTerms, StageWait } from './pipeline.ts'

/** A stage that runs, as the log knows it. */
interface StageStanding {
  readonly stage: string
  /** Its task; undefined until it was spawned. */
  readonly task?: number
  /** Whether its task has completed. */
  readonly ended: boolean
  /** By type: how many events it has received. */
  readonly taken: Readonly<Record<string, number>>
}

/** The events of a type that a stage which has not ended still has to receive. */
interface Unread {
  /** How many of the type came before them. */
  readonly before: number
  readonly ranges: readonly LogRange[]
}

/** How far the log of a pipeline was written and received. It stays small: what everybody has received is left out. */
export interface PipelineLog {
  /** The sequence of the last event, 0 before the first. */
  readonly seq: number
  /** By type: how many events there are. */
  readonly published: Readonly<Record<string, number>>
  /** In the order of the terms. */
  readonly stages: readonly StageStanding[]
  /** By type that somebody still has to receive. */
  readonly unread: Readonly<Record<string, Unread>>
}

/** The log before the first event. */
export function emptyLog({ stages }: PipelineTerms): PipelineLog {
  return {
    seq: 0,
    published: {},
    stages: stages.map(({ stage }) => ({ stage, ended: false, taken: {} })),
    unread: {},
  }
}

/** A pipeline as its decisions see it. */
export interface PipelineCase {
  readonly terms: PipelineTerms
  readonly log: PipelineLog
}

/**
 * Whether events of a type are taken into the log now: not while a stage that has not ended has `maxUnread` of them left to receive, so
 * that a log grows past the bound by one publication at the most. Source: `docs/semantics.md 13.2`.
 */
export function hasRoom({ terms, log }: PipelineCase, type: string): boolean {
  return readersOf(terms, type).every(
    (at) => isOver(log, at) || countOf(log.published, type) - takenOf(log, at, type) < terms.maxUnread,
  )
}

/** The stages that hold a type back, with how many events they have to receive. */
export function holdersBack(
  { terms, log }: PipelineCase,
  type: string,
): readonly { readonly stage: string; readonly unread: number }[] {
  return readersOf(terms, type)
    .map((at) => ({ at, unread: countOf(log.published, type) - takenOf(log, at, type) }))
    .filter(({ at, unread }) => !isOver(log, at) && unread >= terms.maxUnread)
    .map(({ at, unread }) => ({ stage: stageAt(terms, at).stage, unread }))
}

/** The log with so many more events of a type: they get the next sequences. */
export function published({ terms, log }: PipelineCase, type: string, count: number): PipelineLog {
  const range: LogRange = [log.seq + 1, count]
  const before = log.unread[type]
  const awaited = readersOf(terms, type).some((at) => !isOver(log, at))
  const unread = awaited
    ? {
        ...log.unread,
        [type]: {
          before: before?.before ?? countOf(log.published, type),
          ranges: joined(before?.ranges ?? [], range),
        },
      }
    : log.unread
  return {
    ...log,
    seq: log.seq + count,
    published: { ...log.published, [type]: countOf(log.published, type) + count },
    unread,
  }
}

/** The answer to a stage that asks: events; nothing yet; or nothing any more. */
export type Delivery =
  | { readonly as: 'events'; readonly ranges: readonly LogRange[]; readonly log: PipelineLog }
  | { readonly as: 'none' }
  | { readonly as: 'end' }

/**
 * The next events of some types for a stage, `max` at the most, in the order of their sequences. It is the end when every stage that publishes one
 * of them has completed and nothing is left. Source: `docs/semantics.md 13.2`.
 */
export function deliveryFor(
  { terms, log }: PipelineCase,
  stage: string,
  types: readonly string[],
  max: number,
): Delivery {
  const at = terms.stages.findIndex((it) => it.stage === stage)
  const heads = types.map((type) => ({ type, left: leftFor(log, at, type) }))
  const ranges: LogRange[] = []
  const taken: Record<string, number> = { ...log.stages[at]?.taken }
  for (let room = max; room > 0;) {
    const [first, second] = heads
      .filter(({ left }) => left.length > 0)
      .toSorted((a, b) => (a.left[0]?.[0] ?? 0) - (b.left[0]?.[0] ?? 0))
    const head = first?.left[0]
    if (first === undefined || head === undefined) break
    // Up to the next event of another type.
    const until = second?.left[0]?.[0] ?? Number.POSITIVE_INFINITY
    const count = Math.min(head[1], room, until - head[0])
    addRange(ranges, [head[0], count])
    taken[first.type] = countOf(taken, first.type) + count
    room -= count
    if (count === head[1]) first.left.shift()
    else first.left[0] = [head[0] + count, head[1] - count]
  }
  if (ranges.length > 0) {
    const stages = log.stages.map((it, index) => (index === at ? { ...it, taken } : it))
    return { as: 'events', ranges, log: forgotten(terms, { ...log, stages }) }
  }
  return types.every((type) => isSilent(terms, log, type)) ? { as: 'end' } : { as: 'none' }
}

/** Whether a wait of a stage is over. */
export function isWaitOver(pipeline: PipelineCase, stage: string, wait: StageWait): boolean {
  return wait.for === 'room'
    ? hasRoom(pipeline, wait.type)
    : deliveryFor(pipeline, stage, wait.types, 1).as !== 'none'
}

/** The log once a stage has its task. */
export function stageBegun({ log }: PipelineCase, stage: string, task: number): PipelineLog {
  return { ...log, stages: log.stages.map((it) => (it.stage === stage ? { ...it, task } : it)) }
}

/** The log once the task of a stage has completed: it receives and publishes nothing more. */
export function stageEnded({ terms, log }: PipelineCase, stage: string): PipelineLog {
  const stages = log.stages.map((it) => (it.stage === stage ? { ...it, ended: true } : it))
  return forgotten(terms, { ...log, stages })
}

/** The terms of the stage that a task runs; undefined if it runs none. */
export function stageOf({ terms, log }: PipelineCase, task: number): StageTerms | undefined {
  const at = log.stages.findIndex((it) => it.task === task)
  return at < 0 ? undefined : terms.stages[at]
}

/** Leaves out what every stage that has not ended has received. */
function forgotten(terms: PipelineTerms, log: PipelineLog): PipelineLog {
  const unread: Record<string, Unread> = {}
  for (const [type, { before, ranges }] of Object.entries(log.unread)) {
    const open = readersOf(terms, type).filter((at) => !isOver(log, at))
    if (open.length === 0) continue
    const least = Math.min(...open.map((at) => takenOf(log, at, type)))
    const left = without(ranges, least - before)
    if (left.length > 0) unread[type] = { before: least, ranges: left }
  }
  return { ...log, unread }
}

function leftFor(log: PipelineLog, at: number, type: string): LogRange[] {
  const unread = log.unread[type]
  return unread === undefined ? [] : without(unread.ranges, takenOf(log, at, type) - unread.before)
}

/** The ranges without their first so many events. */
function without(ranges: readonly LogRange[], skip: number): LogRange[] {
  let left = skip
  return ranges.flatMap(([first, count]): readonly LogRange[] => {
    const gone = Math.min(left, count)
    left -= gone
    return gone === count ? [] : [[first + gone, count - gone]]
  })
}

function joined(ranges: readonly LogRange[], next: LogRange): readonly LogRange[] {
  const all = [...ranges]
  addRange(all, next)
  return all
}

function addRange(ranges: LogRange[], [first, count]: LogRange): void {
  const last = ranges.at(-1)
  if (last !== undefined && last[0] + last[1] === first)
    ranges[ranges.length - 1] = [last[0], last[1] + count]
  else ranges.push([first, count])
}

/** Every stage that publishes the type has completed. */
function isSilent(terms: PipelineTerms, log: PipelineLog, type: string): boolean {
  return terms.stages.every(({ publishes }, at) => !publishes.includes(type) || isOver(log, at))
}

function readersOf({ stages }: PipelineTerms, type: string): readonly number[] {
  return stages.flatMap(({ subscribes }, at) => (subscribes.includes(type) ? [at] : []))
}

function isOver({ stages }: PipelineLog, at: number): boolean {
  return stages[at]?.ended === true
}

function takenOf({ stages }: PipelineLog, at: number, type: string): number {
  return countOf(stages[at]?.taken ?? {}, type)
}

function countOf(counts: Readonly<Record<string, number>>, type: string): number {
  return Object.hasOwn(counts, type) ? (counts[type] ?? 0) : 0
}

function stageAt({ stages }: PipelineTerms, at: number): StageTerms {
  const stage = stages[at]
  if (stage === undefined) throw new Error(`a pipeline has no stage ${at}`)
  return stage
}

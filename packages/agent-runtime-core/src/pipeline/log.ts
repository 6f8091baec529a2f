import {
  type LogRange,
  partitionFor,
  partsOf,
  type PipelineTerms,
  type StagePart,
  type StageTerms,
  type StageWait,
} from './pipeline.ts'

/** A task of a stage, as the log knows it. */
interface PartStanding extends StagePart {
  /** Undefined until it was spawned. */
  readonly task?: number
  /** Whether it has completed. */
  readonly ended: boolean
  /** By type: how many events it has received. */
  readonly taken: Readonly<Record<string, number>>
  /** The events that a partition still has to receive, by type. A stage that is one task receives from the `unread` of the log. */
  readonly unread?: Readonly<Record<string, readonly LogRange[]>>
}

/** The events of a type that a stage of one task which has not ended still has to receive. */
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
  /** The tasks of the stages, in the order of the terms, and of the partitions. */
  readonly parts: readonly PartStanding[]
  /** By type that a stage of one task still has to receive. */
  readonly unread: Readonly<Record<string, Unread>>
}

/** The log before the first event. */
export function emptyLog({ stages }: PipelineTerms): PipelineLog {
  const parts = stages.flatMap(partsOf).map((part) => ({
    ...part,
    ended: false,
    taken: {},
    ...(part.partition === undefined ? {} : { unread: {} }),
  }))
  return { seq: 0, published: {}, parts, unread: {} }
}

/** A pipeline as its decisions see it. */
export interface PipelineCase {
  readonly terms: PipelineTerms
  readonly log: PipelineLog
}

/**
 * Whether events of a type are taken into the log now: not while a task that has not ended has `maxUnread` of them left to receive, so
 * that a log grows past the bound by one publication at the most. Source: `docs/semantics.md 13.2`.
 */
export function hasRoom(pipeline: PipelineCase, type: string): boolean {
  return holdersBack(pipeline, type).length === 0
}

/** The tasks of stages that hold a type back, with how many events they have to receive. */
export function holdersBack(
  { terms, log }: PipelineCase,
  type: string,
): readonly (StagePart & { readonly unread: number })[] {
  return readersOf(terms, type).flatMap((at) => {
    const part = partAt(log, at)
    const unread = part.ended ? 0 : unreadOf(log, part, type)
    return unread < terms.maxUnread ? [] : [{ ...placeOf(part), unread }]
  })
}

/** By type that it has left: how many events a task of a stage has to receive. `at`: its place in the log. */
export function unreadCounts({ terms, log }: PipelineCase, at: number): Readonly<Record<string, number>> {
  const part = partAt(log, at)
  if (part.ended) return {}
  const { subscribes } = stageAt(terms, part)
  const counts = subscribes.map((type) => [type, unreadOf(log, part, type)] as const)
  return Object.fromEntries(counts.filter(([, count]) => count > 0))
}

/** Events that a stage publishes: how many, and the hashes of their keys. */
interface Publication {
  readonly count: number
  /** Null for an event without a key; absent if none has one. */
  readonly keyHashes?: readonly (number | null)[] | undefined
}

/** The log with more events of a type: they get the next sequences. */
export function published({ terms, log }: PipelineCase, type: string, it: Publication): PipelineLog {
  const { count } = it
  const range: LogRange = [log.seq + 1, count]
  const before = own(log.unread, type)
  const awaited = readersOf(terms, type).some((at) => {
    const { ended, partition } = partAt(log, at)
    return !ended && partition === undefined
  })
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
    seq: log.seq + count,
    published: { ...log.published, [type]: countOf(log.published, type) + count },
    parts: dealt({ terms, log }, type, it),
    unread,
  }
}

/** The tasks of the stages, once each partition has its own of some new events. */
function dealt(
  { terms, log }: PipelineCase,
  type: string,
  { count, keyHashes }: Publication,
): PipelineLog['parts'] {
  const readers = readersOf(terms, type).filter((at) => partAt(log, at).partition !== undefined)
  const nth = countOf(log.published, type)
  const parts = [...log.parts]
  for (const at of readers) {
    const part = partAt(log, at)
    if (part.ended) continue
    const { partitions = 1 } = stageAt(terms, part)
    const ranges = [...(own(part.unread ?? {}, type) ?? [])]
    for (let index = 0; index < count; index += 1)
      if (partitionFor(keyHashes?.[index] ?? null, nth + index, partitions) === part.partition)
        addRange(ranges, [log.seq + 1 + index, 1])
    if (ranges.length > 0) parts[at] = { ...part, unread: { ...part.unread, [type]: ranges } }
  }
  return parts
}

/** The answer to a task of a stage that asks: events; nothing yet; or nothing any more. */
export type Delivery =
  | { readonly as: 'events'; readonly ranges: readonly LogRange[]; readonly log: PipelineLog }
  | { readonly as: 'none' }
  | { readonly as: 'end' }

/** The events of a type that a task of a stage has left; `at`: the first range that is not taken. */
interface Head {
  readonly type: string
  readonly left: LogRange[]
  at: number
}

/** The head with the first event, and where the next event of another type is. There may be hundreds of ranges: each is looked at once. */
function nextOf(heads: readonly Head[]): Head | undefined {
  let next: Head | undefined
  let from = Number.POSITIVE_INFINITY
  for (const head of heads) {
    const first = head.left[head.at]?.[0] ?? Number.POSITIVE_INFINITY
    if (first >= from) continue
    next = head
    from = first
  }
  return next
}

/**
 * The next events of some types for a task of a stage, `max` at the most, in the order of their sequences. It is the end when every task that publishes one
 * of them has completed and nothing is left. `at`: its place in the log. Source: `docs/semantics.md 13.2`.
 */
export function deliveryFor(
  { terms, log }: PipelineCase,
  at: number,
  types: readonly string[],
  max: number,
): Delivery {
  const part = partAt(log, at)
  const heads = [...new Set(types)].map((type): Head => ({ type, left: leftFor(log, part, type), at: 0 }))
  const ranges: LogRange[] = []
  const counts = new Map(Object.entries(part.taken))
  for (let room = max; room > 0;) {
    const head = nextOf(heads)
    if (head === undefined) break
    const [first, many] = head.left[head.at] as LogRange
    const count = Math.min(many, room)
    addRange(ranges, [first, count])
    counts.set(head.type, (counts.get(head.type) ?? 0) + count)
    room -= count
    if (count === many) head.at += 1
    else head.left[head.at] = [first + count, many - count]
  }
  if (ranges.length > 0) {
    const taken = Object.fromEntries(counts)
    const unread = Object.entries({
      ...part.unread,
      ...Object.fromEntries(heads.map(({ type, left, at: from }) => [type, left.slice(from)] as const)),
    }).filter(([, left]) => left.length > 0)
    const received =
      part.partition === undefined
        ? { ...part, taken }
        : { ...part, taken, unread: Object.fromEntries(unread) }
    const parts = log.parts.with(at, received)
    return { as: 'events', ranges, log: forgotten(terms, { ...log, parts }) }
  }
  return types.every((type) => isSilent(terms, log, type)) ? { as: 'end' } : { as: 'none' }
}

/** Whether a wait of a task of a stage is over. `at`: its place in the log. */
export function isWaitOver(pipeline: PipelineCase, at: number, wait: StageWait): boolean {
  return wait.for === 'room' ? hasRoom(pipeline, wait.type) : isDelivered(pipeline, at, wait.types)
}

/** Whether {@link deliveryFor} has an answer: events, or the end. */
function isDelivered({ terms, log }: PipelineCase, at: number, types: readonly string[]): boolean {
  const part = partAt(log, at)
  return (
    types.some((type) => unreadOf(log, part, type) > 0) || types.every((type) => isSilent(terms, log, type))
  )
}

/** The log once a stage has a task. */
export function stageBegun({ log }: PipelineCase, place: StagePart, task: number): PipelineLog {
  return { ...log, parts: log.parts.map((it) => (isAt(it, place) ? { ...it, task } : it)) }
}

/** The log once a task of a stage has completed: it receives and publishes nothing more. */
export function stageEnded({ terms, log }: PipelineCase, place: StagePart): PipelineLog {
  const end = (it: PartStanding): PartStanding => ({
    ...it,
    ended: true,
    ...(it.partition === undefined ? {} : { unread: {} }),
  })
  return forgotten(terms, { ...log, parts: log.parts.map((it) => (isAt(it, place) ? end(it) : it)) })
}

/** The place in the log of a task, with the terms of its stage; undefined if it runs none. */
export function partOf(
  { terms, log }: PipelineCase,
  task: number,
): { readonly at: number; readonly place: StagePart; readonly stage: StageTerms } | undefined {
  const at = log.parts.findIndex((it) => it.task === task)
  const part = log.parts[at]
  return part === undefined ? undefined : { at, place: placeOf(part), stage: stageAt(terms, part) }
}

/** The tasks that publish one of some types and have not ended. */
export function publishersOf({ terms, log }: PipelineCase, types: readonly string[]): readonly StagePart[] {
  const stages = new Set(
    terms.stages.flatMap(({ stage, publishes }) =>
      publishes.some((type) => types.includes(type)) ? [stage] : [],
    ),
  )
  return log.parts.filter(({ stage, ended }) => !ended && stages.has(stage)).map(placeOf)
}

/** Leaves out what every stage of one task that has not ended has received. */
function forgotten(terms: PipelineTerms, log: PipelineLog): PipelineLog {
  const unread: [string, Unread][] = []
  for (const [type, { before, ranges }] of Object.entries(log.unread)) {
    const open = readersOf(terms, type)
      .map((at) => partAt(log, at))
      .filter(({ ended, partition }) => !ended && partition === undefined)
    const least = Math.min(...open.map(({ taken }) => countOf(taken, type)))
    const left = without(ranges, least - before)
    if (left.length > 0) unread.push([type, { before: least, ranges: left }])
  }
  return { ...log, unread: Object.fromEntries(unread) }
}

function leftFor(log: PipelineLog, part: PartStanding, type: string): LogRange[] {
  if (part.partition !== undefined) return [...(own(part.unread ?? {}, type) ?? [])]
  const unread = own(log.unread, type)
  return unread === undefined ? [] : without(unread.ranges, countOf(part.taken, type) - unread.before)
}

function unreadOf(log: PipelineLog, part: PartStanding, type: string): number {
  return part.partition === undefined
    ? countOf(log.published, type) - countOf(part.taken, type)
    : (own(part.unread ?? {}, type) ?? []).reduce((sum, [, count]) => sum + count, 0)
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

/** Every task that publishes the type has completed. */
function isSilent(terms: PipelineTerms, log: PipelineLog, type: string): boolean {
  return publishersOf({ terms, log }, [type]).length === 0
}

/** The places in the log of the tasks that receive a type. */
function readersOf({ stages }: PipelineTerms, type: string): readonly number[] {
  const readers: number[] = []
  let at = 0
  for (const { subscribes, partitions = 1 } of stages) {
    if (subscribes.includes(type)) for (let part = 0; part < partitions; part += 1) readers.push(at + part)
    at += partitions
  }
  return readers
}

/** The place of a task of a stage, without what else is known of it. */
export function placeOf({ stage, partition }: StagePart): StagePart {
  return partition === undefined ? { stage } : { stage, partition }
}

function isAt(part: StagePart, { stage, partition }: StagePart): boolean {
  return part.stage === stage && part.partition === partition
}

function countOf(counts: Readonly<Record<string, number>>, type: string): number {
  return own(counts, type) ?? 0
}

/** A type may have the name of something that every object has. */
function own<T>(record: Readonly<Record<string, T>>, type: string): T | undefined {
  return Object.hasOwn(record, type) ? record[type] : undefined
}

function partAt({ parts }: PipelineLog, at: number): PartStanding {
  const part = parts[at]
  if (part === undefined) throw new Error(`a pipeline has no part ${at}`)
  return part
}

function stageAt({ stages }: PipelineTerms, { stage }: StagePart): StageTerms {
  const terms = stages.find((it) => it.stage === stage)
  if (terms === undefined) throw new Error(`a pipeline has no stage '${stage}'`)
  return terms
}

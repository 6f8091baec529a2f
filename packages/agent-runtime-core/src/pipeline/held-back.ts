import { holdersBack, type PipelineCase, placeOf } from './log.ts'
import { namesText, type StagePart, stageKey, stagePartText, type StageWait } from './pipeline.ts'

/** A task of a stage that holds others back. */
export interface HeldBackBy extends StagePart {
  /** So many events of the type it has to receive. */
  readonly unread: number
  /** It waits for nothing but events of these types, and receives none of those that it has to meanwhile. */
  readonly awaits?: readonly string[]
}

/** A task of a stage that waits for room for an event. Source: `docs/pipelines.md`. */
export interface HeldBack extends StagePart {
  /** The type of the event. */
  readonly type: string
  readonly maxUnread: number
  /** The first of those that hold it back, at most twenty. */
  readonly by: readonly HeldBackBy[]
  /** How many more do. */
  readonly moreBy?: number
}

/** The tasks of a pipeline that are held back. */
interface HeldBackTasks {
  /** The first of them, at most twenty. */
  readonly heldBack: readonly HeldBack[]
  /** How many more there are. */
  readonly moreHeldBack?: number
  /** Words for what to do about it. */
  readonly advice: string
}

/**
 * The readers that hold some tasks of stages back, for each type that they wait to publish; undefined where nobody is held back. `waitsOf`: all that a task waits for,
 * with undefined for what is not of its pipeline; each task is asked for once. Source: `docs/semantics.md 13.2`.
 */
export function heldBackAmong(
  pipeline: PipelineCase,
  places: readonly StagePart[],
  waitsOf: (place: StagePart) => readonly (StageWait | undefined)[],
): HeldBackTasks | undefined {
  const waitsAt = once(stageKey, waitsOf)
  const holdersOf = once(String, (type: string) =>
    holdersBack(pipeline, type).map((holder): HeldBackBy => {
      const awaits = awaitedInstead(waitsAt(holder), type)
      return awaits === undefined ? holder : { ...holder, awaits }
    }),
  )
  const held = places.flatMap((place) => {
    const wanted = waitsAt(place).flatMap((wait) => (wait?.for === 'room' ? [wait.type] : []))
    return [...new Set(wanted)].flatMap((type) => (holdersOf(type).length === 0 ? [] : [{ place, type }]))
  })
  if (held.length === 0) return undefined
  const heldBack = held.slice(0, MAX_HELD_BACK).map(({ place, type }): HeldBack => {
    const holders = holdersOf(type)
    const moreBy = holders.length - MAX_HELD_BACK
    const by = holders.slice(0, MAX_HELD_BACK)
    return {
      ...placeOf(place),
      type,
      maxUnread: pipeline.terms.maxUnread,
      by,
      ...(moreBy > 0 ? { moreBy } : {}),
    }
  })
  const moreHeldBack = held.length - heldBack.length
  const types = new Set(held.map(({ type }) => type))
  return {
    heldBack,
    ...(moreHeldBack > 0 ? { moreHeldBack } : {}),
    advice: adviceText([...types].flatMap(holdersOf)),
  }
}

/** The types that a task with these waits receives events of before any of another type; undefined if something else may end its wait. */
function awaitedInstead(
  waits: readonly (StageWait | undefined)[],
  type: string,
): readonly string[] | undefined {
  const types = new Set<string>()
  for (const wait of waits) {
    if (wait?.for !== 'events' || wait.types.includes(type)) return undefined
    for (const awaited of wait.types) types.add(awaited)
  }
  return types.size === 0 ? undefined : [...types]
}

/** Words for what to do about those who hold others back. */
function adviceText(by: readonly HeldBackBy[]): string {
  const holders = [...new Map(by.map((it) => [stagePartText(it), it] as const))]
  const stuck = holders.flatMap(([name, { awaits }]) =>
    awaits === undefined ? [] : [`${name} waits for events of type ${namesText(awaits, ' or ')}`],
  )
  if (stuck.length > 0)
    return `${listed(stuck)}, and receives no others meanwhile: name all types in one receive, or raise maxUnread`
  return `${listed(holders.map(([name]) => name))} must receive some first: if that takes too long, raise its partitions, or maxUnread`
}

/** The function, which answers each question once. */
function once<Asked, Answer>(
  keyOf: (asked: Asked) => string,
  answer: (asked: Asked) => Answer,
): (asked: Asked) => Answer {
  const known = new Map<string, Answer>()
  return (asked) => {
    const key = keyOf(asked)
    const found = known.get(key) ?? answer(asked)
    known.set(key, found)
    return found
  }
}

/** The first few, and how many more there are. */
export function listed(texts: readonly string[]): string {
  const more = texts.length > MAX_LISTED ? ` and ${texts.length - MAX_LISTED} more` : ''
  return `${texts.slice(0, MAX_LISTED).join(', ')}${more}`
}

/** More of them are read by nobody. */
const MAX_LISTED = 5
/** Tasks that are held back, and tasks that hold one back, are counted beyond so many. */
const MAX_HELD_BACK = 20

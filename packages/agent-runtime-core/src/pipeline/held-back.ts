import { holdersBack, type PipelineCase } from './log.ts'
import { namesText, type StagePart, stagePartText, type StageWait } from './pipeline.ts'

/** A task of a stage that holds others back. */
export interface HeldBackBy extends StagePart {
  /** So many events of the type it has to receive. */
  readonly unread: number
  /** It waits for events of these types itself, and receives none of those that it has to meanwhile. */
  readonly awaits?: readonly string[]
}

/** A task of a stage that waits for room for an event. Source: `docs/pipelines.md`. */
export interface HeldBack extends StagePart {
  /** The type of the event. */
  readonly type: string
  readonly maxUnread: number
  readonly by: readonly HeldBackBy[]
}

/**
 * The readers that hold a task of a stage back, for each type that it waits to publish. `waitsOf`: the things of its pipeline that a task waits for. Source:
 * `docs/semantics.md 13.2`.
 */
export function heldBackAt(
  pipeline: PipelineCase,
  place: StagePart,
  waitsOf: (place: StagePart) => readonly StageWait[],
): readonly HeldBack[] {
  return waitsOf(place).flatMap((wait) => {
    if (wait.for !== 'room') return []
    const { type } = wait
    const by = holdersBack(pipeline, type).map((holder): HeldBackBy => {
      const awaits = waitsOf(holder).flatMap((own) => (own.for === 'events' ? own.types : []))
      return awaits.length === 0 || awaits.includes(type) ? holder : { ...holder, awaits }
    })
    return by.length === 0 ? [] : [{ ...place, type, maxUnread: pipeline.terms.maxUnread, by }]
  })
}

/** Words for what to do about it; undefined where nobody is held back. */
export function heldBackText(heldBack: readonly HeldBack[]): string | undefined {
  const holders = [...new Map(heldBack.flatMap(({ by }) => by.map((it) => [stagePartText(it), it] as const)))]
  const stuck = holders.flatMap(([name, { awaits }]) =>
    awaits === undefined ? [] : [`${name} waits for events of type ${namesText(awaits, ' or ')}`],
  )
  if (stuck.length > 0)
    return `${listed(stuck)}, and receives no others meanwhile: name all types in one receive, or raise maxUnread`
  if (holders.length === 0) return undefined
  return `${listed(holders.map(([name]) => name))} must receive some first: if that takes too long, raise its partitions, or maxUnread`
}

/** The first few, and how many more there are. */
export function listed(texts: readonly string[]): string {
  const more = texts.length > MAX_LISTED ? ` and ${texts.length - MAX_LISTED} more` : ''
  return `${texts.slice(0, MAX_LISTED).join(', ')}${more}`
}

/** More of them are read by nobody. */
const MAX_LISTED = 5

import type { LogRange } from './pipeline.ts'
import type { PipelineLog } from './log.ts'

/** A stretch of the log as a row keeps it; with `step`: `count` single events, each so far behind the one before. */
type StoredRange = LogRange | readonly [first: number, count: number, step: number]

/** How far a log was written and received, as its row keeps it. */
export type StoredLog = Omit<PipelineLog, 'parts' | 'unread'> & {
  readonly parts: readonly (Omit<PipelineLog['parts'][number], 'unread'> & {
    readonly unread?: Readonly<Record<string, readonly StoredRange[]>>
  })[]
  readonly unread: Readonly<
    Record<string, { readonly before: number; readonly ranges: readonly StoredRange[] }>
  >
}

/**
 * The log for its row, which every publication and receipt writes. The events of a partition may be a thousand stretches of one event; where they come
 * in turn they are one entry here.
 */
export function storedLog(log: PipelineLog): StoredLog {
  return {
    ...log,
    parts: log.parts.map((part) =>
      part.unread === undefined ? part : { ...part, unread: mapped(part.unread, packed) },
    ),
    unread: mapped(log.unread, ({ before, ranges }) => ({ before, ranges: packed(ranges) })),
  }
}

/** The log that {@link storedLog} was given. */
export function logOf(stored: StoredLog): PipelineLog {
  return {
    ...stored,
    parts: stored.parts.map((part) =>
      part.unread === undefined
        ? (part as PipelineLog['parts'][number])
        : { ...part, unread: mapped(part.unread, unpacked) },
    ),
    unread: mapped(stored.unread, ({ before, ranges }) => ({ before, ranges: unpacked(ranges) })),
  }
}

function packed(ranges: readonly LogRange[]): readonly StoredRange[] {
  const found: StoredRange[] = []
  for (let at = 0; at < ranges.length;) {
    const many = inStep(ranges, at)
    const range = ranges[at] as LogRange
    if (many < LEAST) found.push(range)
    else found.push([range[0], many, (ranges[at + 1] as LogRange)[0] - range[0]])
    at += many < LEAST ? 1 : many
  }
  return found
}

/** How many stretches from a place on are single events that are equally far apart. */
function inStep(ranges: readonly LogRange[], from: number): number {
  const [first, count] = ranges[from] as LogRange
  const step = (ranges[from + 1]?.[0] ?? 0) - first
  if (count !== 1) return 1
  let many = 1
  for (let range = ranges[from + many]; range?.[1] === 1 && range[0] === first + many * step;) {
    many += 1
    range = ranges[from + many]
  }
  return many
}

function unpacked(ranges: readonly StoredRange[]): readonly LogRange[] {
  const found: LogRange[] = []
  for (const [first, count, step] of ranges)
    if (step === undefined) found.push([first, count])
    else for (let at = 0; at < count; at += 1) found.push([first + at * step, 1])
  return found
}

function mapped<From, To>(
  record: Readonly<Record<string, From>>,
  to: (value: From) => To,
): Readonly<Record<string, To>> {
  return Object.fromEntries(Object.entries(record).map(([type, value]) => [type, to(value)]))
}

/** Fewer stretches than that take no more room as they are. */
const LEAST = 3

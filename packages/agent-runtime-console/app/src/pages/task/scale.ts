import { duration } from '../../ui/format.ts'
import type { Span } from './spans.ts'

/** Where moments stand on the axis, from 0 to 100. */
export interface Scale {
  readonly place: (at: number) => number
  readonly ticks: readonly { readonly place: number; readonly text: string }[]
  /** Where the axis is shorter than the time. */
  readonly gaps: readonly { readonly from: number; readonly to: number; readonly ms: number }[]
}

interface Piece {
  readonly from: number
  readonly to: number
  readonly width: number
  readonly isGap: boolean
}

/** A gap takes this part of what the work takes, at most. */
const GAP_PART = 0.18

/**
 * The axis of a task. A task that works for a second and waits for a day would be a single long bar, so a stretch of time in which it
 * did nothing but wait is drawn short. `isTrue` draws all time as long as it was.
 */
export function scaleOf(spans: readonly Span[], first: number, last: number, isTrue: boolean): Scale {
  const pieces = isTrue ? [whole(first, last)] : piecesOf(spans, first, last)
  const total = pieces.reduce((sum, { width }) => sum + width, 0)
  const place = (at: number) => {
    let before = 0
    for (const { from, to, width } of pieces) {
      if (at <= to)
        return ((before + (Math.max(0, at - from) / Math.max(1e-9, to - from)) * width) * 100) / total
      before += width
    }
    return 100
  }
  const gaps = pieces
    .filter(({ isGap }) => isGap)
    .map(({ from, to }) => ({ from: place(from), to: place(to), ms: to - from }))
  const moments =
    gaps.length === 0
      ? [0, 0.25, 0.5, 0.75, 1].map((part) => first + part * (last - first))
      : [...pieces.map(({ from }) => from), last]
  const ticks: { place: number; text: string }[] = []
  for (const at of moments.toReversed()) {
    const tick = { place: place(at), text: duration(at - first) }
    if (at === first) while (ticks.length > 1 && (ticks.at(-1)?.place ?? 100) < LEAST_PERCENT) ticks.pop()
    const after = ticks.at(-1)
    if (after === undefined || after.place - tick.place >= LEAST_PERCENT || at === first) ticks.push(tick)
  }
  return { place, ticks: ticks.toReversed(), gaps }
}

/** Two ticks are at least so far apart. */
const LEAST_PERCENT = 36

function whole(from: number, to: number): Piece {
  return { from, to, width: Math.max(1, to - from), isGap: false }
}

function piecesOf(spans: readonly Span[], first: number, last: number): readonly Piece[] {
  const busy: { from: number; to: number }[] = []
  for (const { kind, from, to = last } of spans) {
    if (kind === 'wait' || kind === 'approval' || kind === 'queue') continue
    const before = busy.at(-1)
    // Spans come in the order in which they begin.
    if (before !== undefined && from <= before.to) before.to = Math.max(before.to, to)
    else busy.push({ from, to })
  }
  const work = busy.reduce((sum, { from, to }) => sum + to - from, 0)
  const most = work * GAP_PART
  if (work <= 0) return [whole(first, last)]
  const pieces: Piece[] = []
  const add = (from: number, to: number) => {
    const isGap = to - from > most * 1.5
    if (to > from) pieces.push({ from, to, width: isGap ? most : to - from, isGap })
  }
  let at = first
  for (const { from, to } of busy) {
    add(at, from)
    pieces.push({ from, to, width: Math.max(to - from, work / 1_000), isGap: false })
    at = to
  }
  add(at, last)
  return pieces
}

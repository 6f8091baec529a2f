import { laneRank } from '@ku0/agent-runtime-core'
import type { Run } from './measurements.ts'
import { type Stretch, stretchesOf } from './timeline.ts'

/**
 * Starts of a task while one of a more urgent lane had been queued for longer than that moment. Only starts are judged, and
 * a task that came in the same ms as a start does not count against it: the store's times cannot tell which was first.
 */
export function laneInversions(run: Run): number {
  return inversions(run, (waiting, started) => laneRank[waiting.lane] < laneRank[started.lane])
}

/** Starts of a task while an older one of the same lane was waiting. */
export function fifoInversions(run: Run): number {
  return inversions(
    run,
    (waiting, started) => waiting.lane === started.lane && waiting.sequence < started.sequence,
  )
}

type Comes = (waiting: Stretch['task'], started: Stretch['task']) => boolean

/** Pairs of starts, in the order of dispatch, of which the later one should have come first: it was queued all along. */
function inversions(run: Run, shouldComeFirst: Comes): number {
  const starts = stretchesOf(run).map((stretch) => ({ stretch, queuedAt: queuedBefore(stretch) }))
  let found = 0
  for (const [i, { stretch }] of starts.entries()) {
    for (let j = i + 1; j < starts.length; j += 1) {
      const later = starts[j]
      if (later === undefined || later.queuedAt >= stretch.from) continue
      if (shouldComeFirst(later.stretch.task, stretch.task)) found += 1
    }
  }
  return found
}

/** When the task last became queued before this stretch. */
function queuedBefore({ task, from, token }: Stretch): number {
  let queuedAt = task.submittedAt
  for (const { type, at, data } of task.events) {
    if (type === 'task.started' && Number(data['fencingToken']) === token) break
    if (type === 'task.queued' || type === 'task.requeued' || type === 'task.resumed') queuedAt = at
  }
  return Math.min(queuedAt, from)
}

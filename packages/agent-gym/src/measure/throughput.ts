import type { Run } from './measurements.ts'
import { inFlightOver, peakOf, stretchesOf, type Stretch } from './timeline.ts'
import { jainIndex } from './statistics.ts'

/** Tasks completed a second: from the start of the workers, or the first submission when that was later, to the last completion. */
export function tasksPerSecond(run: Run): number | null {
  const done = run.tasks.filter(({ state }) => state === 'completed')
  return perSecond(done.length, run)
}

/** Steps stored a second, over the same time. */
export function stepsPerSecond(run: Run): number | null {
  return perSecond(
    run.tasks.reduce((sum, { steps }) => sum + steps, 0),
    run,
  )
}

/** How evenly the starts are spread over the processes, or over the workers where there is one process only. */
export function fairness(run: Run): number | null {
  const working = run.lives.filter(({ capacity }) => capacity > 0)
  const processes = new Set(working.map(({ process }) => process))
  if (processes.size > 1) {
    return jainIndex(
      [...processes].map((name) => run.passes.filter(({ process }) => process === name).length),
    )
  }
  const workers = new Map<string, number>()
  for (const { workerId } of stretchesOf(run)) workers.set(workerId, (workers.get(workerId) ?? 0) + 1)
  return jainIndex([...workers.values()])
}

/** The most tasks in flight at once; of one group, or of one model. What a dead process held is in flight until its death, whenever that was noticed. */
export function peakInFlight(
  run: Run,
  of: { readonly group?: string; readonly model?: string } = {},
): number {
  const stretches = stretchesOf(run).filter(
    ({ task }) =>
      (of.group === undefined || task.group === of.group) &&
      (of.model === undefined || task.model === of.model),
  )
  return peakOf(inFlightOver(stretches.map((it) => untilDeath(it, run))))
}

function untilDeath(stretch: Stretch, { lives }: Run): Stretch {
  const { from, to, end } = stretch
  if (end !== 'owner_dead' || to === null) return stretch
  const deaths = lives.flatMap(({ exitSignal, endedAt }) =>
    exitSignal === 'SIGKILL' && endedAt !== null && endedAt >= from && endedAt < to ? [endedAt] : [],
  )
  return { ...stretch, to: Math.max(from, ...(deaths.length > 0 ? deaths : [to])) }
}

function perSecond(count: number, run: Run): number | null {
  const begins = run.lives.flatMap(({ workersStartedAt }) =>
    workersStartedAt === null ? [] : [workersStartedAt],
  )
  const ends = run.tasks.flatMap(({ finishedAt, state }) =>
    state === 'completed' && finishedAt !== null ? [finishedAt] : [],
  )
  if (count === 0 || begins.length === 0 || ends.length === 0) return null
  const firstCall = run.submissions.reduce((first, { at }) => Math.min(first, at), Infinity)
  const begin = Math.max(
    begins.reduce((first, at) => Math.min(first, at), Infinity),
    firstCall,
  )
  const end = ends.reduce((last, at) => Math.max(last, at), -Infinity)
  // The store's clock has whole ms: less than one cannot be told.
  return (count * 1000) / Math.max(1, end - begin)
}

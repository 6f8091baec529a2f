import type { Run, TaskFact } from '../measure/measurements.ts'
import { type Stretch, stretchesOf } from '../measure/timeline.ts'

/** The life of one task whose process was killed. Times are ms from its first start. */
export interface KilledTask {
  readonly taskId: string
  readonly stretches: readonly KilledStretch[]
  readonly endMs: number
}

/** A time in which a process ran the task. */
interface KilledStretch {
  readonly process: string
  readonly from: number
  readonly to: number
  readonly isKilled: boolean
  /** When the steps were recorded that ran in it. */
  readonly steps: readonly number[]
}

/** The task that shows best what happens at a kill: of those that completed after one, the one with the most steps on both sides. */
export function killedTask(run: Run): KilledTask | undefined {
  const byTask = Map.groupBy(stretchesOf(run), ({ task }) => task)
  const killed = [...byTask]
    .filter(([task, stretches]) => task.state === 'completed' && stretches.some(isKilled))
    .map(([task, stretches]) => storyOf(run, task, stretches))
  return killed.toSorted((a, b) => leastSteps(b) - leastSteps(a) || a.endMs - b.endMs)[0]
}

function storyOf(run: Run, task: TaskFact, stretches: readonly Stretch[]): KilledTask {
  const beginning = stretches[0]?.from ?? 0
  const recorded = task.events.filter(({ type }) => type === 'step.completed').map(({ at }) => at)
  const parts = stretches.map((stretch, i) => {
    const to = stretch.to ?? run.finishedAt
    const next = stretches[i + 1]?.from ?? Infinity
    return {
      process: processOf(run, stretch),
      from: stretch.from - beginning,
      to: to - beginning,
      isKilled: isKilled(stretch),
      steps: recorded.filter((at) => at >= stretch.from && at < next).map((at) => at - beginning),
    }
  })
  return { taskId: task.taskId, stretches: parts, endMs: Math.max(1, ...parts.map(({ to }) => to)) }
}

function isKilled({ end }: Pick<Stretch, 'end'>): boolean {
  return end === 'owner_dead' || end === 'expired'
}

function leastSteps({ stretches }: KilledTask): number {
  const last = stretches.findLastIndex((stretch) => stretch.isKilled)
  const count = (parts: KilledTask['stretches']) => parts.reduce((sum, { steps }) => sum + steps.length, 0)
  return Math.min(count(stretches.slice(0, last + 1)), count(stretches.slice(last + 1)))
}

function processOf(run: Run, { task, token }: Stretch): string {
  const pass = run.passes.find((it) => it.taskId === task.taskId && it.token === token)
  if (pass === undefined) return 'a process'
  const lived = run.lives.filter(({ process }) => process === pass.process).length
  return lived > 1 ? `${pass.process}, life ${pass.life}` : pass.process
}

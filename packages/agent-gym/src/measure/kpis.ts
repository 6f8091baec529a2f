import { lanes } from '@ku0/agent-runtime-core'
import { z } from 'zod'
import { duplicateEffects } from './effects.ts'
import {
  cancelAcknowledgements,
  cancelDisappearances,
  cancelSignals,
  queueWaits,
  resumes,
  schedulerLatencies,
} from './latencies.ts'
import type { Run } from './measurements.ts'
import { orderHashOf } from './order-hash.ts'
import { lostTasks } from './outcomes.ts'
import { highest, medianOf, round, spreadOf } from './statistics.ts'
import { fairness, tasksPerSecond } from './throughput.ts'
import { depthOver, peakOf } from './timeline.ts'

const Count = z.int().min(0)
const Ms = z.number()
const SpreadKpi = z
  .strictObject({ count: Count, min: Ms, p50: Ms, p95: Ms, p99: Ms, max: Ms, mean: Ms })
  .nullable()

/** The figures of a report; null where there was nothing to measure. Source: `docs/semantics.md 17.3`. */
export const Kpis = z.strictObject({
  tasks: z.strictObject({
    submitted: Count,
    accepted: Count,
    rejected: Count,
    completed: Count,
    failed: Count,
    canceled: Count,
    lost: Count,
  }),
  /** Lost of accepted. */
  lossRate: z.number().min(0).max(1).nullable(),
  schedulerLatencyMs: SpreadKpi,
  queueWaitMs: z.strictObject({ interactive: SpreadKpi, normal: SpreadKpi, batch: SpreadKpi }),
  resumeMs: z
    .strictObject({
      count: Count,
      p50: Ms.nullable(),
      p95: Ms.nullable(),
      max: Ms.nullable(),
      /** Of all tasks in flight at a kill, those included that never resumed. */
      under1sRate: z.number().min(0).max(1),
    })
    .nullable(),
  cancelMs: z
    .strictObject({ acknowledged: SpreadKpi, signaled: SpreadKpi, processesGone: SpreadKpi })
    .nullable(),
  leaks: Count,
  duplicateEffects: Count,
  /** Of several runs the first one's. */
  orderHash: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
  orderHashStable: z.boolean().nullable(),
  fairness: z.strictObject({ jain: z.number().min(0).max(1).nullable() }),
  peakDepth: Count,
  throughputPerSec: z.number().nullable(),
})
export type Kpis = z.infer<typeof Kpis>

/** The figures of some runs: counts summed, durations pooled, peaks and rates the highest, fairness the median. */
export function kpisOf(runs: readonly Run[]): Kpis {
  const tasks = runs.map(countTasks).reduce(addCounts, noTasks)
  const hashes = runs.map(orderHashOf)
  const resumed = runs.flatMap(resumes)
  const cancels = runs.flatMap((run) => run.cancels)
  return {
    tasks,
    lossRate: tasks.accepted === 0 ? null : Math.min(1, tasks.lost / tasks.accepted),
    schedulerLatencyMs: spreadOf(runs.flatMap(schedulerLatencies)),
    queueWaitMs: Object.fromEntries(
      lanes.map((lane) => [lane, spreadOf(runs.flatMap((run) => queueWaits(run, lane)))]),
    ) as Kpis['queueWaitMs'],
    resumeMs: resumeKpi(resumed.map(({ ms }) => ms)),
    cancelMs:
      cancels.length === 0
        ? null
        : {
            acknowledged: spreadOf(runs.flatMap(cancelAcknowledgements)),
            signaled: spreadOf(runs.flatMap(cancelSignals)),
            processesGone: spreadOf(runs.flatMap(cancelDisappearances)),
          },
    leaks: runs.flatMap((run) => run.leaks).reduce((sum, { count }) => sum + count, 0),
    duplicateEffects: runs.reduce((sum, run) => sum + duplicateEffects(run).length + run.visits.repeated, 0),
    orderHash: hashes[0] ?? null,
    orderHashStable: hashes.length < 2 || hashes.includes(null) ? null : new Set(hashes).size === 1,
    fairness: { jain: medianOf(runs.map(fairness).filter((index) => index !== null)) },
    peakDepth: highest(runs.map((run) => peakOf(depthOver(run)))),
    throughputPerSec: highestRate(runs.map(tasksPerSecond).filter((rate) => rate !== null)),
  }
}

type TaskCounts = Kpis['tasks']

const noTasks: TaskCounts = {
  submitted: 0,
  accepted: 0,
  rejected: 0,
  completed: 0,
  failed: 0,
  canceled: 0,
  lost: 0,
}

function countTasks(run: Run): TaskCounts {
  const inState = (wanted: string) => run.tasks.filter(({ state }) => state === wanted).length
  const accepted = run.submissions.filter((note) => note.accepted)
  return {
    submitted: run.submissions.length,
    accepted: accepted.length,
    rejected: run.submissions.length - accepted.length,
    completed: inState('completed'),
    failed: inState('failed'),
    canceled: inState('canceled'),
    lost: lostTasks(run).length,
  }
}

function addCounts(a: TaskCounts, b: TaskCounts): TaskCounts {
  return Object.fromEntries(
    Object.entries(a).map(([key, count]) => [key, count + b[key as keyof TaskCounts]]),
  ) as unknown as TaskCounts
}

function resumeKpi(found: readonly (number | null)[]): Kpis['resumeMs'] {
  if (found.length === 0) return null
  const known = found.filter((ms) => ms !== null)
  const spread = spreadOf(known)
  return {
    count: found.length,
    p50: spread?.p50 ?? null,
    p95: spread?.p95 ?? null,
    max: spread?.max ?? null,
    under1sRate: known.filter((ms) => ms < 1000).length / found.length,
  }
}

function highestRate(rates: readonly number[]): number | null {
  return rates.length === 0 ? null : round(Math.max(...rates))
}

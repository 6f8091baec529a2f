import { type Dimension, dimensions, type TaskRecord, type Weights } from '@ku0/agent-runtime-core'
import type { ScoresInput } from '../api/evaluations.ts'
import type { JobContract, JobMeasures } from '../api/markets.ts'
import type { HostParts } from '../durable/host.ts'

/**
 * What the store knows of the tasks that did the work: the children of a job but its stages, and all below them. They are over, so that the answer is the
 * same whenever it is asked for. Source: agent-scheduler-paper 8.1; `docs/semantics.md 13.6`.
 */
export async function measure(
  { store }: Pick<HostParts, 'store'>,
  job: string,
  stages: ReadonlySet<string>,
): Promise<JobMeasures> {
  let [began, ended, cost, tries, failures, revisions] = [Number.POSITIVE_INFINITY, 0, 0, 0, 0, 0]
  const parents = [job]
  for (let parent = parents.pop(); parent !== undefined; parent = parents.pop())
    for await (const task of childrenOf(store, parent)) {
      if (stages.has(task.taskId)) continue
      parents.push(task.taskId)
      const { startedAt, finishedAt } = task as { readonly startedAt?: number; readonly finishedAt?: number }
      if (startedAt === undefined) continue
      began = Math.min(began, startedAt)
      ended = Math.max(ended, finishedAt ?? startedAt)
      const { used, cost: estimate = 1 } = task
      cost += used !== undefined && used.cost > 0 ? used.cost : estimate
      // A process that died is no fault of the agent.
      const own = Math.max(1, task.attempt - task.crashes)
      tries += own
      failures += own - (task.state === 'completed' ? 1 : 0)
      revisions += (await store.read({ kind: 'memos', taskId: task.taskId })).rejections.length
    }
  return {
    elapsedMs: Math.max(0, ended - began),
    cost,
    errors: tries === 0 ? 0 : failures / tries,
    revisions,
  }
}

async function* childrenOf(store: HostParts['store'], parent: string): AsyncGenerator<TaskRecord> {
  for (let cursor: number | undefined, more = true; more; more = cursor !== undefined) {
    const page = await store.read({ kind: 'tasks', filter: { parent, limit: 1_000, cursor } })
    yield* page.tasks
    cursor = page.cursor
  }
}

/** So many revisions are the worst; a request for approval allows as many by default. */
const MAX_REVISIONS = 3

/** Measures as scores, 1 being the best. Without a time to keep there is none for speed. Source: agent-scheduler-paper 8.1. */
export function measuredScores(
  { elapsedMs, cost, errors, revisions }: JobMeasures,
  { price, targetMs }: JobContract,
): ScoresInput {
  return {
    cost: cost <= price ? 1 : price / cost,
    errors: 1 - errors,
    revisions: 1 - Math.min(1, revisions / MAX_REVISIONS),
    ...(targetMs === undefined ? {} : { speed: elapsedMs <= targetMs ? 1 : targetMs / elapsedMs }),
  }
}

/** The weights of the dimensions that have a score, so that what nobody knows does not count as bad. */
export function weightsAmong(weights: Weights, scores: ScoresInput): Weights {
  const known = dimensions.filter((dimension) => scores[dimension] !== undefined)
  const sum = known.reduce((total, dimension) => total + weights[dimension], 0)
  if (sum === 0) return weights
  const share = (dimension: Dimension) => (known.includes(dimension) ? weights[dimension] / sum : 0)
  return Object.fromEntries(dimensions.map((dimension) => [dimension, share(dimension)])) as Weights
}

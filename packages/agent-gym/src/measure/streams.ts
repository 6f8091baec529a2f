import type { StreamInput } from '../work/plan.ts'
import type { Run } from './measurements.ts'

/** Where the log of a pipeline is not what its stages have to publish: each event once, in order, without a gap, and received by the next stage. */
export function streamFaults(run: Run): readonly string[] {
  const planned = new Map(run.workload.map(({ n, input }) => [n, input as StreamInput]))
  const numbers = new Map(run.tasks.map(({ taskId, n }) => [taskId, n ?? 0]))
  return run.pipelines.flatMap(({ taskId, events, published, stages }) => {
    const faults: string[] = []
    const count = planned.get(numbers.get(taskId) ?? 0)?.events ?? 0
    const next = new Map<string, number>()
    for (const [i, { seq, type, place }] of events.entries()) {
      const expected = next.get(type) ?? 0
      if (seq !== i + 1) faults.push(`${taskId}: event ${seq} stands at place ${i + 1}`)
      if (place !== expected) faults.push(`${taskId}: '${type}' ${place} comes where ${expected} should`)
      next.set(type, expected + 1)
    }
    for (const type of ['read', 'hashed']) {
      const taken = stages.map((stage) => stage.taken[type]).filter((each) => each !== undefined)
      const counts = [next.get(type) ?? 0, published[type] ?? 0, ...taken]
      if (taken.length !== 1 || counts.some((each) => each !== count))
        faults.push(
          `${taskId}: of ${count} '${type}' ${counts.join(', ')} are in the log, published and received`,
        )
    }
    return faults
  })
}

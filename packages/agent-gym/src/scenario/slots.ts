import type { ProcessSpec } from './scenario.ts'

/** The slots of a process's workers, all together. */
export function slotsOf({ workers }: ProcessSpec, config: Readonly<Record<string, unknown>>): number {
  if (workers === undefined) return 0
  const most = typeof config['maxInFlightPerWorker'] === 'number' ? config['maxInFlightPerWorker'] : 4
  return workers.count * Math.min(workers.capacity, most)
}

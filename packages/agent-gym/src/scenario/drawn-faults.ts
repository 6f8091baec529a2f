import { seededRandom } from '../work/random.ts'
import type { Fault } from './scenario.ts'

/** A drawn fault: what happens to which process, after how many handlers were left. */
export interface DrawnFault {
  readonly kind: 'kill' | 'freeze' | 'terminate'
  readonly process: string
  readonly afterLeft: number
  readonly freezeMs: number
}

/**
 * A schedule of faults over the course of `total` tasks, or of `passes`, in order. The same seed gives the same schedule; each kind comes
 * about equally often. The last fifth of the work is left in peace, so that every fault finds work under way.
 */
export function drawFaults(
  fault: Extract<Fault, { do: 'draw' }>,
  total: number,
  seed: number,
): readonly DrawnFault[] {
  const random = seededRandom(seed, 'faults')
  const over = fault.passes ?? total
  const times = Array.from({ length: fault.count }, () =>
    random.int(Math.ceil(over * 0.02), Math.floor(over * 0.8)),
  )
  return times
    .toSorted((a, b) => a - b)
    .map((afterLeft) => ({
      kind: random.pick(fault.kinds),
      process: random.pick(fault.processes),
      afterLeft,
      freezeMs: random.int(fault.freezeMs[0], fault.freezeMs[1]),
    }))
}

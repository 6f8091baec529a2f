import type { Claim } from '@ku0/agent-runtime-core'
import { canceled, exceeded, lost, type Stop, shutDown, waiting, yielded } from '../lease/cancellation.ts'

/** The stop that a runner reports of itself, by its kind. Its error stays in the runner. */
export function stopOf(why: Stop['kind'], { taskId, leaseId }: Claim): Stop {
  switch (why) {
    case 'waiting':
      return waiting()
    case 'yielded':
      return yielded()
    case 'canceled':
      return canceled(taskId)
    case 'shutdown':
      return shutDown()
    case 'timeout':
    case 'budget_exceeded':
      return exceeded('a limit was exceeded')
    case 'lost':
      return lost(leaseId, taskId)
  }
}

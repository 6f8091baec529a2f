import { approvalOperations } from '../approval/operations.ts'
import { budgetOperations } from '../budget/operations.ts'
import { childOperations } from '../child/operations.ts'
import { evaluationOperations } from '../evaluation/operations.ts'
import { historyOperations } from '../history/operations.ts'
import { leaseOperations } from '../lease/operations.ts'
import { profileOperations } from '../profile/operations.ts'
import { routeOperations } from '../route/operations.ts'
import { scheduleOperations } from '../schedule/operations.ts'
import { shareOperations } from '../share/operations.ts'
import { stepOperations } from '../step/operations.ts'
import { submitOperations } from '../submit/operations.ts'
import { swarmOperations } from '../swarm/operations.ts'
import { taskOperations } from '../task/operations.ts'
import { waitOperations } from '../wait/operations.ts'
import { workerOperations } from '../worker/operations.ts'
import type { LeaseRow } from '../lease/row.ts'
import type { OutcomeOf, Write, WriteKind, Writes } from '../store/port.ts'
import type { Needs } from './needs.ts'
import type { Operation, Operations } from './operation.ts'
import type { WorkingSet } from './working-set.ts'

/** Every operation, as its feature declares it. */
const operations: Operations<Writes> = {
  ...approvalOperations,
  ...budgetOperations,
  ...childOperations,
  ...evaluationOperations,
  ...historyOperations,
  ...leaseOperations,
  ...profileOperations,
  ...routeOperations,
  ...scheduleOperations,
  ...shareOperations,
  ...stepOperations,
  ...submitOperations,
  ...swarmOperations,
  ...taskOperations,
  ...waitOperations,
  ...workerOperations,
}

/** The ranks of all operations in a flush, lowest first; see {@link Operation.rank}. */
export const flushRank = Object.fromEntries(
  Object.entries(operations).map(([kind, { rank }]) => [kind, rank]),
) as Readonly<Record<WriteKind, number>>

/** The last of the ranks. */
export const lastRank = 4

/** Applies one operation to the working set and returns its outcome. `running`: this process's live leases. */
export function fold(ws: WorkingSet, it: Write, running: Iterable<LeaseRow>): OutcomeOf<WriteKind> {
  const operation = operations[it.kind] as Operation<WriteKind>
  return operation.fold(ws, it, running)
}

/** Goes through the rows that one operation touches, so that those that are not known are wanted. */
export function needsOf(needs: Needs, it: Write): void {
  const operation = operations[it.kind] as Operation<WriteKind>
  operation.needs(needs, it)
}

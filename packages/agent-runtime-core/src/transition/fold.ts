import { accessOperations } from '../access/operations.ts'
import { approvalOperations } from '../approval/operations.ts'
import { budgetOperations } from '../budget/operations.ts'
import { childOperations } from '../child/operations.ts'
import { evaluationOperations } from '../evaluation/operations.ts'
import { historyOperations } from '../history/operations.ts'
import { leaseOperations } from '../lease/operations.ts'
import { ledgerOperations } from '../ledger/operations.ts'
import { pipelineOperations } from '../pipeline/operations.ts'
import { settlePipelines } from '../pipeline/settle-pipelines.ts'
import { profileOperations } from '../profile/operations.ts'
import { queueOperations } from '../queue/operations.ts'
import { retentionOperations } from '../retention/operations.ts'
import { routeOperations } from '../route/operations.ts'
import { scheduleOperations } from '../schedule/operations.ts'
import { seriesOperations } from '../series/operations.ts'
import { shareOperations } from '../share/operations.ts'
import { stepOperations } from '../step/operations.ts'
import { submitOperations } from '../submit/operations.ts'
import { supervisionOperations } from '../supervision/operations.ts'
import { settleSupervisors } from '../supervision/settle-supervisors.ts'
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
  ...accessOperations,
  ...approvalOperations,
  ...budgetOperations,
  ...childOperations,
  ...evaluationOperations,
  ...historyOperations,
  ...leaseOperations,
  ...ledgerOperations,
  ...pipelineOperations,
  ...profileOperations,
  ...queueOperations,
  ...retentionOperations,
  ...routeOperations,
  ...scheduleOperations,
  ...seriesOperations,
  ...shareOperations,
  ...stepOperations,
  ...submitOperations,
  ...supervisionOperations,
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

/**
 * The same by a map: a property that is looked up by a name that changes makes V8 compile what asks for it again and again, in each
 * flush that holds another kind of operation than the one before.
 */
const byKind: ReadonlyMap<string, Operation<WriteKind>> = new Map(
  Object.entries(operations as Readonly<Record<string, Operation<WriteKind>>>),
)

function operationOf({ kind }: Write): Operation<WriteKind> {
  const operation = byKind.get(kind)
  if (operation === undefined) throw new Error(`there is no operation ${kind}`)
  return operation
}

/** The places of operations in the order in which a flush folds them: by rank, and those of one rank as they came. */
export function foldOrder(flushed: readonly Write[]): readonly number[] {
  const byRank: number[][] = Array.from({ length: lastRank + 1 }, () => [])
  for (let place = 0; place < flushed.length; place++)
    byRank[operationOf(flushed[place] as Write).rank]?.push(place)
  return byRank.flat()
}

/** Applies one operation to the working set and returns its outcome. `running`: this process's live leases. */
export function fold(ws: WorkingSet, it: Write, running: Iterable<LeaseRow>): OutcomeOf<WriteKind> {
  const outcome = operationOf(it).fold(ws, it, running)
  settleSupervisors(ws)
  settlePipelines(ws)
  return outcome
}

/** Goes through the rows that one operation touches, so that those that are not known are wanted. */
export function needsOf(needs: Needs, it: Write): void {
  operationOf(it).needs(needs, it)
}

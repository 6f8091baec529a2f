import { z } from 'zod'
import { Lane } from '../task/lane-schema.ts'
import { workerStates } from './worker.ts'

/**
 * A worker as the registry knows it. `busy` means that it runs at least one task; it takes more while below `capacity`. `silent` means that it was not
 * seen for the time of a lease; one that is drained is `draining` all the same.
 * Source: Track AA, Data Model.
 */
export const WorkerStatus = z.strictObject({
  workerId: z.string(),
  state: z.enum(workerStates),
  /** Slots: how many tasks it runs at once. */
  capacity: z.int().min(0),
  /** Live leases it holds. */
  inFlight: z.int().min(0),
  /** Epoch ms of its last sign of life. */
  lastSeenAt: z.number(),
  /** The task types it runs; `*` is every type. */
  types: z.array(z.string()),
  /** The lanes that it takes tasks from; all where it names none. */
  lanes: z.array(Lane).optional(),
  /** Its settings of its task types, for others to compare. */
  settings: z.record(z.string(), z.record(z.string(), z.string())).optional(),
  /** The process it lives in. */
  processId: z.string(),
})
export type WorkerStatus = z.infer<typeof WorkerStatus>
